"""Grading for somebody who waits at one of our doors: graders that were seen before, and rewards for many rows.

The road of a grade sees to it that nobody else on the event loop has to wait.
"""

import contextlib
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from fairmark import jsontext, longjson
from fairmark.errors import InvalidGrader
from fairmark.graders import grades_by_itself, paid, waits
from fairmark.judges.base import Budget
from fairmark.longjson import LONG
from fairmark.parse import Validation, aparse
from fairmark.readiness import avalidate
from fairmark.references import may_hold
from fairmark.refusals import cannot_grade, invalid_grader
from fairmark.result import Encoder, Result
from fairmark.row import UnreadItem
from fairmark.run import Deadline, graded_chunks, shared_context
from fairmark.serving.metrics import Metrics
from fairmark.serving.wire import State
from fairmark.spec import GraderSpec

QUICK_BYTES = 4_000
QUICK_ROWS = 512
"""What is longer, or more, may take long: it is dropped when whoever asked goes away."""
READ_ROWS, READ_BYTES = 64, 64_000
"""Rows read at once, until they are so many bytes."""
REMEMBERED_GRADERS = 512
REMEMBERED_GRADER_BYTES = 8_192
"""A grader that is read takes many times the memory of its JSON. Longer ones are remembered by `parse`, as they fit."""

_read_rows = msgspec.json.Decoder(list[Any]).decode
NOT_READ = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""The quick road did not work: the slow one knows what is wrong, or reads what is only unusual."""


class KnownGrader:
    """A grader that was parsed before, and how its results are written."""

    __slots__ = ("encoder", "paid", "spec", "waits")

    def __init__(self, spec: GraderSpec) -> None:
        self.spec = spec
        self.waits = waits(spec)
        self.paid = self.waits and paid(spec)
        self.encoder = Encoder(spec)


_known: dict[bytes, KnownGrader] = {}


def note_graded(metrics: Metrics, results: Sequence[Result]) -> None:
    """For the metrics, and the traces where some are sent."""
    if metrics.telemetry is not None:
        metrics.telemetry.graded(results)
    for result in results:
        metrics.rows.add(result.spec.type, result.status)
        for judgement in result.grade.judgements:
            if judgement.attempts:  # otherwise it came from the cache and cost nothing
                metrics.spent(judgement.model, judgement.usage.prompt_tokens, judgement.usage.completion_tokens)
                metrics.dollars.add(by=judgement.cost or 0.0)


async def known_grader(state: State, project: str, grader: msgspec.Raw) -> KnownGrader:
    """The grader, whose JSON nobody has read yet. Raises ApiError with all that is wrong with it."""
    text = bytes(grader)
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


class LongRowRead(NamedTuple):
    """A row that was read before its turn, because that takes long."""

    value: Any


GivenRow = msgspec.Raw | LongRowRead


class Rewards:
    """One request for many rewards: its rows are read, graded and written in chunks, so that few are in memory."""

    def __init__(
        self,
        state: State,
        project: str,
        known: KnownGrader,
        rows: Sequence[GivenRow],
        budget: Budget | None,
        deadline: Deadline | None = None,
    ) -> None:
        self._state = state
        self._known = known
        self._rows = rows
        self._context = shared_context(None, state.limits.budget(project, budget) if known.paid else budget, project)
        self._deadline = deadline

    @property
    def may_take_long(self) -> bool:
        if self._known.waits or len(self._rows) > QUICK_ROWS:
            return True
        return any(_bytes_of(row) > QUICK_BYTES for row in self._rows)

    async def chunks(self) -> AsyncGenerator[list[bytes], None]:
        """The results as JSON, in the order of the rows."""
        async with contextlib.aclosing(self.results()) as graded:
            async for results in graded:
                yield self._known.encoder.encode_all(results)

    async def results(self) -> AsyncGenerator[list[Result], None]:
        graded = graded_chunks(self._known.spec, _read_in_turns(self._rows), self._context, self._deadline)
        async with contextlib.aclosing(graded):
            async for results in graded:
                note_graded(self._state.metrics, results)
                yield results


def read_long_row(row: msgspec.Raw) -> GivenRow:
    """A row that is long, with its item left to whoever grades it; any other as it is. To be called in a thread."""
    if _bytes_of(row) <= LONG:
        return row
    fields = longjson.members(bytes(row))
    item = bytes(fields.pop("item", b""))
    if len(item) <= LONG or item[:1] != b"{":
        return LongRowRead(longjson.decode(bytes(row)))
    read = {name: longjson.decode(bytes(value)) for name, value in fields.items()}
    return LongRowRead({**read, "item": UnreadItem(item)})


def _bytes_of(row: GivenRow) -> int:
    return LONG if isinstance(row, LongRowRead) else memoryview(row).nbytes


def _read_in_turns(rows: Sequence[GivenRow]) -> Iterator[Any]:
    """The rows, read as they are needed: so many at once that nobody waits long for the interpreter."""
    some: list[msgspec.Raw] = []
    size = 0
    for row in rows:
        if some and (size > READ_BYTES or len(some) >= READ_ROWS or isinstance(row, LongRowRead)):
            yield from _read(some)
            some, size = [], 0
        if isinstance(row, LongRowRead):
            yield row.value
            continue
        some.append(row)
        size += _bytes_of(row)
    if some:
        yield from _read(some)


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
