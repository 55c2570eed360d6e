"""Rows that take long to compute, graded in another process: the caller's event loop stays free, other cores have
something to do, and whatever takes too long is killed.

A row that alone would hold the loop goes by itself. Rows that are short go many at a time, once their grader has shown
that it takes longer than the way there and back.

What takes long is told by size, whatever the kind: how many characters a grader has to go through. Some metrics take
time by the product of both texts' lengths: on a few megabytes that is minutes, which nothing inside the process could
stop.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from fairmark.errors import GradingFailed, TookTooLong
from fairmark.result import Grade, Result
from fairmark.row import Row
from fairmark.spec import GraderSpec

TURN_CHARS = 16_000
"""Rows of fewer characters take no metric longer than about 15 ms; a longer one goes elsewhere."""
ROW_CHARS = 32
"""What a row costs besides its characters, in characters."""
LONG_TURN_S = 0.03
SURELY_LONG_S = 0.25
"""What no kind may take to read its data or to import a package when it is first used, without being taken for slow."""
ROWS_ELSEWHERE = 64
"""Rows on their way to other processes at once, for each call."""
SEND_S = 1e-3
SEND_ROW_S = 30e-6
"""What it has to take for rows to be sent to another process: so much, and so much more for each of them. The way there
and back takes about half of it."""
PARCEL_S = 0.05
PARCEL_ROWS = 256
"""Short rows that go together: so few that others' turn at the same process comes soon."""


def in_turns(spec: GraderSpec, rows: Sequence[Row]) -> Iterator[tuple[list[Row], bool]]:
    """The rows in their order, in lists that are short enough for one turn on an event loop, or that are heavy."""
    turn: list[Row] = []
    chars = 0.0
    heavy = False
    for row in rows:
        own = _weight(spec, row)
        goes_elsewhere = own > TURN_CHARS
        full = len(turn) >= ROWS_ELSEWHERE if heavy else chars + own > TURN_CHARS
        if turn and (goes_elsewhere != heavy or full):
            yield turn, heavy
            turn, chars = [], 0.0
        turn.append(row)
        chars += own
        heavy = goes_elsewhere
    if turn:
        yield turn, heavy


def is_heavy(spec: GraderSpec, row: Row) -> bool:
    """Whether the row may take longer than a turn."""
    return _weight(spec, row) > TURN_CHARS


def _weight(spec: GraderSpec, row: Row) -> float:
    return spec.effort * _chars(spec, row)


def goes_elsewhere(spec: GraderSpec) -> bool:
    """Whether short rows of this grader were last worth sending to another process."""
    return spec.__dict__.get("_goes_elsewhere") is True


def is_worth_sending(spec: GraderSpec, rows: Sequence[Row]) -> bool:
    """Whether these rows, heavy or not, should be computed by other processes: as far as is known of their grader."""
    a_char_s = spec.__dict__.get("_a_char_s", 0.0)
    is_worth = False
    if a_char_s and _has_other_cores():
        is_worth = a_char_s * sum(_chars(spec, row) for row in rows) > SEND_S + SEND_ROW_S * len(rows)
    spec.__dict__["_goes_elsewhere"] = is_worth
    return is_worth


@cache
def _has_other_cores() -> bool:
    from fairmark.work.pool import cores

    return cores() > 1


def in_parcels(spec: GraderSpec, rows: Sequence[Row]) -> Iterator[tuple[list[Row], bool]]:
    """The rows in their order, in lists that go to other processes: heavy rows, or short ones that go together."""
    most = PARCEL_S / spec.__dict__["_a_char_s"]
    parcel: list[Row] = []
    chars = 0.0
    heavy = False
    for row in rows:
        is_heavy_row, own = is_heavy(spec, row), _chars(spec, row)
        if parcel and (is_heavy_row != heavy or len(parcel) >= PARCEL_ROWS or chars + own > most):
            yield parcel, heavy
            parcel, chars = [], 0.0
        parcel.append(row)
        chars += own
        heavy = is_heavy_row
    if parcel:
        yield parcel, heavy


def note_pace(spec: GraderSpec, rows: Sequence[Row], seconds: float) -> None:
    """Told what rows took of a processor, here or elsewhere."""
    chars = sum(_chars(spec, row) for row in rows)
    before = spec.__dict__.get("_a_char_s")
    if "_stays_here" not in spec.__dict__:
        spec.__dict__["_a_char_s"] = seconds / chars if before is None else (before + seconds / chars) / 2


def _stays_here(spec: GraderSpec) -> None:
    """No other process can have it: its kind comes from a package that only this one can import."""
    spec.__dict__.update(_stays_here=True, _a_char_s=0.0, _goes_elsewhere=False)


def _chars(spec: GraderSpec, row: Row) -> int:
    return row.chars + spec.own_chars + ROW_CHARS


def note_turn(spec: GraderSpec, turn: Sequence[Row], seconds: float) -> None:
    """Told what a turn took of the processor. One that took longer than thought, as with kinds of other packages, makes
    the next turns shorter; a single row that did makes its like heavy. The first time it may have been what the kind
    reads when it is first used, and no row's doing: that counts for nothing."""
    is_long = seconds >= LONG_TURN_S
    is_first = is_long and "_was_long" not in spec.__dict__
    if is_first:
        spec.__dict__["_was_long"] = True
    if is_first and seconds < SURELY_LONG_S:
        return
    note_pace(spec, turn, seconds)
    if not is_long:
        return
    more = seconds / LONG_TURN_S
    if len(turn) == 1:
        more = max(more, 1.1 * TURN_CHARS / _weight(spec, turn[0]))
    spec.__dict__["effort"] = spec.effort * more


@dataclass(frozen=True, slots=True)
class Apart:
    """Grades rows in other processes, for one owner among several."""

    owner: str

    async def grade(self, spec: GraderSpec, rows: Sequence[Row]) -> list[Result]:
        """In the order of the rows. Never raises for what a row does. Each may take what code of users may take."""
        from fairmark.settings import settings
        from fairmark.work.eventloop import together

        timeout_s = settings().python_timeout_s
        return await together(self._grade(spec, row, timeout_s) for row in rows)

    async def grade_parcel(self, spec: GraderSpec, rows: Sequence[Row]) -> list[Result] | None:
        """Short rows together, in their order; None where they have to be graded here after all.

        A process that dies of one of them, or is stopped at the limit, takes its neighbours' grades along: then each of
        them goes alone.
        """
        from fairmark.settings import settings
        from fairmark.work.crew import crew
        from fairmark.work.process import NotSent, WorkerDied

        try:
            results = await crew().grade_all(self.owner, spec, [row.data for row in rows], settings().python_timeout_s)
        except NotSent:
            return None
        except WorkerDied as death:
            if death.knew_grader:
                return await self.grade(spec, rows)
            _stays_here(spec)
            return None
        except TimeoutError:
            return await self.grade(spec, rows)
        note_pace(spec, rows, sum(result.execution_time for result in results))
        return results

    async def _grade(self, spec: GraderSpec, row: Row, timeout_s: float) -> Result:
        from fairmark.work.crew import crew
        from fairmark.work.process import NotSent, WorkerDied

        try:
            return (await crew().grade_all(self.owner, spec, [row.data], timeout_s))[0]
        except TimeoutError:
            failure: GradingFailed = TookTooLong(f"the row was not graded within {timeout_s:g} s.")
        except NotSent:
            failure = GradingFailed("a long row must not hold broken Unicode or a number beyond 64 bits.")
        except WorkerDied as death:
            failure = GradingFailed(
                "the process that graded the row died; it may have run out of memory."
                if death.knew_grader
                else f"long rows are graded in a process of their own, and there is no kind {spec.type!r} in it. "
                "Install the package that it comes from."
            )
        return Result(spec, Grade.failed(failure), 0.0)
