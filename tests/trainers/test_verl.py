"""The reward function as veRL calls it: awaited, one row a call, the same keys for every row."""

import asyncio
import inspect
import pickle
from typing import Any

import pytest

from fairmark.errors import GradingFailed, InvalidData
from fairmark.trainers import telling, verl
from tests.trainers.test_trl import BOTH, EXACT
from tests.work.test_forks import in_a_child


def ask(function: Any, *answers: str, **more: Any) -> list[dict[str, float]]:
    async def together() -> list[dict[str, float]]:
        calls = (
            function(
                data_source="capitals",
                solution_str=answer,
                ground_truth="Paris",
                extra_info={"fail": answer == "!"},
                **more,
            )
            for answer in answers
        )
        return list(await asyncio.gather(*calls))

    return asyncio.run(together())


def test_a_row_a_call_with_the_same_keys_always() -> None:
    both = {**BOTH, "graders": {**BOTH["graders"], "exact": {**EXACT, "reference": "{{item.ground_truth}}"}}}  # type: ignore[dict-item]
    answers = ask(verl.reward(both, on_error="zero"), "Paris", "Rome", "!")
    assert answers[0] == {"score": 1.5, "acc": 1.5, "both_exact": 1.0, "both_code": 0.5, "both_failed": 0.0}
    assert [answer["score"] for answer in answers] == [1.5, 0.4, 0.0]
    assert [answer["both_failed"] for answer in answers] == [0.0, 0.0, 1.0]
    assert len({tuple(answer) for answer in answers}) == 1


def test_a_failure_is_raised_where_nobody_said_otherwise() -> None:
    with pytest.raises(GradingFailed, match="on purpose"):
        ask(verl.reward(BOTH, item={"answer": "ground_truth"}), "!")


def test_it_cannot_mask() -> None:
    with pytest.raises(InvalidData, match="cannot leave rows out"):
        verl.reward(BOTH, on_error="mask")


def test_by_path_the_grader_stands_in_the_configuration() -> None:
    options = {"grader": EXACT, "item": {"answer": "ground_truth"}, "reward_router_address": None}
    assert [answer["score"] for answer in ask(verl.compute_score, "Paris", "Rome", **options)] == [1.0, 0.0]
    with pytest.raises(InvalidData, match="grader: missing"):
        ask(verl.compute_score, "Paris")


def test_verl_sees_that_it_must_be_awaited() -> None:
    """It asks `inspect`, which takes an object with an asynchronous `__call__` for a plain function."""
    assert inspect.iscoroutinefunction(verl.reward(EXACT))
    assert inspect.iscoroutinefunction(verl.compute_score)
    assert not inspect.iscoroutinefunction(verl.reward(EXACT, awaited=False))


def test_managers_that_do_not_await_have_a_function_of_their_own() -> None:
    row: dict[str, Any] = {"data_source": "x", "solution_str": "Paris", "ground_truth": "Paris", "extra_info": {}}
    expected = {"score": 1.0, "acc": 1.0, "exact_failed": 0.0}
    item = {"answer": "ground_truth"}
    assert verl.reward(EXACT, awaited=False, item=item)(**row) == expected
    assert verl.compute_score_sync(**row, grader=EXACT, item=item) == expected
    again = pickle.loads(pickle.dumps(verl.reward(EXACT, awaited=False, item=item)))  # noqa: S301
    assert again(**row) == expected


def test_failures_of_single_rows_are_told_at_once_and_then_together(caplog: pytest.LogCaptureFixture) -> None:
    ask(verl.reward(BOTH, item={"answer": "ground_truth"}, on_error="zero"), *["!"] * 50)
    assert len([record for record in caplog.records if "not graded" in record.getMessage()]) == 1


def test_a_failure_is_told_with_all_the_rows_that_came_before_it(caplog: pytest.LogCaptureFixture) -> None:
    function = verl.reward(BOTH, item={"answer": "ground_truth"}, on_error="zero")
    for answer in ("Paris", "Rome", "Paris", "!"):
        ask(function, answer)
    (told,) = [record.getMessage() for record in caplog.records if "not graded" in record.getMessage()]
    assert "1 of 4 rows" in told


def test_a_mistyped_option_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    options = {"grader": EXACT, "item": {"answer": "ground_truth"}, "on_eror": "zero", "reward_router_address": None}
    ask(verl.compute_score, "Paris", "Rome", **options)
    told = [record.getMessage() for record in caplog.records]
    assert [message.partition(". ")[0] for message in told] == [
        "reward_kwargs: on_eror: no option of ours, and not used"
    ]


def test_it_pickles() -> None:
    function = pickle.loads(pickle.dumps(verl.reward(EXACT, item={"answer": "ground_truth"})))  # noqa: S301
    assert [answer["score"] for answer in ask(function, "Paris")] == [1.0]


def test_a_child_that_is_forked_while_another_thread_counts_failures_grades() -> None:
    function = verl.reward(EXACT, awaited=False)
    with telling._lock:
        assert in_a_child(lambda: function(solution_str="Paris", extra_info={"answer": "Paris"})) == 0
