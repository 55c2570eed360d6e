"""The plots and the page are whole, fetch nothing, and hold what they were given."""

import re
from xml.etree import ElementTree

import pytest
from bench.scripted_judges import LABEL_GRADER, SCORE_GRADER, ScriptedJudge, World, clean, loves_bold

from fairmark.trust import figures, plots
from fairmark.trust.check import JudgeCheck, check_judge

NAME = "<b>&quot;x"


@pytest.mark.parametrize(
    "plot",
    [
        plots.whiskers([plots.Whisker(NAME, 0.5, 0.4, 0.6), plots.Whisker("n", 0.5, None, None)], NAME, -1.0, 1.0),
        plots.histogram([0.0, 0.5, 1.0], NAME, 0.5),
        plots.histogram([], NAME, 0.5),
        plots.calibration([(0.0, 0.1), (1.0, 1.0)], NAME),
        plots.curves([(NAME, [(0, 0.5, 0.4, 0.6), (1, 0.6, 0.5, 0.7)]), ("gold", [])], NAME),
    ],
)
def test_a_plot_is_well_formed_and_says_what_it_is(plot: str) -> None:
    svg = ElementTree.fromstring(plot)  # noqa: S314  # our own
    assert svg.attrib["aria-label"] == NAME
    assert NAME not in plot


def check(labels: bool = False) -> JudgeCheck:
    world = World.of_scores(3, 60, labels=labels)
    judge = ScriptedJudge(world, clean if labels else loves_bold, 5, 0.02)
    grader = {**(LABEL_GRADER if labels else SCORE_GRADER), "name": "<script>x</script>"}
    return check_judge(grader, world.rows, judge=judge)


@pytest.mark.parametrize("labels", [False, True])
def test_the_page_stands_alone(labels: bool) -> None:
    page = check(labels).html()
    assert "<script" not in page
    assert not re.search(r"https?://|src=|@import|url\(", page)
    assert "prefers-color-scheme: dark" in page
    assert page.count("<svg") == (2 if labels else 4)
    assert ("Who said what" in page) is labels
    assert ("ALARM" in page) is not labels
    body = page[page.index("<main>") : page.index("</main>") + 7]
    assert ElementTree.fromstring(body.replace("&#x27;", "'")) is not None  # noqa: S314


def test_a_notebook_shows_the_page_with_its_plots_and_keeps_it_apart() -> None:
    done = check()
    frame = ElementTree.fromstring(done._repr_html_())  # noqa: S314  # our own
    assert (frame.tag, frame.get("sandbox")) == ("iframe", "")
    assert (frame.get("srcdoc") or "").split() == done.html().split()
    assert "<svg" in done.html()


def test_the_report_is_json_that_holds_the_figures_of_the_page() -> None:
    done = check()
    told = done.model_dump()
    assert told["schema"] == 1
    assert told["grade"] == done.grade == "with care"
    assert told["alarms"] == ["form added"]
    bold = next(probe for probe in told["probes"] if probe["name"] == "form added")
    assert bold["effect"] == pytest.approx(0.15, abs=0.02)
    assert bold["low"] < 0.15 < bold["high"]
    assert bold["remedy"]
    assert told["main"]["value"] == done.compared.main.value
    assert len(told["points"]) == 60
    assert told["rows"] == {
        "total": 60, "kind": "score", "mode": "score", "compared": 60, "raters": [""], "tied": 0, "ungraded": 0,
        "groups": 60,
    }  # fmt: skip


def test_scores_are_drawn_where_people_only_passed_and_failed_answers() -> None:
    world = World.of_scores(3, 60, labels=False)
    rows = [
        {**{name: value for name, value in row.items() if name != "score"}, "rater": rater,
         "label": "pass" if row["score"] >= 0.5 else "fail"}
        for row in world.rows
        for rater in ("kim", "lee")
    ]  # fmt: skip
    page = check_judge(SCORE_GRADER, rows, judge=ScriptedJudge(world, clean, 5, 0.02), probes=[]).html()
    assert "calibration of the judge" in page
    assert "histogram of the judge" in page
    assert "people among themselves, Krippendorff" in page


def test_a_probe_that_moves_everything_is_drawn_at_the_end_of_its_axis() -> None:
    whole = {"name": "reference", "effect": 1.0, "low": None, "high": None, "alarm": True, "against": False}
    half = {"name": "cut", "effect": 0.5, "low": 0.4, "high": 0.6, "alarm": False, "against": False}
    drawn = figures.probes({"probes": [whole, half]})
    assert drawn is not None
    axis = re.findall(r'class="axis"[^>]*>([^<]*)<', drawn.svg)
    assert (axis[0], axis[-1]) == ("-1", "1")
