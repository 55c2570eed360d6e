"""The summary for a pull request."""

from fairmark.data.comparison import compare_sides
from fairmark.data.report_markdown import markdown
from fairmark.data.results import StoredResult
from fairmark.data.tally import Tally
from tests.data.test_comparison import side


def tally() -> Tally:
    made = Tally.of(["exact"])
    for passed in (True, True, False):
        made.add({"exact": StoredResult(float(passed), passed)})
    made.add({"exact": StoredResult(0.0, error="the judge | is away")})
    return made


def test_a_build_that_passes_says_so_with_its_figures() -> None:
    text = markdown("rows", tally(), 1.5)
    many = "**1 of 4 rows could not be graded (25.0%). What follows is of the others alone.**"
    assert text.startswith(f"### ✅ rows: passed\n\n{many}\n\n| grader | mean |")
    assert "| exact | 0.6667 | 66.7% | 20.8% … 93.9% | 2 | 1 | 1 | 0 |" in text
    assert "- 1 × exact: the judge \\| is away" in text
    assert text.count("4 rows in 1.50 s") == 1


def test_a_build_that_fails_says_why_first() -> None:
    compared = compare_sides([side("main (1234)", {"exact": "p" * 9}), side("this run", {"exact": "f" * 9})])
    text = markdown("rows", tally(), 1.5, compared, ["exact: worse"], ["near: nobody knows"])
    assert text.startswith("### ❌ rows: failed\n\n- exact: worse\n- near: nobody knows\n")
    assert "#### Against main (1234)" in text
    assert "worse by 100.0 points" in text


def test_what_nobody_can_tell_is_neither() -> None:
    assert markdown("rows", tally(), 1.5, unknown=["near: nobody knows"]).startswith("### ⚠️ rows: could not tell")
