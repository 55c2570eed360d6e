"""Graders over HTTP: run one, validate one, and rewards for many rows. The hot routes: plain handlers, no framework.

A grader that computes is graded right here, between two looks at the network. One that waits is awaited, and dropped
when whoever asked for it goes away.
"""

import contextlib
import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from fairmark import jsontext
from fairmark.errors import InvalidGrader
from fairmark.judges.base import Budget
from fairmark.refusals import invalid, invalid_grader, missing, wrong_type
from fairmark.run import CONTEXT, Deadline, grade_parts, read_deadline, shared_context
from fairmark.serving.grading import NOT_READ, QUICK_BYTES, Rewards, known_grader, validation
from fairmark.serving.presence import unless_gone
from fairmark.serving.wire import State, decode_object, read_body

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


_read_run = msgspec.json.Decoder(_RunBody).decode
_read_validate = msgspec.json.Decoder(_ValidateBody).decode
_read_rewards = msgspec.json.Decoder(_RewardsBody).decode


async def run(scope: Scope, receive: Receive, send: Send) -> None:
    """POST /v1/fine_tuning/alpha/graders/run: grade one sample."""
    body = await read_body(receive)
    try:
        given = _read_run(body)
    except NOT_READ:
        given = _run_body(decode_object(body))
    known = await known_grader(scope["fairmark"], scope["project"], given.grader)
    item, sample = _item(given), given.model_sample
    if not isinstance(sample, (str, dict)):
        raise wrong_type("model_sample", "a string or an object", sample)
    state: State = scope["fairmark"]
    if len(body) < QUICK_BYTES and not known.waits:
        result = (await grade_parts(known.spec, [(item, sample)], CONTEXT))[0]
    else:
        grading = grade_parts(known.spec, [(item, sample)], shared_context(owner=scope["project"]))
        result = (await unless_gone(receive, grading))[0]
    state.metrics.graded([result])
    await _send(send, known.encoder.encode(result))


def _run_body(given: Mapping[str, Any]) -> _RunBody:
    grader = _given_grader(given)
    if "model_sample" not in given:
        raise missing("model_sample", "It takes a string.")
    reference = given.get("reference_answer", msgspec.UNSET)
    return _RunBody(grader, given["model_sample"], given.get("item"), reference)


def _item(given: _RunBody) -> dict[str, Any] | None:
    """The item; a reference_answer is a field of it, unless it has one itself."""
    item = given.item
    if item is not None and not isinstance(item, dict):
        raise wrong_type("item", "an object", item)
    if given.reference_answer is msgspec.UNSET:
        return item
    return {"reference_answer": given.reference_answer, **(item or {})}


def _given_grader(given: Mapping[str, Any]) -> msgspec.Raw:
    if "grader" not in given:
        raise missing("grader", "It takes an object.")
    return _unread(given["grader"])


def _unread(value: Any) -> msgspec.Raw:
    """JSON again, of whatever JSON can hold: half an emoji, a number of a hundred digits."""
    return msgspec.Raw(json.dumps(value).encode())


async def validate_grader(scope: Scope, receive: Receive, send: Send) -> None:
    """POST /v1/fine_tuning/alpha/graders/validate: check a grader without running anything."""
    body = await read_body(receive)
    try:
        grader = _read_validate(body).grader
    except NOT_READ:
        grader = _given_grader(decode_object(body))
    found = await validation(scope["fairmark"], scope["project"], bytes(grader))
    if not found.valid:
        refusal = invalid_grader(InvalidGrader(found.errors))
        refusal.extra["valid"] = False
        raise refusal
    await _send(send, jsontext.encode({"grader": found.grader, "valid": True, "warnings": found.warnings}))


async def rewards(scope: Scope, receive: Receive, send: Send) -> None:
    """POST /v1/rewards: grade many rows; the results in their order, as one JSON object or as lines."""
    body = await read_body(receive)
    try:
        given = _read_rewards(body)
    except NOT_READ:
        given = _rewards_body(decode_object(body))
    state, project = scope["fairmark"], scope["project"]
    known = await known_grader(state, project, given.grader)
    job = Rewards(state, project, known, given.rows, _budget(given.budget), _deadline(given.deadline_s))
    as_lines = given.stream or NDJSON in dict(scope["headers"]).get(b"accept", b"")
    sending = _send_lines(send, job.chunks()) if as_lines else _send_list(send, job.chunks())
    if job.may_take_long:
        await unless_gone(receive, sending)
    else:
        await sending


def _rewards_body(given: Mapping[str, Any]) -> _RewardsBody:
    grader = _given_grader(given)
    rows, stream = given.get("rows"), given.get("stream", False)
    if "rows" not in given:
        raise missing("rows", "It takes a list of objects.")
    if not isinstance(rows, list):
        raise wrong_type("rows", "a list", rows)
    if not isinstance(stream, bool):
        raise wrong_type("stream", "true or false", stream)
    return _RewardsBody(grader, [_unread(row) for row in rows], stream, given.get("budget"), given.get("deadline_s"))


def _budget(given: Any) -> Budget | None:
    if given is None:
        return None
    if not isinstance(given, dict):
        raise wrong_type("budget", "an object", given)
    for name, limit in given.items():
        if name not in ("tokens", "dollars"):
            raise invalid(f"budget.{name}: unknown. Use: tokens, dollars.", f"budget.{name}", "unknown_parameter")
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, float)) or limit < 0):
            raise wrong_type(f"budget.{name}", "a number, 0 or more", limit)
    return Budget(given.get("tokens"), given.get("dollars"))


def _deadline(given: Any) -> Deadline | None:
    try:
        return read_deadline(given)
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


HANDLERS: dict[str, ASGIApp] = {RUN: run, VALIDATE: validate_grader, REWARDS: rewards}
