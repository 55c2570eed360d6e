"""A comparison as a table, Markdown, JSON, JUnit XML and HTML: the same figures, and no name becomes markup."""

import json
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from fairmark.data.comparison import Comparison, compare_sides
from fairmark.data.comparison_forms import FORMS, as_html, as_json, as_junit, as_markdown, as_table, write
from tests.data.test_comparison import side

EVIL = "<script>alert(1)</script> | `x` \x07\n*b*"


def two() -> Comparison:
    return compare_sides([side("main", {"exact": "p" * 20}), side("mine", {"exact": "f" * 8 + "p" * 11 + "e"})])


def three() -> Comparison:
    return compare_sides([side("A", {"exact": "pppp"}), side("B", {"exact": "pppf"}), side("C", {"exact": "pppp"})])


def test_two_runs_stand_side_by_side() -> None:
    first, second, _, heading, row, *rest = as_table(two()).splitlines()
    assert (first, second) == ("A  main: 20 rows", "B  mine: 20 rows")
    assert heading.split() == ["criterion", "A", "B", "B", "−", "A", "95", "%", "lost", "gained", "errors", "verdict"]
    assert row.split()[:4] == ["exact", "100.0%", "57.9%", "-42.1"]
    assert row.endswith("8       0     0/1  worse by 42.1 points, p = 0.008")
    assert "exact, lost in B: row 1, 2, 3, 4, 5, 6, 7, 8" in rest
    assert "exact: rows without a partner: 1 of main." in rest


def test_of_more_runs_each_has_a_line() -> None:
    lines = as_table(three()).splitlines()
    assert [line.split()[:2] for line in lines[5:8]] == [["exact", "A"], ["B", "75.0%"], ["C", "100.0%"]]


def test_json_has_every_figure() -> None:
    found = as_json(two())
    assert found["runs"][1] == {"name": "mine", "rows": 20, "cost": None, "seconds": None}
    (criterion,) = found["criteria"]
    assert criterion["runs"][1] == {"value": 11 / 19, "passed": 11, "failed": 8, "errors": 1, "skipped": 0}
    (compared,) = criterion["compared"]
    assert (compared["verdict"], compared["lost"], compared["gained"], compared["rows"]) == ("worse", 8, 0, 19)
    assert compared["lost_rows"] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert compared["p"] == pytest.approx(2 / 2**8)
    one_row = compare_sides([side("A", {"exact": "p"}), side("B", {"exact": "p"})])
    assert as_json(one_row)["criteria"][0]["compared"][0]["difference"]["low"] == -1.0


def test_junit_fails_what_is_worse_and_skips_what_nobody_knows() -> None:
    sides = [side("main", {"exact": "p" * 20, "near": "p"}), side("mine", {"exact": "f" * 20, "near": "e"})]
    suites = ElementTree.fromstring(as_junit(compare_sides(sides)))  # noqa: S314  # our own
    (suite,) = suites
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "1")
    exact, near = suite
    assert [child.tag for child in exact] == ["failure"]
    assert [child.tag for child in near] == ["skipped"]
    assert str(exact[0].get("message")).startswith("worse by 100.0 points")


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href") or name.startswith("on")]


def test_no_name_becomes_markup() -> None:
    evil = compare_sides([side(EVIL, {EVIL: "p" * 20}), side(EVIL, {EVIL: "f" * 20})])
    parser = _Tags()
    parser.feed(as_html(evil))
    assert "script" not in parser.tags
    assert parser.links == []
    ElementTree.fromstring(as_junit(evil))  # noqa: S314  # our own
    marked = as_markdown(evil)
    assert "<script" not in marked.replace("\\<", "")
    rows = [line for line in marked.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {10}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_tells_the_verdict(form: str) -> None:
    text = write(two(), form)  # type: ignore[arg-type]
    assert "worse by 42.1 points" in text
    if form == "json":
        json.loads(text)


def test_a_notebook_shows_the_report_with_its_plots_in_a_frame_where_nothing_runs() -> None:
    shown = two()._repr_html_()
    assert shown.startswith('<iframe sandbox="" title="Runs compared" srcdoc="&lt;!doctype html&gt;')
    assert shown.count("&lt;svg") == as_html(two()).count("<svg") > 0


def test_in_text_a_comparison_is_its_table_and_where_many_are_listed_one_line() -> None:
    assert str(two()) == as_table(two())
    assert repr(two()) == "<Comparison of main, mine: 1 criteria>"
