"""The reward as verifiers calls it: `score(task, trace)` of version 1, and a Rubric of older ones."""

import asyncio
import inspect
import pickle
from types import SimpleNamespace
from typing import Any

import pytest

from fairmark.errors import GradingFailed
from fairmark.trainers import verifiers
from tests.trainers.test_trl import BOTH, EXACT


class Message:
    """As pydantic's."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self, exclude_none: bool = False) -> dict[str, Any]:
        return {name: value for name, value in self.fields.items() if value is not None or not exclude_none}


class Trace:
    """The part of verifiers' Trace that is read and written."""

    root_reply: str | None = None

    def __init__(self, *messages: Message, **columns: Any) -> None:
        self.messages = list(messages)
        self.assistant_messages = [message for message in messages if message.fields["role"] == "assistant"]
        self.task = SimpleNamespace(data=Message(idx=0, prompt="Capital?", **columns))
        self.metrics: dict[str, float] = {}

    def record_metric(self, name: str, value: float) -> None:
        self.metrics[name] = value


def trace_of(answer: str, **columns: Any) -> Trace:
    asked = Message(role="user", content="Capital?")
    return Trace(asked, Message(role="assistant", content=answer, tool_calls=None), answer="Paris", **columns)


def call(function: Any, trace: Trace) -> float:
    """As `invoke` does it: what the signature names, by name, awaited."""
    available = {"task": trace.task.data, "trace": trace}
    named = {name: available[name] for name in inspect.signature(function).parameters if name in available}
    return asyncio.run(function(**named))  # type: ignore[no-any-return]


def test_a_trace_is_graded_and_its_parts_are_metrics() -> None:
    trace = trace_of("Paris")
    assert call(verifiers.reward(BOTH), trace) == 1.5
    assert trace.metrics == {"both/exact": 1.0, "both/code": 0.5, "both/failed": 0.0}


def test_a_failure_is_raised_and_noted_under_the_same_names() -> None:
    trace = trace_of("Paris", fail=True)
    with pytest.raises(GradingFailed, match="on purpose"):
        call(verifiers.reward(BOTH), trace)
    assert trace.metrics["both/failed"] == 1.0
    assert sorted(trace.metrics) == ["both/code", "both/exact", "both/failed"]


def test_a_trace_without_an_answer_has_failed() -> None:
    with pytest.raises(GradingFailed):
        call(verifiers.reward(EXACT), Trace(Message(role="user", content="Capital?"), answer=""))


def test_an_example_in_the_prompt_is_no_answer() -> None:
    trace = trace_of("Paris")
    trace.assistant_messages = []  # none was sampled
    with pytest.raises(GradingFailed, match="without a message by the assistant"):
        call(verifiers.reward(EXACT), trace)


def test_the_answer_of_an_agent_counts_and_not_that_of_one_below_it() -> None:
    trace = trace_of("Rome, says a helper")
    trace.root_reply = "Paris"
    assert call(verifiers.reward(EXACT), trace) == 1.0


def test_tool_calls_are_as_openai_writes_them() -> None:
    made = verifiers.reward(EXACT)
    call_made = {"id": "1", "type": "function", "name": "add", "arguments": "{}"}
    trace = Trace(Message(role="user", content="?"), Message(role="assistant", content=None, tool_calls=[call_made]))
    (answer,) = made.row_of_trace(None, trace)["sample"]
    assert answer["tool_calls"] == [{"id": "1", "type": "function", "function": {"name": "add", "arguments": "{}"}}]


def rubric(function: Any, state: dict[str, Any]) -> float:
    """As a Rubric of 0.2 calls a function that takes anything by name; what it raises is 0 there."""
    objects = {"prompt": state["prompt"], "completion": state["completion"], "answer": state["answer"],
               "state": state, "info": state["info"], "parser": object(), "task": None}  # fmt: skip
    try:
        return float(asyncio.run(function(**objects)))
    except Exception:
        return 0.0


def test_the_same_object_works_in_an_old_rubric_and_marks_what_failed() -> None:
    made = verifiers.reward(BOTH)
    chat = [{"role": "user", "content": "Capital?"}]
    states: list[dict[str, Any]] = [
        {"prompt": chat, "completion": [{"role": "assistant", "content": "Paris"}], "answer": "Paris", "info": info}
        for info in ({}, {"fail": True})
    ]
    assert [rubric(made, state) for state in states] == [1.5, 0.0]
    assert [state["fairmark_failed"] for state in states] == [False, True]
    assert made.__name__ == "both"
    # A Rubric takes functions with such names for ones that score whole groups.
    assert not {"states", "prompts", "completions"} & set(inspect.signature(made).parameters)


def test_the_turns_between_are_what_was_asked() -> None:
    between = [{"role": "assistant", "content": "let me see"}, {"role": "tool", "content": "4"}]
    row = verifiers.reward(EXACT).row_of_completion(
        [{"role": "user", "content": "?"}], [*between, {"role": "assistant", "content": "4"}], {}
    )
    assert row["item"]["messages"] == [{"role": "user", "content": "?"}, *between]
    assert row["sample"] == [{"role": "assistant", "content": "4"}]


def test_it_pickles() -> None:
    made = pickle.loads(pickle.dumps(verifiers.reward(EXACT)))  # noqa: S301
    assert call(made, trace_of("Paris")) == 1.0
