"""A run's labels as labelled rows."""

import random
from typing import Any

import pytest

from fairmark.errors import ApiError
from fairmark.judges.fake import FakeAnswer
from fairmark.labelling.rows import label_lines, labelled_rows, run_labels, weights
from fairmark.labelling.standing import standing
from fairmark.store import BatchRow, LabelBatch, NewLabel, PushedScore, Store
from tests.evals.working import Models, new_run, worked_off
from tests.labelling.labelled import EXACT, graded, rows, say


async def test_the_labels_of_a_row_are_one_row_with_item_and_answer(store: Store) -> None:
    eval_, run = await graded(store, 4)
    await say(store, eval_, run, {0: "pass", 1: "fail"}, note="why")
    await say(store, eval_, run, {1: "pass"}, "lee", weight=2.0)
    found = await labelled_rows(store, eval_, run)
    assert (found.kind, found.raters) == ("label", ["kim", "lee"])
    assert [(row.item["n"], row.sample, row.human, row.weight) for row in found.rows] == [
        (0, "good", "pass", None),
        (1, "bad 1", None, 2.0),
    ]
    lines = await label_lines(store, eval_, run, rater="kim")
    assert [(line["item_id"][-1], line["label"], line["rater"], line["note"]) for line in lines] == [
        ("0", "pass", "kim", "why"),
        ("1", "fail", "kim", "why"),
    ]


async def test_labels_about_several_things_have_to_be_chosen_from(store: Store) -> None:
    eval_, run = await graded(store, 4, [EXACT, {**EXACT, "name": "other"}])
    with pytest.raises(ApiError, match="has no labels"):
        await labelled_rows(store, eval_, run)
    await say(store, eval_, run, {0: "pass"}, criterion="exact")
    await say(store, eval_, run, {0: "fail", 1: "fail"}, criterion="other")
    with pytest.raises(ApiError, match=r"several things: other \(label, 2\); exact \(label, 1\)"):
        await labelled_rows(store, eval_, run)
    assert len((await labelled_rows(store, eval_, run, "other")).rows) == 2


async def test_skips_and_second_looks_are_no_labels(store: Store) -> None:
    eval_, run = await graded(store, 4)
    await say(store, eval_, run, {0: "pass"})
    (first,) = await store.labels.of_run(run)
    again: dict[str, Any] = {"rater": "kim", "labelled_at": 1.0, "criterion": first.criterion}
    await store.labels.put(
        run, [NewLabel(0, kind="label", value="fail", turn=1, **again), NewLabel(1, kind="skip", value=None, **again)]
    )
    assert [row.human for row in (await labelled_rows(store, eval_, run)).rows] == ["pass"]


async def test_pushed_scores_of_a_custom_grader_are_labelled_rows_too(store: Store) -> None:
    eval_, run = await graded(store, 4)
    grader = await store.graders.create("default", "editors", {"type": "custom"})
    await store.grader_scores.push(grader, [PushedScore("q2", 0.75, "terse"), PushedScore("elsewhere", 0.0)])
    found = await labelled_rows(store, eval_, run, grader="editors")
    assert [(row.item["n"], row.sample, row.human) for row in found.rows] == [(2, "good", 0.75)]


async def test_two_answers_are_those_that_the_grader_compares(store: Store) -> None:
    pair = {
        "type": "preference", "name": "better", "model": "house/judge", "criteria": "Which is shorter?",
        "a": "{{ sample.output_text }}", "b": "number {{ item.n }}", "swap": False,
    }  # fmt: skip
    models = Models(lambda messages: FakeAnswer('{"steps": [], "result": "second"}'))
    run, _ = await worked_off(store, await new_run(store, [pair], rows(12)), models)
    eval_ = await store.evals.get("default", run.eval_id)
    assert eval_ is not None
    await say(store, eval_, run, {idx: "b" if idx else "a" for idx in range(12)}, kind="preferred")
    found = await labelled_rows(store, eval_, run)
    assert (found.rows[0].samples, found.rows[0].human) == ({"a": "good", "b": "number 0"}, "a")
    (ours,) = await run_labels(store, eval_, run)
    stands = await standing(store, eval_, run, ours)
    assert (stands.with_judge.rows, stands.with_judge.value) == (12, 0.0)


def batch(drawn: list[BatchRow]) -> LabelBatch:
    return LabelBatch(0, "", 0, "", "", "label", None, drawn, 0)


def test_a_batch_of_all_rows_weighs_nothing_and_one_of_half_doubles() -> None:
    assert weights([batch([BatchRow(idx, chance=1.0) for idx in range(4)])], {0, 1, 2, 3}) == dict.fromkeys(range(4), 1)
    assert weights([batch([BatchRow(0, chance=0.5), BatchRow(1, chance=0.5)])], {0, 1}) == {0: 2.0, 1: 2.0}
    assert weights([], {0}) == {}


def test_rates_over_several_batches_hit_the_truth_on_average() -> None:
    """Batches after the first are drawn from what is left, in favour of some rows; not all of them are labelled."""
    source = random.Random(5)
    truth = [1.0 if index < 30 else 0.0 for index in range(100)]
    estimates = []
    for _ in range(3_000):
        left, waves, labelled = list(range(100)), [], set()
        for count in (20, 15):
            chances = {idx: min(1.0, count / len(left) * (1.5 if idx < 50 else 0.75)) for idx in left}
            drawn = [idx for idx in left if source.random() < chances[idx]]
            waves.append(batch([BatchRow(idx, chance=chances[idx]) for idx in drawn]))
            left = [idx for idx in left if idx not in drawn]
            labelled |= set(source.sample(drawn, round(0.8 * len(drawn))))
        weight = weights(waves, labelled)
        total: Any = sum(weight.values())
        estimates.append(sum(weight[idx] * truth[idx] for idx in labelled) / total)
    assert abs(sum(estimates) / len(estimates) - 0.3) < 0.01
