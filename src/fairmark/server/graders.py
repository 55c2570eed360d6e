"""Graders over HTTP: run one, validate one, and rewards for many rows. The hot routes: plain handlers, no framework.

A grader that computes is graded right here, between two looks at the network. One that waits is awaited, and dropped
when whoever asked for it goes away.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from starlette.types import Receive, Scope, Send

from fairmark import jsontext, longjson
from fairmark.errors import InvalidGrader
from fairmark.judges.base import Budget
from fairmark.longjson import LONG
from fairmark.refusals import invalid, invalid_grader, missing, wrong_type
from fairmark.row import UnreadItem
from fairmark.run import CONTEXT, Deadline, grade_parts, read_deadline, shared_context
from fairmark.serving.grading import (
    NOT_READ,
    QUICK_BYTES,
    GivenRow,
    LongRowRead,
    Rewards,
    known_grader,
    note_graded,
    read_long_row,
    validation,
)  # fmt: skip
from fairmark.serving.presence import unless_gone
from fairmark.serving.wire import State, decode_object

RUN = "/v1/fine_tuning/alpha/graders/run"
VALIDATE = "/v1/fine_tuning/alpha/graders/validate"
REWARDS = "/v1/rewards"

WHOLE_ANSWER_BYTES = 4_000_000
"""An answer up to this is sent at once, with its length; a longer one as it comes."""
NDJSON = b"application/x-ndjson"


class _RunBody(msgspec.Struct):
    grader: msgspec.Raw
    model_sample: Any
    item: Any = None
    reference_answer: Any = msgspec.UNSET


class _ValidateBody(msgspec.Struct):
    grader: msgspec.Raw


class _RewardsBody(msgspec.Struct):
    grader: msgspec.Raw
    rows: list[msgspec.Raw]
    stream: bool = False
    budget: Any = None
    deadline_s: Any = None


class _RewardsFields(NamedTuple):
    """The same, not read by the quick road."""

    grader: msgspec.Raw
    rows: Sequence[GivenRow]
    stream: bool
    budget: Any
    deadline_s: Any


_read_run = msgspec.json.Decoder(_RunBody).decode
_read_validate = msgspec.json.Decoder(_ValidateBody).decode
_read_rewards = msgspec.json.Decoder(_RewardsBody).decode


async def run(scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
    """POST /v1/fine_tuning/alpha/graders/run: grade one sample."""
    try:
        asked = _read_run(body) if len(body) <= LONG else await asyncio.to_thread(_long_run_body, body)
    except NOT_READ:
        asked = _run_body(decode_object(body))
    known = await known_grader(scope["fairmark"], scope["project"], asked.grader)
    item, sample = _item(asked), asked.model_sample
    if not isinstance(sample, (str, dict)):
        raise wrong_type("model_sample", "a string or an object", sample)
    state: State = scope["fairmark"]
    if len(body) < QUICK_BYTES and not known.waits:
        result = (await grade_parts(known.spec, [(item, sample)], CONTEXT))[0]
    else:
        if known.paid:
            state.limits.check_day(scope["project"])
        budget = state.limits.budget(scope["project"]) if known.paid else None
        grading = grade_parts(known.spec, [(item, sample)], shared_context(None, budget, scope["project"]))
        result = (await unless_gone(receive, grading))[0]
    note_graded(state.metrics, [result])
    await _send(send, known.encoder.encode(result))


def _run_body(fields: Mapping[str, Any]) -> _RunBody:
    grader = _given_grader(fields)
    if "model_sample" not in fields:
        raise missing("model_sample", "It takes a string.")
    reference = fields.get("reference_answer", msgspec.UNSET)
    return _RunBody(grader, fields["model_sample"], fields.get("item"), reference)


def _long_run_body(body: bytes) -> _RunBody:
    """To be called in a thread. An item that is long is left to whoever grades it."""
    try:
        fields = longjson.members(body, checked=True)
    except jsontext.NotJson:
        return _run_body(decode_object(body))
    read: dict[str, Any] = {
        name: longjson.decode(bytes(fields[name])) for name in ("model_sample", "reference_answer") if name in fields
    }
    item = bytes(fields.get("item", b"null"))
    is_unread = len(item) > LONG and item[:1] == b"{" and "reference_answer" not in fields
    read["item"] = UnreadItem(item) if is_unread else longjson.decode(item)
    return _run_body({**fields, **read})


def _item(asked: _RunBody) -> dict[str, Any] | UnreadItem | None:
    """The item; a reference_answer is a field of it, unless it has one itself."""
    item = asked.item
    if isinstance(item, UnreadItem):
        return item
    if item is not None and not isinstance(item, dict):
        raise wrong_type("item", "an object", item)
    if asked.reference_answer is msgspec.UNSET:
        return item
    return {"reference_answer": asked.reference_answer, **(item or {})}


def _given_grader(fields: Mapping[str, Any]) -> msgspec.Raw:
    if "grader" not in fields:
        raise missing("grader", "It takes an object.")
    return _unread(fields["grader"])


def _unread(value: Any) -> msgspec.Raw:
    """JSON again, of whatever JSON can hold: half an emoji, a number of a hundred digits."""
    if isinstance(value, msgspec.Raw):
        return value
    return msgspec.Raw(json.dumps(value).encode())


def _given(row: Any) -> GivenRow:
    return row if isinstance(row, LongRowRead) else _unread(row)


async def validate_grader(scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
    """POST /v1/fine_tuning/alpha/graders/validate: check a grader without running anything."""
    try:
        grader = _read_validate(body).grader
    except NOT_READ:
        grader = _given_grader(decode_object(body))
    report = await validation(scope["fairmark"], scope["project"], bytes(grader))
    if not report.valid:
        refusal = invalid_grader(InvalidGrader(report.errors))
        refusal.extra["valid"] = False
        raise refusal
    await _send(send, jsontext.encode({"grader": report.grader, "valid": True, "warnings": report.warnings}))


async def rewards(scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
    """POST /v1/rewards: grade many rows; the results in their order, as one JSON object or as lines."""
    asked: _RewardsBody | _RewardsFields
    try:
        asked = _read_rewards(body) if len(body) <= LONG else await asyncio.to_thread(_long_rewards_body, body)
    except NOT_READ:
        asked = _rewards_body(decode_object(body))
    state, project = scope["fairmark"], scope["project"]
    known = await known_grader(state, project, asked.grader)
    if known.paid:
        state.limits.check_day(project)
    job = Rewards(state, project, known, asked.rows, _budget(asked.budget), _deadline(asked.deadline_s))
    as_lines = asked.stream or NDJSON in dict(scope["headers"]).get(b"accept", b"")
    sending = _send_lines(send, job.chunks()) if as_lines else _send_list(send, job.chunks())
    if job.may_take_long:
        await unless_gone(receive, sending)
    else:
        await sending


def _rewards_body(fields: Mapping[str, Any]) -> _RewardsFields:
    grader = _given_grader(fields)
    rows, stream = fields.get("rows"), fields.get("stream", False)
    if "rows" not in fields:
        raise missing("rows", "It takes a list of objects.")
    if not isinstance(rows, list):
        raise wrong_type("rows", "a list", rows)
    if not isinstance(stream, bool):
        raise wrong_type("stream", "true or false", stream)
    return _RewardsFields(grader, [_given(row) for row in rows], stream, fields.get("budget"), fields.get("deadline_s"))


def _long_rewards_body(body: bytes) -> _RewardsFields:
    """To be called in a thread."""
    try:
        fields = longjson.members(body, checked=True)
        rows = bytes(fields.get("rows", b"null"))
        listed = list(map(read_long_row, longjson.raws(rows))) if rows[:1] == b"[" else None
    except jsontext.NotJson:
        return _rewards_body(decode_object(body))
    short = {name: fields[name] for name in ("stream", "budget", "deadline_s") if name in fields}
    read: dict[str, Any] = {name: longjson.decode(bytes(value)) for name, value in short.items()}
    if "rows" in fields:
        read["rows"] = longjson.decode(rows) if listed is None else listed
    return _rewards_body({**fields, **read})


def _budget(value: Any) -> Budget | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise wrong_type("budget", "an object", value)
    for name, limit in value.items():
        if name not in ("tokens", "dollars"):
            raise invalid(f"budget.{name}: unknown. Use: tokens, dollars.", f"budget.{name}", "unknown_parameter")
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, float)) or limit < 0):
            raise wrong_type(f"budget.{name}", "a number, 0 or more", limit)
    return Budget(value.get("tokens"), value.get("dollars"))


def _deadline(value: Any) -> Deadline | None:
    try:
        return read_deadline(value)
    except ValueError as error:
        raise invalid(str(error), "deadline_s", "invalid_type") from None


async def _send(send: Send, body: bytes) -> None:
    await _start(send, b"application/json", len(body))
    await send({"type": "http.response.body", "body": body})


async def _start(send: Send, content_type: bytes, length: int | None = None) -> None:
    headers = [(b"content-type", content_type)]
    if length is not None:
        headers.append((b"content-length", str(length).encode()))
    await send({"type": "http.response.start", "status": 200, "headers": headers})


async def _send_list(send: Send, chunks: AsyncGenerator[list[bytes], None]) -> None:
    """One JSON object. It is held until it is whole, or until it is long: then it goes out as it grows."""
    ready, size, started = [b'{"rewards":['], 0, False
    comma = b""
    async with contextlib.aclosing(chunks):
        async for results in chunks:
            part = b",".join(results)
            ready += (comma, part)
            size += len(part)
            comma = b","
            if size > WHOLE_ANSWER_BYTES or started:
                if not started:
                    await _start(send, b"application/json")
                    started = True
                await send({"type": "http.response.body", "body": b"".join(ready), "more_body": True})
                ready.clear()
    ready.append(b"]}")
    body = b"".join(ready)
    if not started:
        await _start(send, b"application/json", len(body))
    await send({"type": "http.response.body", "body": body})


async def _send_lines(send: Send, chunks: AsyncGenerator[list[bytes], None]) -> None:
    """A JSON object a line, as soon as it is there."""
    await _start(send, NDJSON)
    async with contextlib.aclosing(chunks):
        async for results in chunks:
            await send({"type": "http.response.body", "body": b"\n".join(results) + b"\n", "more_body": True})
    await send({"type": "http.response.body", "body": b""})
