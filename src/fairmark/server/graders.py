"""Graders over HTTP: run one, validate one, and rewards for many rows. The hot routes: plain handlers, no framework.

A grader that computes is graded right here, between two looks at the network. One that waits is awaited, and dropped
when whoever asked for it goes away.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Coroutine, Iterable, Mapping
from typing import Any, TypeVar

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from fairmark import jsontext
from fairmark.errors import InvalidGrader
from fairmark.graders import waits
from fairmark.judges.base import Budget
from fairmark.parse import Validation, parse, validate
from fairmark.references import may_hold
from fairmark.registry.keeping import grades_by_itself
from fairmark.result import Result
from fairmark.run import Deadline, context, grade_parts, graded_chunks, read_deadline, shared_context
from fairmark.server.results import Encoder
from fairmark.serving.wire import (
    ClientGone,
    State,
    cannot_grade,
    decode_object,
    invalid,
    invalid_grader,
    missing,
    read_body,
    wrong_type,
)
from fairmark.spec import GraderSpec

T = TypeVar("T")

RUN = "/v1/fine_tuning/alpha/graders/run"
VALIDATE = "/v1/fine_tuning/alpha/graders/validate"
REWARDS = "/v1/rewards"

ROWS_TO_HURRY = 512
"""Requests for more rows than these are watched: when whoever asked goes away, they are dropped."""
QUICK_BODY_BYTES = 4_000
"""A shorter request holds nobody up by being computed at once."""
WHOLE_ANSWER_BYTES = 4_000_000
"""An answer up to this is sent at once, with its length; a longer one as it comes."""
REMEMBERED_GRADERS = 512
REMEMBERED_GRADER_BYTES = 65_536
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
_read_rows = msgspec.json.Decoder(list[Any]).decode
_NOT_READ = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""The quick road did not work: the slow one knows what is wrong, or reads what is only unusual."""


class _Known:
    """A grader that was parsed before, and how its results are written."""

    __slots__ = ("encoder", "spec", "waits")

    def __init__(self, spec: GraderSpec) -> None:
        self.spec = spec
        self.waits = waits(spec)
        self.encoder = Encoder(spec)


_known: dict[bytes, _Known] = {}


async def known_grader(scope: Scope, given: msgspec.Raw) -> _Known:
    """The grader, whose JSON nobody has read yet. Raises ApiError with all that is wrong with it."""
    text = bytes(given)
    known = _known.get(text)
    if known is not None:
        return known
    try:
        if may_hold(text):  # then it counts whose the references are, and for how long they lead there
            state: State = scope["fairmark"]
            known = state.registry.remembered(scope["project"], text, _knowable)
            return await state.registry.made(scope["project"], text, _knowable) if known is None else known
        known = _knowable(parse(text))
    except InvalidGrader as error:
        raise invalid_grader(error) from None
    if len(text) <= REMEMBERED_GRADER_BYTES:
        if len(_known) >= REMEMBERED_GRADERS:
            del _known[next(iter(_known))]
        _known[text] = known
    return known


def _knowable(spec: GraderSpec) -> _Known:
    if not grades_by_itself(spec):
        raise cannot_grade()
    return _Known(spec)


async def run(scope: Scope, receive: Receive, send: Send) -> None:
    """POST /v1/fine_tuning/alpha/graders/run: grade one sample."""
    body = await read_body(receive)
    try:
        given = _read_run(body)
    except _NOT_READ:
        given = _run_body(decode_object(body))
    known = await known_grader(scope, given.grader)
    item, sample = _item(given), given.model_sample
    if not isinstance(sample, (str, dict)):
        raise wrong_type("model_sample", "a string or an object", sample)
    state: State = scope["fairmark"]
    if len(body) < QUICK_BODY_BYTES and not known.waits:
        result = (await grade_parts(known.spec, [(item, sample)], context(owner=scope["project"])))[0]
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
    except _NOT_READ:
        grader = _given_grader(decode_object(body))
    found = await validation(scope, bytes(grader))
    if not found.valid:
        refusal = invalid_grader(InvalidGrader(found.errors))
        refusal.extra["valid"] = False
        raise refusal
    await _send(send, jsontext.encode({"grader": found.grader, "valid": True, "warnings": found.warnings}))


async def validation(scope: Scope, text: str | bytes) -> Validation:
    """What is to be said about a grader's JSON, its references followed."""
    state: State = scope["fairmark"]
    try:
        return validate(await state.registry.spec(scope["project"], text) if may_hold(text) else text)
    except InvalidGrader as error:
        return Validation(False, errors=error.problems)


async def rewards(scope: Scope, receive: Receive, send: Send) -> None:
    """POST /v1/rewards: grade many rows; the results in their order, as one JSON object or as lines."""
    body = await read_body(receive)
    try:
        given = _read_rewards(body)
    except _NOT_READ:
        given = _rewards_body(decode_object(body))
    job = Rewards(
        scope, await known_grader(scope, given.grader), given.rows, _budget(given.budget), _deadline(given.deadline_s)
    )
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


class Rewards:
    """One request for many rewards: its rows are read, graded and written in chunks, so that few are in memory."""

    def __init__(
        self,
        scope: Scope,
        known: _Known,
        rows: list[msgspec.Raw],
        budget: Budget | None,
        deadline: Deadline | None = None,
    ) -> None:
        self._state: State = scope["fairmark"]
        self._known = known
        self._rows = rows
        self._context = shared_context(None, budget, scope["project"])
        self._deadline = deadline

    @property
    def may_take_long(self) -> bool:
        return (
            self._known.waits
            or len(self._rows) > ROWS_TO_HURRY
            or any(_length(row) > QUICK_BODY_BYTES for row in self._rows)
        )

    async def chunks(self) -> AsyncGenerator[list[bytes], None]:
        """The results as JSON, in the order of the rows."""
        async with contextlib.aclosing(self.results()) as graded:
            async for results in graded:
                yield self._known.encoder.encode_all(results)

    async def results(self) -> AsyncGenerator[list[Result], None]:
        rows = (row for start in range(0, len(self._rows), 64) for row in _read(self._rows[start : start + 64]))
        graded = graded_chunks(self._known.spec, rows, self._context, self._deadline)
        async with contextlib.aclosing(graded):
            async for results in graded:
                self._state.metrics.graded(results)
                yield results


def _length(row: msgspec.Raw) -> int:
    return memoryview(row).nbytes


def _read(rows: Iterable[msgspec.Raw]) -> list[Any]:
    """The values of rows whose JSON is known to be right."""
    try:
        return _read_rows(b"[" + b",".join(rows) + b"]")
    except _NOT_READ:
        return [_read_slowly(bytes(row)) for row in rows]


def _read_slowly(row: bytes) -> Any:
    try:
        return jsontext.decode(row)
    except jsontext.NotJson as error:  # too deep, or a number too long: the row fails alone
        return f"unreadable: {error}"


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """The work's value; it is cancelled when the client goes away, and ClientGone raised."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientGone
        return task.result()
    finally:
        gone.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait((task,))


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


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
