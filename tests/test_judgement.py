"""What a judge said and what it cost."""

import pytest

from fairmark.errors import JudgeRefused
from fairmark.judgement import NO_USAGE, Judgement, Usage, total_cost, total_usage, usage_per_model

MESSAGES = [{"role": "user", "content": "?"}]


def judgement(model: str = "m", tokens: int = 10, cost: float | None = None, sampled: str | None = None) -> Judgement:
    usage = Usage(tokens, tokens, 2 * tokens, 1)
    return Judgement(model, MESSAGES, sampled_model=sampled, usage=usage, cost=cost, attempts=1)


def test_usage_adds_up_counter_by_counter() -> None:
    assert Usage(1, 2, 3, 4).plus(Usage(10, 20, 30, 40)) == Usage(11, 22, 33, 44)
    assert total_usage([judgement(tokens=1), judgement(tokens=2)]) == Usage(3, 3, 6, 2)
    assert total_usage([]) == NO_USAGE == Usage(0, 0, 0, 0)


def test_usage_is_written_with_the_four_counters_of_the_wire() -> None:
    assert Usage(1, 2, 3, 4).dump() == {
        "prompt_tokens": 1,
        "completion_tokens": 2,
        "total_tokens": 3,
        "cached_tokens": 4,
    }


def test_tokens_are_told_apart_by_the_model_that_answered_not_by_the_one_that_was_named() -> None:
    found = usage_per_model([judgement("judge", 1, sampled="big-2"), judgement("judge", 2), judgement("big-2", 4)])
    assert found == {"big-2": Usage(5, 5, 10, 2), "judge": Usage(2, 2, 4, 1)}


@pytest.mark.parametrize(
    ("costs", "total"), [([], None), ([None], None), ([0.25, None], 0.25), ([0.25, 0.5], 0.75), ([0.0], 0.0)]
)
def test_a_cost_is_known_where_any_price_is(costs: list[float | None], total: float | None) -> None:
    assert total_cost([judgement(cost=cost) for cost in costs]) == total


def test_a_judgement_is_written_whole() -> None:
    step = {"description": "d", "conclusion": "c"}
    answer = Judgement(
        "judge",
        MESSAGES,
        {"seed": 1},
        "big-2",
        "raw words",
        {"steps": [step], "result": 0.5},
        "stop",
        Usage(5, 2, 7, 3),
        0.01,
        1.5,
        2,
    )
    assert answer.dump() == {
        "model": "judge",
        "sampled_model_name": "big-2",
        "result": 0.5,
        "steps": [step],
        "input": MESSAGES,
        "output": "raw words",
        "finish_reason": "stop",
        "sampling_params": {"seed": 1},
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7, "cached_tokens": 3},
        "cost": 0.01,
        "latency": 1.5,
        "attempts": 2,
        "cached": False,
        "error": None,
    }


def test_an_answer_without_a_request_came_from_the_cache_and_a_failure_without_one_did_not() -> None:
    assert Judgement("m", MESSAGES).dump()["cached"] is True
    failed = Judgement("m", MESSAGES, failure=JudgeRefused("no"))
    assert failed.dump()["cached"] is False
    assert failed.dump()["error"] == "no"
    assert (failed.dump()["result"], failed.dump()["steps"]) == (None, [])
