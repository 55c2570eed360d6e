from typing import Any

import pytest

from fairmark.errors import InvalidSettings
from fairmark.evals.sampling import Sampled, output_messages, sample_rows
from fairmark.evals.source import Sampling, SourceRow, open_source
from fairmark.judgement import Usage
from fairmark.judges.base import Budget, Completion, Prompt
from fairmark.judges.fake import FakeAnswer, FakeJudge
from fairmark.row import make_row
from tests.evals.working import SAMPLED


def how(messages: dict[str, Any] | None = None, kind: str = "completions", **parameters: Any) -> Sampling:
    given = {**SAMPLED, "type": kind, "source": {"type": "file_content", "content": [{}]}}
    if messages is not None:
        given["input_messages"] = messages
    found = open_source({**given, "sampling_params": parameters}).sampling
    assert found is not None
    return found


def by_reference(path: str) -> Sampling:
    return how({"type": "item_reference", "item_reference": path})


def row(position: int = 0, **item: Any) -> SourceRow:
    return SourceRow(position, item, None)


class Listener:
    """A model that answers every prompt with its own reply, and keeps the prompts."""

    def __init__(self, reply: dict[str, Any] | None = None) -> None:
        message = {"role": "assistant", "content": "Paris"}
        self.reply = reply or {"model": "student-2026", "choices": [{"message": message, "finish_reason": "stop"}]}
        self.prompts: list[Prompt] = []

    async def complete(self, prompts: Any, budget: Any) -> list[Any]:
        self.prompts += prompts
        return [Completion(self.reply, Usage(10, 5, 15), 0.1, attempts=1) for _ in prompts]

    async def ask(self, questions: Any, budget: Any) -> list[Any]:
        raise AssertionError

    async def embed(self, model: Any, texts: Any, budget: Any) -> Any:
        raise AssertionError


async def test_each_row_is_asked_with_its_own_messages_and_answers_stay_in_order() -> None:
    judge = FakeJudge(lambda messages: FakeAnswer(text=messages[0]["content"].upper()))
    found = await sample_rows(how(), [row(0, a="one"), row(1, a="two")], judge, None)
    assert [each.sample["choices"][0]["message"]["content"] for each in found] == ["SAY ONE", "SAY TWO"]
    assert [each.messages for each in found] == [
        [{"role": "user", "content": "Say one"}],
        [{"role": "user", "content": "Say two"}],
    ]
    assert found[0].usage == [100, 20, 120, 0]


async def test_the_form_of_the_answer_the_tools_and_the_parameters_are_asked_for() -> None:
    listener = Listener()
    form = {"type": "json_schema", "name": "answer", "schema": {"type": "object"}}
    tools = [{"type": "function", "name": "look_up", "parameters": {}}]
    await sample_rows(
        how(kind="responses", temperature=0, text={"format": form}, tools=tools), [row(a="x")], listener, None
    )
    (prompt,) = listener.prompts
    assert prompt.model == "house/student"
    assert prompt.sampling["temperature"] == 0
    assert prompt.more == {
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}}},
        "tools": [{"type": "function", "function": {"name": "look_up", "parameters": {}}}],
    }


@pytest.mark.parametrize(
    ("item", "messages"),
    [
        ({"chat": "Hello"}, [{"role": "user", "content": "Hello"}]),
        (
            {"chat": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "{{ item.chat }}"}]},
            [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "{{ item.chat }}"}],
        ),
        (
            {"chat": [{"type": "message", "role": "user", "content": {"type": "input_text", "text": "Hi"}}]},
            [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
        ),
        (
            {"chat": [{"role": "user", "content": ["a", {"type": "input_image", "image_url": "http://x/y"}]}]},
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "a"},
                        {"type": "image_url", "image_url": {"url": "http://x/y", "detail": "auto"}},
                    ],
                }
            ],
        ),
        (
            {"chat": [{"role": "assistant", "tool_calls": [{"id": "c"}]}, {"role": "tool", "content": "5"}]},
            [{"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]}, {"role": "tool", "content": "5"}],
        ),
        # A string that holds JSON is a string, and so one message.
        ({"chat": '[{"role": "user"}]'}, [{"role": "user", "content": '[{"role": "user"}]'}]),
    ],
)
async def test_the_item_may_hold_the_messages_or_one_text(item: dict[str, Any], messages: list[Any]) -> None:
    listener = Listener()
    (found,) = await sample_rows(by_reference("item.chat"), [row(**item)], listener, None)
    assert found.error is None
    assert [prompt.messages for prompt in listener.prompts] == [messages]


@pytest.mark.parametrize(
    ("item", "code"),
    [
        ({}, "invalid_variable_error"),
        ({"chat": []}, "other_error"),
        ({"chat": 5}, "other_error"),
        ({"chat": {"role": "user", "content": "x"}}, "other_error"),
        ({"chat": [{"content": "x"}]}, "other_error"),
        ({"chat": ["x"]}, "other_error"),
        ({"chat": [{"role": "user", "content": "a"}, {"role": "user", "text": "b"}]}, "other_error"),
        ({"chat": [{"role": "user", "content": [5]}]}, "other_error"),
        ({"chat": [{"role": "user", "content": [{"text": "no type"}]}]}, "other_error"),
    ],
)
async def test_a_row_without_messages_fails_alone_and_nobody_is_asked_for_it(item: dict[str, Any], code: str) -> None:
    listener = Listener()
    found = await sample_rows(
        by_reference("item.chat"), [row(0, chat="a"), row(1, **item), row(2, chat="b")], listener, None
    )
    assert [each.code for each in found] == [None, code, None]
    assert found[1].error
    assert [prompt.messages[0]["content"] for prompt in listener.prompts] == ["a", "b"]


async def test_a_model_that_fails_or_says_nothing_is_an_error_of_its_row() -> None:
    answers = [FakeAnswer(fault="server_error"), FakeAnswer("fine"), FakeAnswer(fault="timeout")]
    found = await sample_rows(how(), [row(n, a="x") for n in range(3)], FakeJudge(answers), None)
    assert [each.code for each in found] == ["model_grader_server_error", None, "model_grader_server_error"]
    (nothing,) = await sample_rows(how(), [row(a="x")], Listener({"choices": [], "model": "m"}), None)
    assert nothing.code == "sample_parse_error"
    assert "holds no message" in str(nothing.error)


async def test_wrong_settings_are_told_on_every_row() -> None:
    class Misconfigured(Listener):
        async def complete(self, prompts: Any, budget: Any) -> list[Any]:
            raise InvalidSettings("fairmark.toml: not TOML")

    found = await sample_rows(how(), [row(0, a="x"), row(1, a="y")], Misconfigured(), None)
    assert [each.error for each in found] == ["fairmark.toml: not TOML"] * 2


async def test_rows_beyond_the_budget_are_left_out() -> None:
    found = await sample_rows(how(), [row(n, a="x") for n in range(4)], FakeJudge(FakeAnswer("ok")), Budget(tokens=240))
    assert [each.skipped is None for each in found] == [True, True, False, False]
    assert "budget of 240 tokens" in str(found[3].skipped)


async def test_a_sample_is_the_same_after_it_was_stored() -> None:
    half = "half an emoji \ud83d"
    (found,) = await sample_rows(how(), [row(a=half)], FakeJudge(FakeAnswer(f"Paris {half}")), None)
    stored = Sampled.decode(found.encode())
    assert stored == found
    assert make_row({}, stored.sample).sample.text == f"Paris {half}"


async def test_speech_is_graded_by_its_transcript() -> None:
    message = {"role": "assistant", "content": None, "audio": {"id": "a", "data": "UklG", "transcript": "Paris"}}
    (found,) = await sample_rows(how(), [row(a="x")], Listener({"choices": [{"message": message}]}), None)
    seen = make_row({}, found.sample).sample
    assert seen.text == "Paris"
    assert seen.members["output_audio"]["data"] == "UklG"
    assert output_messages(found.reply, "")[0]["content"] == "Paris"


async def test_tool_calls_reach_graders_and_items() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look_up", "arguments": '{"q": 1}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    (found,) = await sample_rows(how(), [row(a="x")], Listener({"choices": [{"message": message}]}), None)
    assert make_row({}, found.sample).sample.members["output_tools"] == [call]
    assert output_messages(found.reply, "") == [
        {"role": "assistant", "content": "", "tool_calls": [call], "tool_call_id": None, "function_call": None}
    ]


def test_without_an_answer_there_are_no_messages_of_one() -> None:
    assert output_messages({}, None) == []
