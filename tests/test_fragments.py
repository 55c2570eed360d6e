"""Parts of HTML: escaped, bounded, well formed."""

import xml.etree.ElementTree as ET

import pytest

from fairmark import fragments

HOSTILE = '<script>alert("x")</script>&\'"'


def parsed(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314  # our own


def test_whatever_stands_in_a_table_is_text() -> None:
    table = parsed(fragments.table((HOSTILE,), [(HOSTILE,), ("passed",)], set()))
    assert [cell.text for cell in table.iter("td")] == [HOSTILE, "passed"]
    assert [cell.text for cell in table.iter("th")] == [HOSTILE]
    assert [cell.get("class") for cell in table.iter("td")] == [None, "good"]


def test_a_page_inside_another_keeps_its_own_and_runs_nothing() -> None:
    frame = parsed(fragments.frame(f"<p>{HOSTILE}</p>", HOSTILE))
    assert frame.get("srcdoc") == f"<p>{HOSTILE}</p>"
    assert frame.get("sandbox") == ""
    assert frame.get("title") == HOSTILE


def test_a_histogram_has_a_bar_for_each_part_and_the_smallest_can_be_seen() -> None:
    plot = parsed(fragments.histogram([0, 1, 100_000], 0, 1.5, HOSTILE))
    heights = [float(bar.get("height", "")) for bar in plot.iter("rect")]
    assert heights == [0.0, 1.0, 60.0]
    assert [title.text for title in plot.iter("title")] == ["0 to 0.5: 0", "0.5 to 1: 1", "1 to 1.5: 100,000"]
    assert plot.get("aria-label") == HOSTILE
    assert parsed(fragments.histogram([0, 0], 0, 1, "none")).findall("rect")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.123456, "0.1235"),
        (1.0, "1"),
        ("a\nb\t c", "a b c"),
        ("x" * 1000, "x" * 159 + "…"),
        ("\ud83d", "\\ud83d"),
        ({"a": 1}, "{'a': 1}"),
    ],
)
def test_a_cell_is_one_short_line(value: object, text: str) -> None:
    assert fragments.cell(value) == text


def test_the_whole_has_its_style_for_itself_alone() -> None:
    whole = parsed(fragments.whole([fragments.line(HOSTILE)]))
    assert [line.text for line in whole.iter("p")] == [HOSTILE]
    style = whole.findtext("style") or ""
    rules = [rule.strip() for block in style.split("}") for rule in block.split("{")[0].split(",") if rule.strip()]
    assert [rule for rule in rules if not rule.startswith(".fairmark ")] == []
