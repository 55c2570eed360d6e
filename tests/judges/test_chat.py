"""Asking a chat model: the ways to a structured answer, what is learnt about a model, what goes out."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from fairmark.errors import JudgeCutOff, JudgeFailed, JudgeRefused, JudgeUnreadable, Rejected
from fairmark.graders.score_model import ScoreShape
from fairmark.judgement import Judgement, Usage
from fairmark.judges.base import Question
from fairmark.judges.chat import Chat
from fairmark.judges.client import Tab
from fairmark.judges.models import Model, Provider

SHAPE = ScoreShape.between(0, 1)
MESSAGES = [{"role": "system", "content": "Be fair."}, {"role": "user", "content": "Judge."}]
GOOD = '{"steps": [], "result": 0.5}'
LOCAL = Provider("here", "http://127.0.0.1:1/v1")
OPENAI = Provider("openai", "https://api.openai.com/v1")
RUNGS = ["json_schema", "tools", "json_object", "text"]


def reply(content: Any = GOOD, reason: str = "stop", **message: Any) -> dict[str, Any]:
    choice = {"message": {"role": "assistant", "content": content, **message}, "finish_reason": reason}
    tokens = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return {"model": "real-1", "choices": [choice], "usage": tokens}


def called(arguments: str) -> dict[str, Any]:
    return reply(None, "tool_calls", tool_calls=[{"function": {"name": "score", "arguments": arguments}}])


def refused(message: str, status: int = 400, **error: Any) -> Rejected:
    return Rejected(f"judge: the server answered {status}: {message}", status, {"message": message, **error})


class Scripted:
    """Stands in for a server: records what is sent, answers by a function of it or by a list."""

    def __init__(self, answer: Callable[[dict[str, Any]], Any] | list[Any]) -> None:
        self.bodies: list[dict[str, Any]] = []
        self._answer = answer

    async def post(self, model: Model, path: str, body: dict[str, Any], tab: Tab) -> dict[str, Any]:
        assert path == "chat/completions"
        tab.attempts += 1
        self.bodies.append(body)
        await asyncio.sleep(0)
        answer = self._answer.pop(0) if isinstance(self._answer, list) else self._answer(body)
        if isinstance(answer, Exception):
            raise answer
        found: dict[str, Any] = answer
        return found


def model(provider: Provider = LOCAL, name: str = "judge", **more: Any) -> Model:
    return Model(name, provider, f"real-{name}", reasoning_effort=True, **more)


def question(messages: Any = MESSAGES, quoted: Any = tuple, **sampling: Any) -> Question:
    return Question("judge", messages, SHAPE, sampling, quoted=quoted)


def ask(sender: Scripted, given: Question | None = None, by: Model | None = None) -> Judgement:
    return asyncio.run(Chat(sender).ask(by or model(), given or question()))


def rung_of(body: dict[str, Any]) -> str:
    if "tools" in body:
        return "tools"
    return str(body.get("response_format", {}).get("type", "text"))


def knows(*rungs: str) -> Callable[[dict[str, Any]], Any]:
    """A server that takes some ways only."""

    def answer(body: dict[str, Any]) -> Any:
        rung = rung_of(body)
        if rung not in rungs:
            return refused(f"'{rung}' is not supported: unknown response_format or tools")
        return called(GOOD) if rung == "tools" else reply()

    return answer


def test_a_question_goes_out_unchanged_with_the_schema_beside_it() -> None:
    sender = Scripted([reply()])
    judgement = ask(sender)
    assert sender.bodies == [
        {
            "model": "real-judge",
            "messages": MESSAGES,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "score", "strict": True, "schema": SHAPE.schema},
            },
        }
    ]
    assert judgement.value == {"steps": [], "result": 0.5}
    assert (judgement.model, judgement.sampled_model, judgement.output) == ("judge", "real-1", GOOD)
    assert (judgement.finish_reason, judgement.usage, judgement.attempts) == ("stop", Usage(10, 5, 15, 0), 1)
    assert judgement.failure is None


def test_by_tools_the_messages_are_unchanged_too_and_the_tool_must_be_called() -> None:
    sender = Scripted([called(GOOD)])
    judgement = ask(sender, by=model(structured_output="tools"))
    (body,) = sender.bodies
    assert body["messages"] == MESSAGES
    assert body["tools"][0]["function"]["parameters"] == SHAPE.schema
    assert body["tool_choice"] == {"type": "function", "function": {"name": "score"}}
    assert "response_format" not in body
    assert (judgement.value["result"], judgement.output) == (0.5, GOOD)


@pytest.mark.parametrize(("known", "asked"), [(rung, RUNGS[: index + 1]) for index, rung in enumerate(RUNGS)])
def test_a_server_that_refuses_one_way_is_asked_by_the_next(known: str, asked: list[str]) -> None:
    sender = Scripted(knows(known))
    judgement = ask(sender)
    assert judgement.value["result"] == 0.5
    assert [rung_of(body) for body in sender.bodies] == asked
    assert judgement.attempts == len(asked)


def test_the_way_that_works_is_remembered_for_the_model_and_for_no_other() -> None:
    sender = Scripted(knows("json_object", "text"))
    chat = Chat(sender)
    asyncio.run(chat.ask(model(), question()))
    asyncio.run(chat.ask(model(), question()))
    asyncio.run(chat.ask(model(name="other"), question()))
    assert [rung_of(body) for body in sender.bodies] == [*RUNGS[:3], "json_object", *RUNGS[:3]]


def test_questions_under_way_together_learn_from_one_another_and_all_are_answered() -> None:
    sender = Scripted(knows("text"))
    chat = Chat(sender)

    async def together() -> list[Judgement]:
        return list(await asyncio.gather(*(chat.ask(model(), question()) for _ in range(5))))

    assert [judgement.value["result"] for judgement in asyncio.run(together())] == [0.5] * 5


def test_a_configured_way_is_where_the_asking_begins() -> None:
    sender = Scripted(knows("text"))
    assert ask(sender, by=model(structured_output="json_object")).failure is None
    assert [rung_of(body) for body in sender.bodies] == ["json_object", "text"]


@pytest.mark.parametrize("status", [400, 404, 415, 422, 501])
def test_a_format_may_be_refused_with_any_of_these(status: int) -> None:
    sender = Scripted([refused("response_format json_schema is unavailable", status), called(GOOD)])
    assert ask(sender).failure is None


@pytest.mark.parametrize(
    "rejected",
    [
        refused("Incorrect API key provided.", 401),
        refused("The model does not exist.", 404),
        refused("Invalid image."),
        refused("This model's maximum context length is 4097 tokens (100 in the functions)."),
        refused("Please shorten the tools.", code="context_length_exceeded"),
    ],
    ids=str,
)
def test_another_error_is_no_matter_of_the_format_and_nothing_is_learnt_from_it(rejected: Rejected) -> None:
    sender = Scripted([rejected, reply()])
    chat = Chat(sender)
    failed = asyncio.run(chat.ask(model(), question()))
    assert failed.failure is rejected
    assert (failed.attempts, failed.value) == (1, {})
    assert asyncio.run(chat.ask(model(), question())).failure is None
    assert rung_of(sender.bodies[1]) == "json_schema"


def test_a_server_that_refuses_every_way_fails_the_question() -> None:
    sender = Scripted(knows())
    failed = ask(sender)
    assert isinstance(failed.failure, Rejected)
    assert len(sender.bodies) == 4


def test_a_content_filter_that_rejects_the_question_is_a_refusal() -> None:
    sender = Scripted([refused("The prompt was filtered by the policy on tools.", code="content_filter")])
    assert isinstance(ask(sender).failure, JudgeRefused)
    assert len(sender.bodies) == 1


@pytest.mark.parametrize("way", ["json_object", "text"])
@pytest.mark.parametrize(
    ("messages", "last"),
    [
        (MESSAGES, "Judge.\n\n{}"),
        ([{"role": "user", "content": [{"type": "text", "text": "a"}]}], [{"type": "text", "text": "a"}, "{}"]),
        ([{"role": "system", "content": "Judge."}], "{}"),
        ([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "{}"),
    ],
)
def test_models_that_cannot_be_held_to_a_schema_are_told_of_it_in_the_last_user_message(
    way: Any, messages: Any, last: Any
) -> None:
    sender = Scripted([reply()])
    before = [dict(message) for message in messages]
    judgement = ask(sender, question(messages), model(structured_output=way))
    sent = sender.bodies[0]["messages"][-1]
    text = sent["content"] if isinstance(sent["content"], str) else sent["content"][-1]["text"]
    assert sent["role"] == "user"
    assert "JSON" in text
    assert '"minimum": 0' in text
    shown = text[text.index("Answer with one JSON object") :]
    expected = last.replace("{}", shown) if isinstance(last, str) else [last[0], {"type": "text", "text": shown}]
    assert sent["content"] == expected
    assert list(judgement.messages) == before == messages


@pytest.mark.parametrize(
    ("provider", "role"),
    [(LOCAL, "system"), (OPENAI, "developer"), (Provider("az", "https://x", "azure"), "developer")],
)
def test_developers_are_systems_everywhere_but_at_openai(provider: Provider, role: str) -> None:
    sender = Scripted([reply()])
    messages = [{"role": "developer", "content": "Be fair."}, {"role": "user", "content": "Judge."}]
    judgement = ask(sender, question(messages), model(provider))
    assert [message["role"] for message in sender.bodies[0]["messages"]] == [role, "user"]
    assert judgement.messages == messages


SAMPLING = {"temperature": 0.5, "top_p": 0.9, "seed": 7, "reasoning_effort": "low", "max_completions_tokens": 99}


def parameters(body: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key not in ("model", "messages", "response_format")}


def test_sampling_parameters_go_out_under_the_names_that_the_provider_knows() -> None:
    sender = Scripted([reply(), reply()])
    common = {"temperature": 0.5, "top_p": 0.9, "seed": 7, "reasoning_effort": "low"}
    ask(sender, question(**SAMPLING, top_k=5), model(OPENAI))
    ask(sender, question(**SAMPLING, top_k=5), model(LOCAL))
    assert parameters(sender.bodies[0]) == {**common, "max_completion_tokens": 99}
    assert parameters(sender.bodies[1]) == {**common, "max_tokens": 99}


def test_what_a_model_is_configured_not_to_take_is_left_out() -> None:
    sender = Scripted([reply()])
    by = Model("o3", OPENAI, "o3", temperature=False, reasoning_effort=False)
    ask(sender, question(**SAMPLING), by)
    assert parameters(sender.bodies[0]) == {"seed": 7, "max_completion_tokens": 99}


@pytest.mark.parametrize(
    ("rejected", "gone"),
    [
        (refused("Unsupported value: 'temperature' does not support 0.5 with this model."), "temperature"),
        (refused("No.", code="unsupported_value", param="temperature"), "temperature"),
        (refused("Unrecognized request argument supplied: seed"), "seed"),
        (refused("Unknown parameter: 'reasoning_effort'.", 422), "reasoning_effort"),
        (refused("top_p: Extra inputs are not permitted, unexpected keyword"), "top_p"),
    ],
    ids=str,
)
def test_a_parameter_that_the_server_does_not_know_is_dropped_and_that_is_remembered(
    rejected: Rejected, gone: str
) -> None:
    sender = Scripted([rejected, reply(), reply(), reply()])
    chat = Chat(sender)
    for by in (model(), model(), model(name="other")):
        assert asyncio.run(chat.ask(by, question(**SAMPLING))).failure is None
    assert [gone in body for body in sender.bodies] == [True, False, False, True]
    assert [len(parameters(body)) for body in sender.bodies] == [5, 4, 4, 5]
    assert all(rung_of(body) == "json_schema" for body in sender.bodies)


@pytest.mark.parametrize(
    ("provider", "first", "second"),
    [(LOCAL, "max_tokens", "max_completion_tokens"), (OPENAI, "max_completion_tokens", "max_tokens")],
)
def test_a_token_limit_is_tried_under_both_names_and_then_left_out(provider: Provider, first: str, second: str) -> None:
    def answer(body: dict[str, Any]) -> Any:
        found = next((name for name in ("max_tokens", "max_completion_tokens") if name in body), None)
        return refused(f"Unsupported parameter: '{found}'. Use another.") if found else reply()

    sender = Scripted(answer)
    assert ask(sender, question(max_completions_tokens=9), model(provider)).failure is None
    assert [list(parameters(body)) for body in sender.bodies] == [[first], [second], []]


def test_openais_hint_at_the_other_name_is_understood() -> None:
    hint = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    sender = Scripted([refused(hint, code="unsupported_parameter", param="max_tokens"), reply()])
    assert ask(sender, question(max_completions_tokens=9)).failure is None
    assert parameters(sender.bodies[1]) == {"max_completion_tokens": 9}


def test_a_parameter_refused_to_many_questions_at_once_fails_none_of_them() -> None:
    sender = Scripted(lambda body: refused("temperature is not supported") if "temperature" in body else reply())
    chat = Chat(sender)

    async def together() -> list[Judgement]:
        return list(await asyncio.gather(*(chat.ask(model(), question(temperature=0.1)) for _ in range(5))))

    assert [judgement.failure for judgement in asyncio.run(together())] == [None] * 5


def test_a_parameter_that_is_refused_although_it_was_not_sent_is_an_error() -> None:
    sender = Scripted(lambda body: refused("temperature is not supported"))
    assert isinstance(ask(sender, question(temperature=0.1)).failure, Rejected)
    assert len(sender.bodies) == 2


def test_an_unreadable_answer_is_sent_back_once_with_what_was_wrong() -> None:
    sender = Scripted([reply("Fine!"), reply()])
    judgement = ask(sender)
    assert judgement.value["result"] == 0.5
    assert judgement.usage == Usage(20, 10, 30, 0)
    again = sender.bodies[1]["messages"]
    assert again[:3] == [*MESSAGES, {"role": "assistant", "content": "Fine!"}]
    assert 'could not be read: there is no verdict in the answer: "Fine!".' in again[3]["content"]
    assert sender.bodies[1]["response_format"]["type"] == "json_schema"


def test_an_empty_answer_is_asked_for_again_without_an_empty_turn() -> None:
    sender = Scripted([reply(""), reply()])
    assert ask(sender).failure is None
    again = sender.bodies[1]["messages"]
    assert [message["role"] for message in again] == ["system", "user"]
    assert again[-1]["content"].startswith("Judge.\n\nYour answer could not be read: the answer is empty.")


def test_a_second_unreadable_answer_is_the_end_and_its_tokens_are_told() -> None:
    sender = Scripted([called("{"), called('{"result": "high"}')])
    failed = ask(sender, by=model(structured_output="tools"))
    assert isinstance(failed.failure, JudgeUnreadable)
    assert str(failed.failure) == 'judge: the result is a string ("high"), not a number.'
    assert (failed.usage.total_tokens, failed.attempts) == (30, 2)
    assert failed.output == '{"result": "high"}'


def test_a_text_in_place_of_a_tool_call_is_read_as_a_text() -> None:
    assert ask(Scripted([reply(f"Here: {GOOD}")]), by=model(structured_output="tools")).value["result"] == 0.5


def test_under_a_schema_the_whole_answer_counts_although_the_row_says_the_same() -> None:
    quoting = question(quoted=lambda: [GOOD])
    assert ask(Scripted([reply()]), quoting).value["result"] == 0.5
    assert ask(Scripted([reply("hm"), reply()]), quoting).value["result"] == 0.5
    failed = ask(Scripted([reply(), reply()]), quoting, model(structured_output="text"))
    assert str(failed.failure) == "judge: the only verdict in the answer is quoted from the row."


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (reply(None, refusal="No."), JudgeRefused),
        (reply(GOOD, "content_filter"), JudgeRefused),
        (reply(GOOD, "length"), JudgeCutOff),
    ],
)
def test_a_refusal_and_a_cut_off_answer_are_not_sent_back(answer: Any, failure: type[Exception]) -> None:
    sender = Scripted([answer])
    failed = ask(sender)
    assert isinstance(failed.failure, failure)
    assert (failed.usage.total_tokens, failed.value) == (15, {})


def test_a_failure_of_the_repair_keeps_what_the_first_round_cost() -> None:
    sender = Scripted([reply("hm"), JudgeFailed("judge: gone.")])
    failed = ask(sender)
    assert str(failed.failure) == "judge: gone."
    assert (failed.usage.total_tokens, failed.attempts, failed.output) == (15, 2, "hm")


@pytest.mark.parametrize("name", [None, "", 5])
def test_a_server_that_does_not_name_its_model_leaves_the_graders_name(name: Any) -> None:
    judgement = ask(Scripted([{**reply(), "model": name}]))
    assert (judgement.sampled_model, judgement.name) == (None, "judge")


def test_prices_make_costs() -> None:
    judgement = ask(Scripted([reply()]), by=model(price_in=2.0, price_out=4.0))
    assert judgement.cost == pytest.approx((10 * 2 + 5 * 4) / 1e6)
    assert ask(Scripted([reply()])).cost is None


@pytest.mark.parametrize(
    ("block", "ability", "held"),
    [
        ("image_url", "vision", "an image"),
        ("input_audio", "audio", "audio"),
    ],
)
def test_a_model_that_cannot_see_or_hear_is_not_asked(block: str, ability: str, held: str) -> None:
    messages = [{"role": "user", "content": [{"type": block, block: {}}]}, {"role": "user", "content": "text"}]
    sender = Scripted([reply()])
    more: dict[str, Any] = {ability: False}
    failed = ask(sender, question(messages), model(**more))
    assert str(failed.failure) == (
        f"judge: the question holds {held}, and this model is configured with {ability} = false."
    )
    assert sender.bodies == []
    assert ask(sender, question(messages), model()).failure is None
