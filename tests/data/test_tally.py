"""What results add up to."""

import pytest

from fairmark.data.report import histogram, spent
from fairmark.data.results import StoredJudgement, StoredResult, StoredUsage
from fairmark.data.tally import Tally


def tally(*results: StoredResult) -> Tally:
    counts = Tally.of(["g"])
    for result in results:
        counts.add({"g": result})
    return counts


def test_errors_are_in_no_mean_and_no_pass_rate() -> None:
    counts = tally(
        StoredResult(1.0, True), StoredResult(0.5, False), StoredResult(0.0, False, "broken"), StoredResult(0.0, False)
    )
    grader = counts.graders["g"]
    assert (counts.rows, grader.graded, grader.errors, grader.passed, grader.judged) == (4, 3, 1, 1, 3)
    assert grader.mean == 0.5
    assert grader.pass_rate == pytest.approx(1 / 3)
    assert grader.reasons == {"broken": grader.errors}


def test_what_fail_under_compares_counts_errors_as_not_passed() -> None:
    assert tally(StoredResult(1.0, True), StoredResult(0.0, False, "broken")).graders["g"].quality == 0.5
    assert tally(StoredResult(0.8), StoredResult(0.0, False, "broken")).graders["g"].quality == 0.4
    assert tally(StoredResult(0.8), StoredResult(0.6)).graders["g"].quality == pytest.approx(0.7)


def test_skipped_rows_are_counted_apart_and_keep_a_build_from_turning_green() -> None:
    grader = tally(StoredResult(1.0, True), StoredResult(0.0, skipped="budget"), StoredResult(0.0, skipped="more"))
    counts = grader.graders["g"]
    assert (counts.graded, counts.skipped, counts.errors, counts.first_skipped) == (1, 2, 0, "budget")
    assert (counts.mean, counts.pass_rate) == (1.0, 1.0)
    assert counts.quality == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("judgements", "text"),
    [
        ([], None),
        (
            [StoredJudgement(StoredUsage(1500), 0.25), StoredJudgement(StoredUsage(0), 0.0)],
            "judges: 1,500 tokens, $0.2500",
        ),
        ([StoredJudgement(StoredUsage(1500))], "judges: 1,500 tokens"),
        (
            [StoredJudgement(StoredUsage(1500), 0.25), StoredJudgement(StoredUsage(5))],
            "judges: 1,505 tokens, at least $0.2500 (not every model has a price)",
        ),
    ],
)
def test_what_was_spent_counts_every_row_and_says_where_prices_are_missing(
    judgements: list[StoredJudgement], text: str | None
) -> None:
    assert spent(tally(StoredResult(0.0, error="broken", judgements=judgements), StoredResult(1.0))) == text


def test_without_graded_rows_there_is_no_mean() -> None:
    grader = tally(StoredResult(0.0, False, "broken")).graders["g"]
    assert (grader.mean, grader.pass_rate, grader.quality) == (None, None, 0.0)


@pytest.mark.parametrize(
    ("rewards", "text"),
    [
        ([0.0] * 8 + [1.0], "█        ▁"),
        ([0.05, 0.15, 0.25], "███       "),
        ([-3.0, 1.0, 7.5], "▄        █"),
        ([0.0] * 1000 + [0.55], "█    ▁    "),
    ],
)
def test_the_histogram_shows_every_bin_that_holds_anything(rewards: list[float], text: str) -> None:
    assert histogram(tally(*map(StoredResult, rewards)).graders["g"].bins) == text
