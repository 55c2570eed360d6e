"""A run that has ended goes on: with what it had not done, or with what could not be graded."""

from typing import Any

import pytest

from fairmark.errors import ApiError
from fairmark.evals.engine import Engine
from fairmark.evals.eval_calls import find_eval
from fairmark.evals.reopen import go_on, retry_errors
from fairmark.judges.fake import FakeAnswer
from fairmark.store import Run, Store
from tests.evals.working import (
    EXACT,
    GOOD,
    JUDGE,
    PROJECT,
    SAMPLED,
    Models,
    check_counts,
    ended,
    has_items,
    items,
    new_file,
    new_run,
    now,
    rows,
    until,
    worked_off,
    working,
)

KNOWN = {**EXACT, "name": "known", "input": "{{ item.b }}"}


class Moody(Models):
    """The student fails on what is in `down`; the judge talks nonsense about it."""

    def __init__(self) -> None:
        super().__init__(self.say)
        self.down: set[str] = set()

    def say(self, messages: Any) -> Any:
        text = messages[0]["content"]
        if text.startswith("Say "):
            asked = text.removeprefix("Say ")
            return FakeAnswer(fault="server_error") if f"student {asked}" in self.down else FakeAnswer(asked)
        return FakeAnswer("excellent") if "judge" in self.down else GOOD


async def retried(store: Store, run: Run, models: Moody) -> Run:
    async with working(store, models) as engine:
        await retry_errors(store, engine, await find_eval(store, PROJECT, run.eval_id), await now(store, run))
        return await ended(store, run)


async def test_rows_that_a_judge_could_not_grade_are_graded_and_not_sampled_again(store: Store) -> None:
    models = Moody()
    models.down = {"judge"}
    run, _ = await worked_off(store, await new_run(store, [EXACT, JUDGE], rows(4), SAMPLED), models)
    assert (run.errored, run.passed, run.failed) == (4, 0, 0)
    assert run.ended_at is not None
    student = {model: used for model, used in run.usage.items() if "student" in model}
    models.down = set()
    again = await retried(store, run, models)
    assert (again.status, again.errored, again.passed, again.failed) == ("completed", 0, 2, 2)
    assert len(models.asked_of("student")) == 4
    assert {model: used for model, used in again.usage.items() if "student" in model} == student  # paid once
    assert not again.reasons
    check_counts(again, await items(store, run), 4)


async def test_only_answers_that_a_model_failed_to_give_are_asked_for_anew(store: Store) -> None:
    models = Moody()
    models.down = {"student 1"}
    run, _ = await worked_off(store, await new_run(store, [EXACT], rows(3), SAMPLED), models)
    assert (run.errored, run.failed) == (2, 1)
    models.down, models.prompts = set(), []
    again = await retried(store, run, models)
    assert (again.errored, again.passed, again.failed) == (0, 2, 1)
    assert models.asked_of("student") == ["Say 1", "Say 1"]
    check_counts(again, await items(store, run), 3)


async def test_rows_that_fail_again_are_told_again_and_their_warnings_counted_once(store: Store) -> None:
    given = [{"item": {"a": "1"}}, {"item": {"a": "1", "b": "1"}}]
    criteria = [KNOWN, {**EXACT, "name": "said", "input": "{{ sample.output_text }}"}]
    run, _ = await worked_off(store, await new_run(store, criteria, given))
    again = await retried(store, run, Moody())
    assert (again.errored, again.reasons, again.warnings) == (1, run.reasons, run.warnings)
    assert run.warnings
    check_counts(again, await items(store, run), 2)


async def test_a_run_that_was_stopped_goes_on_where_it_was(store: Store) -> None:
    models = Moody()
    run = await new_run(store, [JUDGE], rows(3))
    models.hold("judge")
    async with working(store, models) as engine:
        await until(lambda: models.waiting > 0)
        await store.runs.cancel(PROJECT, run.eval_id, run.id)
        engine.cancel(run.id)
        assert not await has_items(store, run)
        models.let_go("judge")
        await go_on(store, engine, await find_eval(store, PROJECT, run.eval_id), await now(store, run))
        found = await ended(store, run)
    assert (found.status, found.passed) == ("completed", 3)
    check_counts(found, await items(store, run), 3)


@pytest.mark.parametrize("call", [go_on, retry_errors])
async def test_a_run_with_nothing_to_do_says_so(store: Store, call: Any) -> None:
    run, _ = await worked_off(store, await new_run(store, [EXACT], rows(2)))
    eval_ = await find_eval(store, PROJECT, run.eval_id)
    with pytest.raises(ApiError, match="there is nothing to"):
        await call(store, Engine(store), eval_, run)
    assert (await now(store, run)).status == "completed"


async def test_a_run_that_has_not_ended_is_left_alone(store: Store) -> None:
    run = await new_run(store, [EXACT], rows(2))
    eval_ = await find_eval(store, PROJECT, run.eval_id)
    with pytest.raises(ApiError, match="has not ended") as refused:
        await go_on(store, Engine(store), eval_, run)
    assert refused.value.status == 409


async def test_no_row_is_let_go_where_the_file_is_gone(store: Store) -> None:
    source = await new_file(store, b'{"item": {"b": "1"}}\n')
    run, _ = await worked_off(store, await new_run(store, [EXACT], source))
    assert run.errored == 1
    await store.files.delete(PROJECT, source["id"])
    with pytest.raises(ApiError):
        await retry_errors(store, Engine(store), await find_eval(store, PROJECT, run.eval_id), run)
    assert len(await items(store, run)) == 1
