"""What comes over the wire and what goes back: requests into rows, results into responses."""

import re
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from fairmark import jsontext
from fairmark.errors import Refusal
from fairmark.result import Result

T = TypeVar("T")

Row = dict[str, Any]


class Turn(msgspec.Struct, forbid_unknown_fields=True):
    role: str
    content: str


class Request(msgspec.Struct, forbid_unknown_fields=True):
    turns: list[Turn]
    metadata: dict[str, Any] | None
    id: int | None = None


class Batch(msgspec.Struct, forbid_unknown_fields=True):
    requests: list[Request]


class RemoteReward(msgspec.Struct):
    """What OpenRLHF sends. `query` is prompt and answer in one text, as the model's tokenizer writes them."""

    query: list[str]
    prompts: list[str] | None = None
    labels: list[Any] | None = None


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


def row_of(request: Request) -> Row:
    """A conversation as a row: the inverse of a row's thread.

    The last turn, where it is the assistant's, is the sample; else there is none. The metadata is the item, with the
    turns before the sample as its `messages`.
    """
    turns = [{"role": turn.role, "content": turn.content} for turn in request.turns]
    sample = turns.pop()["content"] if turns and turns[-1]["role"] == "assistant" else None
    return {"item": {**(request.metadata or {}), "messages": turns}, "sample": sample}


# How tokenizers mark the end of a turn. OpenRLHF decodes with these left in.
_ENDS = re.compile(r"(?:\s*(?:<\|[^|<>\s]{1,40}\|>|<｜[^｜<>\s]{1,40}｜>|</s>|<eos>|<end_of_turn>|<pad>))+\s*\Z")


def rows_of(given: RemoteReward) -> list[Row]:
    """OpenRLHF's columns as rows. The sample is the query without its prompt and without the marks at its end.

    The item has `query`, `prompt` and `label`, and the fields of a label that is an object.
    """
    count = len(given.query)
    for name, column in (("prompts", given.prompts), ("labels", given.labels)):
        if column is not None and len(column) != count:
            message = f"{len(column)} {name} for {count} queries; there must be as many"
            raise _unprocessable("value_error", [name], message)
    prompts: Sequence[str] = given.prompts or [""] * count
    labels = given.labels or [None] * count
    rows = []
    for query, prompt, label in zip(given.query, prompts, labels, strict=True):
        more = label if isinstance(label, dict) else {}
        item = {**more, "query": query, "prompt": prompt, "label": label}
        rows.append({"item": item, "sample": _ENDS.sub("", query.removeprefix(prompt))})
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


def remote_rewards(results: Sequence[Result]) -> dict[str, Any]:
    """As OpenRLHF reads it: `rewards` to learn from, `scores` to filter by, `extra_logs` to plot; numbers all.

    Names in `extra_logs` have our prefix: the trainer puts them beside its own.
    """
    rewards = [result.reward for result in results]
    logs = {"fairmark/error": [float(result.status == "error") for result in results]}
    for name in dict.fromkeys(name for result in results for name in result.grade.sub_rewards):
        logs[f"fairmark/{name}"] = [result.grade.sub_rewards.get(name, 0.0) for result in results]
    return {"rewards": rewards, "scores": rewards, "extra_logs": logs}
