"""The rows of a stored run as raters and statistics see them."""

from fairmark.judges.fake import FakeAnswer
from fairmark.labelling.answers import answers, judged, results_of, verdicts
from fairmark.store import Store
from tests.evals.working import Models, new_run, worked_off
from tests.labelling.labelled import graded, question, rows
from tests.labelling.test_question import JUDGE


async def test_an_answer_is_a_text_where_it_is_no_more_than_one(store: Store) -> None:
    _, run = await graded(store, 3)
    found = await answers(store, run, [2, 0, 99])
    assert {idx: (answer.item["n"], answer.sample, answer.text) for idx, answer in found.items()} == {
        0: (0, "good", "good"),
        2: (2, "good", "good"),
    }


async def test_what_the_judge_said_is_known_of_each_row_that_it_graded(store: Store) -> None:
    eval_, run = await graded(store, 3)
    found = await judged(store, run, question(eval_, run))
    assert {idx: row.passed for idx, row in found.items()} == {0: True, 1: False, 2: True}
    results = await results_of(store, run, question(eval_, run))
    assert [(row.item["n"], row.sample, row.reward) for row in results.rows] == [
        (0, "good", 1.0), (1, "bad 1", 0.0), (2, "good", 1.0),
    ]  # fmt: skip


async def test_the_judges_own_label_is_found(store: Store) -> None:
    criterion = {**{name: value for name, value in JUDGE.items() if name != "id"}, "model": "house/judge"}
    models = Models(lambda messages: FakeAnswer('{"steps": [], "result": "rude"}'))
    run, _ = await worked_off(store, await new_run(store, [criterion], rows(2)), models)
    eval_ = await store.evals.get("default", run.eval_id)
    assert eval_ is not None
    found = await verdicts(store, run, eval_.criteria, question(eval_, run), [0, 1])
    assert found == {0: "rude", 1: "rude"}
