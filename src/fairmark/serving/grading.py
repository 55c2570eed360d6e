"""Grading for somebody who waits at one of our doors: graders that were seen before, and rewards for many rows.

The road of a grade sees to it that nobody else on the event loop has to wait.
"""

import contextlib
from collections.abc import AsyncGenerator, Iterable
from typing import Any

import msgspec

from fairmark import jsontext
from fairmark.errors import InvalidGrader
from fairmark.graders import grades_by_itself, waits
from fairmark.judges.base import Budget
from fairmark.parse import Validation, aparse
from fairmark.readiness import avalidate
from fairmark.references import may_hold
from fairmark.refusals import cannot_grade, invalid_grader
from fairmark.result import Result
from fairmark.run import Deadline, graded_chunks, shared_context
from fairmark.serving.results import Encoder
from fairmark.serving.wire import State
from fairmark.spec import GraderSpec

QUICK_BYTES = 4_000
QUICK_ROWS = 512
"""What is longer, or more, may take long: it is dropped when whoever asked goes away."""
REMEMBERED_GRADERS = 512
REMEMBERED_GRADER_BYTES = 8_192
"""A grader that is read takes many times the memory of its JSON. Longer ones are remembered by `parse`, as they fit."""

_read_rows = msgspec.json.Decoder(list[Any]).decode
NOT_READ = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""The quick road did not work: the slow one knows what is wrong, or reads what is only unusual."""


class KnownGrader:
    """A grader that was parsed before, and how its results are written."""

    __slots__ = ("encoder", "spec", "waits")

    def __init__(self, spec: GraderSpec) -> None:
        self.spec = spec
        self.waits = waits(spec)
        self.encoder = Encoder(spec)


_known: dict[bytes, KnownGrader] = {}


async def known_grader(state: State, project: str, given: msgspec.Raw) -> KnownGrader:
    """The grader, whose JSON nobody has read yet. Raises ApiError with all that is wrong with it."""
    text = bytes(given)
    known = _known.get(text)
    if known is not None:
        return known
    try:
        if may_hold(text):  # then it counts whose the references are, and for how long they lead there
            known = state.registry.remembered(project, text, _knowable)
            return await state.registry.made(project, text, _knowable) if known is None else known
        known = _knowable(await aparse(text))
    except InvalidGrader as error:
        raise invalid_grader(error) from None
    if len(text) <= REMEMBERED_GRADER_BYTES:
        if len(_known) >= REMEMBERED_GRADERS:
            del _known[next(iter(_known))]
        _known[text] = known
    return known


def _knowable(spec: GraderSpec) -> KnownGrader:
    if not grades_by_itself(spec):
        raise cannot_grade()
    return KnownGrader(spec)


async def validation(state: State, project: str, text: str | bytes) -> Validation:
    """What is to be said about a grader's JSON, its references followed."""
    try:
        return await avalidate(await state.registry.spec(project, text) if may_hold(text) else text)
    except InvalidGrader as error:
        return Validation(False, errors=error.problems)


class Rewards:
    """One request for many rewards: its rows are read, graded and written in chunks, so that few are in memory."""

    def __init__(
        self,
        state: State,
        project: str,
        known: KnownGrader,
        rows: list[msgspec.Raw],
        budget: Budget | None,
        deadline: Deadline | None = None,
    ) -> None:
        self._state = state
        self._known = known
        self._rows = rows
        self._context = shared_context(None, budget, project)
        self._deadline = deadline

    @property
    def may_take_long(self) -> bool:
        if self._known.waits or len(self._rows) > QUICK_ROWS:
            return True
        return any(_length(row) > QUICK_BYTES for row in self._rows)

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
    except NOT_READ:
        return [_read_slowly(bytes(row)) for row in rows]


def _read_slowly(row: bytes) -> Any:
    try:
        return jsontext.decode(row)
    except jsontext.NotJson as error:  # too deep, or a number too long: the row fails alone
        return f"unreadable: {error}"
