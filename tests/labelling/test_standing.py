"""What labels say of raters and of the judge."""

import pytest

from fairmark.errors import ApiError
from fairmark.labelling.rows import run_labels
from fairmark.labelling.standing import LabelStanding, agreement_of, corrected, corrected_by, standing
from fairmark.store import Eval, NewLabel, PushedScore, Run, Store
from tests.labelling.labelled import EXACT, graded, question, say

HUMAN = [1, 1, 1, 0, 0, 1, 0, 1, 1, 0]
JUDGE = [1, 1, 0, 0, 0, 1, 1, 1, 1, 0]


async def stands(store: Store, eval_: Eval, run: Run) -> LabelStanding:
    (ours,) = await run_labels(store, eval_, run)
    return await standing(store, eval_, run, ours)


def test_kappa_is_what_the_vector_says() -> None:
    found = agreement_of(list(zip(HUMAN, JUDGE, strict=True)), False, "judge and people")
    assert found.value == pytest.approx(0.583333, abs=1e-6)
    assert found.interval is not None
    assert found.interval.low < 0.583 < found.interval.high
    assert agreement_of([(1, 1)] * 20, False, "raters").why == "raters gave one and the same value only"


async def test_people_are_held_against_the_judge_and_each_other(store: Store) -> None:
    eval_, run = await graded(store, 20)
    truth = {idx: "pass" if idx % 2 == 0 else "fail" for idx in range(20)}
    await say(store, eval_, run, truth, seconds=4.0)
    await say(store, eval_, run, {0: "pass", 1: "fail", 2: "fail"}, "lee", seconds=2.0)
    found = await stands(store, eval_, run)
    assert (found.rows, [rater._asdict() for rater in found.raters], found.median_s) == (
        20,
        [{"rater": "kim", "labels": 20, "median_s": 4.0}, {"rater": "lee", "labels": 3, "median_s": 2.0}],
        4.0,
    )
    assert found.with_judge.value == 1.0
    assert found.with_judge.rows == 19  # the row without a majority says nothing
    assert found.between is not None
    assert found.between.value == pytest.approx(0.4)
    assert [(row.idx, row.said) for row in found.split] == [(2, [("kim", "pass"), ("lee", "fail")])]
    assert found.rate is None
    assert found.why_no_rate == "19 graded rows are labelled; a corrected rate takes 30."


async def test_who_says_something_else_at_the_second_look_is_seen(store: Store) -> None:
    eval_, run = await graded(store, 4)
    await say(store, eval_, run, {0: "pass", 1: "pass"})
    first = (await store.labels.of_run(run))[0]
    again = [
        NewLabel(idx, "kim", "label", value, 1.0, criterion=first.criterion, turn=1)
        for idx, value in ((0, "pass"), (1, "fail"))
    ]
    await store.labels.put(run, again)
    found = await stands(store, eval_, run)
    assert found.themselves is not None
    assert (found.themselves.value, found.themselves.rows, found.rows) == (0.5, 2, 2)


async def test_the_rate_is_corrected_from_thirty_labels_on(store: Store) -> None:
    eval_, run = await graded(store, 100)
    await say(store, eval_, run, {idx: "pass" if idx % 4 == 0 else "fail" for idx in range(40)})
    rate = await corrected(store, eval_, run)
    assert rate.rate.judged == 0.5
    assert rate.rate.labels == 40
    assert rate.rate.low < 0.25 < rate.rate.high < 0.5


@pytest.mark.parametrize(
    ("picked", "weight", "words"), [("doubtful", None, "picked for being doubtful"), (None, 2.0, "")]
)
async def test_rows_that_were_picked_for_being_doubtful_take_weights(
    store: Store, picked: str | None, weight: float | None, words: str
) -> None:
    eval_, run = await graded(store, 60)
    await say(store, eval_, run, dict.fromkeys(range(40), "pass"), picked=picked, weight=weight)
    if not words:
        assert (await corrected(store, eval_, run)).rate.labels == 40
        return
    with pytest.raises(ApiError) as error:
        await corrected(store, eval_, run)
    assert (error.value.status, words in error.value.message) == (409, True)


async def test_pushed_scores_correct_a_rate_too(store: Store) -> None:
    eval_, run = await graded(store, 100)
    scores = {idx: PushedScore(f"q{idx}", 0.25) for idx in range(50)}
    rate = await corrected_by(store, run, question(eval_, run, "score"), scores, "editors")
    assert rate.rate.rate == pytest.approx(0.25)
    with pytest.raises(ApiError, match="it takes 30"):
        await corrected_by(store, run, question(eval_, run, "score"), dict(list(scores.items())[:5]), "editors")


async def test_answers_as_a_whole_are_held_against_the_whole_verdict(store: Store) -> None:
    eval_, run = await graded(store, 20, [EXACT, {**EXACT, "name": "never", "reference": "x"}])
    await say(store, eval_, run, dict.fromkeys(range(20), "fail") | {0: "pass"})
    found = await stands(store, eval_, run)
    assert (found.ours.question.name, found.with_judge.rows, found.with_judge.value) == (
        "the answer as a whole", 20, 0.0,
    )  # fmt: skip


async def test_of_rows_that_were_drawn_in_two_ways_the_more_frequent_count(store: Store) -> None:
    eval_, run = await graded(store, 100)
    await say(store, eval_, run, {idx: "pass" if idx % 4 == 0 else "fail" for idx in range(40)})
    await say(store, eval_, run, dict.fromkeys(range(50, 60), "pass"), weight=3.0)
    assert (await corrected(store, eval_, run)).rate.labels == 40
    for label in await store.labels.of_run(run):
        if label.idx < 20:
            await store.labels.delete("default", label.id)
    with pytest.raises(ApiError, match=r"20 graded rows are labelled.* 10 others were drawn in another way"):
        await corrected(store, eval_, run)


async def test_how_it_stands_is_told_at_each_key(store: Store) -> None:
    from fairmark.labelling.standing import live

    eval_, run = await graded(store, 10)
    await say(store, eval_, run, {0: "pass", 1: "fail", 2: "pass", 3: "fail"}, seconds=2.0)
    await say(store, eval_, run, {0: "pass", 1: "fail", 2: "fail", 3: "fail"}, "lee", seconds=9.0)
    found = live(await store.labels.of_run(run), "kim")
    assert {name: found[name] for name in ("labels", "rows", "raters", "median_s", "sign", "shared")} == {
        "labels": 8, "rows": 4, "raters": 2, "median_s": 2.0, "sign": "κ", "shared": 4,
    }  # fmt: skip
    assert found["agreement"] == pytest.approx(0.5)
