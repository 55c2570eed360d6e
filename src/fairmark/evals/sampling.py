"""Samples: what the model under test answers to a row. Stored before it is graded, so that it is never asked twice."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fairmark import jsontext
from fairmark.errors import FairmarkError, GradingFailed, NotGraded
from fairmark.evals.source import Sampling, SourceRow
from fairmark.failures import as_failure
from fairmark.judges.base import Budget, Completion, Judge, Prompt
from fairmark.row import Row, content_text, first_message, read_sample, unread
from fairmark.text.messages import Messages

_INSTEAD_OF_CONTENT = ("tool_calls", "function_call", "refusal", "audio")


class Sampled(msgspec.Struct, frozen=True):
    """A sample as it is stored: the model's answer in the form of the chat completions API, or why there is none."""

    messages: list[dict[str, Any]]
    reply: dict[str, Any]
    usage: list[int] = []
    cost: float | None = None
    attempts: int = 0
    error: str | None = None
    code: str | None = None
    skipped: str | None = None

    @property
    def sample(self) -> dict[str, Any]:
        """As graders see it."""
        sample = {"choices": self.reply.get("choices") or [], "model": self.reply.get("model")}
        # What only a response has: the tools that its provider ran.
        sample |= {name: self.reply[name] for name in ("output", "output_text", "output_tools") if name in self.reply}
        return with_speech(sample)

    def encode(self) -> bytes:
        return jsontext.encode(msgspec.to_builtins(self))

    @classmethod
    def decode(cls, body: bytes) -> "Sampled":
        return msgspec.convert(jsontext.decode(body), cls)


async def sample_rows(how: Sampling, rows: Sequence[SourceRow], judge: Judge, budget: Budget | None) -> list[Sampled]:
    """The model's answers to the rows, asked all at once."""
    prompts: list[Prompt] = []
    failures: list[Sampled | None] = []
    for row in rows:
        try:
            messages = _messages(how, row)
        except GradingFailed as failure:
            failures.append(Sampled([], {}, error=str(failure), code=failure.flag))
            continue
        prompts.append(Prompt(how.model, messages, how.sampling, how.more, how.hosted))
        failures.append(None)
    try:
        completions = await judge.complete(prompts, budget)
    except FairmarkError as error:  # wrong settings, say: told on every row they keep from being sampled
        completions = [Completion({}, failure=as_failure(error))] * len(prompts)
    answers = iter(zip(prompts, completions, strict=True))
    return [_sampled(*next(answers)) if failed is None else failed for failed in failures]


def _sampled(prompt: Prompt, answer: Completion | NotGraded) -> Sampled:
    messages = [dict(message) for message in prompt.messages]
    if isinstance(answer, NotGraded):
        return Sampled(messages, {}, skipped=str(answer))
    failure = answer.failure
    error = None if failure is None else str(failure)
    if failure is None and not first_message(answer.reply):
        error = f"{prompt.model}: the server's answer holds no message."
    code = None if error is None else failure.flag if failure is not None else "sample_parse_error"
    return Sampled(messages, dict(answer.reply), list(answer.usage), answer.cost, answer.attempts, error, code)


def _messages(how: Sampling, row: SourceRow) -> list[dict[str, Any]]:
    """The row's messages. Raises GradingFailed."""
    source = unread(Row(row.item, read_sample(None)))
    if isinstance(how.messages, Messages):
        return how.messages.render(source)
    value = how.messages.value(source)
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    if (
        not isinstance(value, list)
        or not value
        or not all(isinstance(message, Mapping) and "role" in message for message in value)
    ):
        raise GradingFailed(
            f"{how.messages}: expected a list of messages or a string, found {jsontext.describe(value)}."
        )
    try:
        return [_message(message) for message in value]
    except GradingFailed as failure:
        raise GradingFailed(f"{how.messages}: {failure}") from None


def _message(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A message of the row as the chat completions API takes it: nothing in it is a template. Raises GradingFailed."""
    if "content" not in fields and not any(fields.get(name) for name in _INSTEAD_OF_CONTENT):
        # A model would be asked nothing, and what it makes of that would look like an answer.
        keys = ", ".join(jsontext.shorten(str(key), 40) for key in list(fields)[:10])
        raise GradingFailed(f"a message has no content. It has: {keys}.")
    message = {"content": None, **{key: value for key, value in fields.items() if key != "type"}}
    content = message["content"]
    if isinstance(content, Mapping):
        content = [content]
    if isinstance(content, list):
        message["content"] = [_block(part) for part in content]
    return message


def _block(part: Any) -> Any:
    match part:
        case str():
            return {"type": "text", "text": part}
        case {"type": "input_text" | "output_text", "text": str() as text}:
            return {"type": "text", "text": text}
        case {"type": "input_image", "image_url": str() as url}:
            return {"type": "image_url", "image_url": {"url": url, "detail": part.get("detail") or "auto"}}
        case {"type": str()}:
            return part
        case _:
            raise GradingFailed(f"a part of a message: expected a string or a block, found {jsontext.describe(part)}.")


def output_messages(sample: Mapping[str, Any], text: str | None) -> list[dict[str, Any]]:
    """A sample's answer as an output item shows it, with its calls of tools, wherever they stand in the sample. None is
    no text; "" is an empty answer."""
    message = first_message(sample)
    tools = sample.get("output_tools")
    calls = message.get("tool_calls") or (tools if isinstance(tools, list) and tools else None)
    if not message and text is None and not calls:
        return []
    content = content_text(message.get("content")) if message else text
    return [
        {
            "role": "assistant",
            "content": content if isinstance(content, str) and content else text or _transcript(message),
            "tool_calls": calls,
            "tool_call_id": None,
            "function_call": message.get("function_call"),
        }
    ]


def with_speech(sample: dict[str, Any]) -> dict[str, Any]:
    """A sample whose speech graders can read: it has no content, but what was said stands in its transcript."""
    message = first_message(sample)
    if not isinstance(message.get("audio"), Mapping):
        return sample
    text = content_text(message.get("content")) or _transcript(message)
    return {"output_audio": message["audio"], "output_text": text, **sample}


def _transcript(message: Mapping[str, Any]) -> str:
    match message.get("audio"):
        case {"transcript": str() as text}:
            return text
        case _:
            return ""
