"""What comes over the wire and what goes back: requests into rows, results into responses."""

import re
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from fairmark import jsontext
from fairmark.errors import Refusal
from fairmark.result import Result
from fairmark.spec import GraderSpec
from fairmark.trainers import openrlhf

T = TypeVar("T")

Row = dict[str, Any]


class Turn(msgspec.Struct, forbid_unknown_fields=True):
    role: str
    content: str


class RewardRequest(msgspec.Struct, forbid_unknown_fields=True):
    turns: list[Turn]
    metadata: dict[str, Any] | None
    id: int | None = None


class RewardBatch(msgspec.Struct, forbid_unknown_fields=True):
    requests: list[RewardRequest]


class RemoteReward(msgspec.Struct):
    """What OpenRLHF sends. `query` is prompt and answer in one text, as the model's tokenizer writes them."""

    query: list[str]
    prompts: list[str] | None = None
    labels: list[Any] | None = None


class Conversations(msgspec.Struct):
    """What LLaMA-Factory sends: each text is prompt and answer, with the marks that its tokenizer puts between them."""

    messages: list[str]


def read(body: bytes, shape: type[T]) -> T:
    """The body in its shape. Raises Refusal, 422."""
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        pass  # the slow road reads what is only unusual, such as half an emoji, and knows what is wrong
    try:
        value = jsontext.decode(body)
        if jsontext.deeper_than(value, jsontext.MAX_DEPTH):
            raise _unprocessable("value_error", [], f"nested deeper than {jsontext.MAX_DEPTH} levels")
        return msgspec.convert(value, shape)
    except jsontext.NotJson as error:
        raise _unprocessable("json_invalid", [], f"not JSON: {error}") from None
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at `$")
        unknown = "extra_forbidden" if "unknown field" in message else "value_error"
        raise _unprocessable(unknown, _steps(where.rstrip("`")), message) from None


def _steps(path: str) -> list[str | int]:
    """`.requests[0].turns` as steps; `[...]` stands for any key of an object."""
    steps = re.findall(r"\.([^.\[]+)|\[(\d+)\]", path)
    return [name or int(index) for name, index in steps]


def _unprocessable(kind: str, where: list[str | int], message: str) -> Refusal:
    return Refusal(422, [{"type": kind, "loc": ["body", *where], "msg": message}])


def row_of(request: RewardRequest) -> Row:
    """A conversation as a row: the inverse of a row's thread.

    The last turn, where it is the assistant's, is the sample; else there is none. The metadata is the item, with the
    turns before the sample as its `messages`.
    """
    turns = [{"role": turn.role, "content": turn.content} for turn in request.turns]
    sample = turns.pop()["content"] if turns and turns[-1]["role"] == "assistant" else None
    return {"item": {**(request.metadata or {}), "messages": turns}, "sample": sample}


def rows_of(asked: RemoteReward) -> list[Row]:
    """OpenRLHF's columns as rows. Raises Refusal, 422."""
    count = len(asked.query)
    for name, column in (("prompts", asked.prompts), ("labels", asked.labels)):
        if column is not None and len(column) != count:
            message = f"{len(column)} {name} for {count} queries; there must be as many"
            raise _unprocessable("value_error", [name], message)
    return openrlhf.rows_of(asked.query, asked.prompts, asked.labels)


# How templates of chats begin the assistant's turn.
_BEGINS = re.compile(
    r"<\|im_start\|>assistant\n|<\|start_header_id\|>assistant<\|end_header_id\|>\n+|<start_of_turn>model\n|\[/INST\]"
    r"|<｜Assistant｜>|<\|assistant\|>\n?|\bAssistant:"
)


def rows_of_texts(asked: Conversations) -> list[Row]:
    """LLaMA-Factory's texts as rows: the sample is what follows the mark of the assistant's last turn, or all of it
    where there is no mark that we know."""
    rows = []
    for text in asked.messages:
        begins = [match.end() for match in _BEGINS.finditer(text)]
        start = begins[-1] if begins else 0
        item = {"query": text, "prompt": text[:start]}
        rows.append({"item": item, "sample": openrlhf.without_end_marks(text[start:]).strip()})
    return rows


def response(result: Result, number: int | None = None) -> dict[str, Any]:
    """A result as the contract has it. A row that failed has reward 0 and says so in its metadata."""
    told: dict[str, Any] = {"status": result.status, "passed": result.passed}
    more = {
        "reason": _reason(result),
        "error": result.error,
        "skipped": result.skipped,
        "sub_rewards": result.sub_rewards,
        "warnings": list(result.warnings),
        "printed": result.printed,
    }
    told.update((key, value) for key, value in more.items() if value)
    return {"reward": result.reward, "metadata": told, "id": number}


def _reason(result: Result) -> str | None:
    """Why the reward is what it is, in the words of whoever gave it."""
    said = [
        step["conclusion"] or step["description"]
        for judgement in result.judgements
        for step in judgement.value.get("steps") or []
    ]
    return " ".join(said) or result.error or result.skipped or result.printed


_NAN = msgspec.Raw(b"NaN")
"""No JSON, and yet what Python's reader takes for not a number."""


def remote_rewards(spec: GraderSpec, results: Sequence[Result], masked: bool = False) -> dict[str, Any]:
    """As OpenRLHF reads it: `rewards` to learn from, `scores` to filter by, `extra_logs` to plot; numbers all.

    A row that failed has 0 and `fairmark/error` 1. `masked`: its score is NaN, by which dynamic filtering drops its
    group.
    """
    rewards = [result.reward_or(0.0) for result in results]
    scores = [_NAN if masked and not result.ok else reward for result, reward in zip(results, rewards, strict=True)]
    return {"rewards": rewards, "scores": scores, "extra_logs": openrlhf.extra_logs(spec, results)}


def plain_scores(results: Sequence[Result]) -> dict[str, Any]:
    """As LLaMA-Factory reads it: numbers and nothing beside them, so that the log alone tells of failures."""
    return {"scores": [result.reward_or(0.0) for result in results]}
