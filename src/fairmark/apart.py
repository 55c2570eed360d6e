"""Rows that take long to compute, graded in another process: the caller's event loop stays free, and whatever takes too
long is killed.

What takes long is told by size, whatever the kind: how many characters a grader has to go through. Some metrics take
time by the product of both texts' lengths: on a few megabytes that is minutes, which nothing inside the process could
stop.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fairmark.errors import GradingFailed, TookTooLong
from fairmark.result import Grade, Result
from fairmark.row import Row
from fairmark.spec import GraderSpec

TURN_CHARS = 16_000
"""Rows of fewer characters take no metric longer than about 15 ms; a longer one goes elsewhere."""
ROW_CHARS = 32
"""What a row costs besides its characters, in characters."""
LONG_TURN_S = 0.03
ROWS_ELSEWHERE = 64
"""Rows on their way to other processes at once, for each call."""


def in_turns(spec: GraderSpec, rows: Sequence[Row]) -> Iterator[tuple[list[Row], bool]]:
    """The rows in their order, in lists that are short enough for one turn on an event loop, or that are heavy."""
    turn: list[Row] = []
    chars = 0.0
    heavy = False
    for row in rows:
        own = _weight(spec, row)
        is_heavy = own > TURN_CHARS
        full = len(turn) >= ROWS_ELSEWHERE if heavy else chars + own > TURN_CHARS
        if turn and (is_heavy != heavy or full):
            yield turn, heavy
            turn, chars = [], 0.0
        turn.append(row)
        chars += own
        heavy = is_heavy
    if turn:
        yield turn, heavy


def _weight(spec: GraderSpec, row: Row) -> float:
    return spec.effort * (row.chars + spec.own_chars + ROW_CHARS)


def note_turn(spec: GraderSpec, turn: Sequence[Row], seconds: float) -> None:
    """Told what a turn took of the processor. One that took longer than thought, as with kinds of other packages, makes
    the next turns shorter; a single row that did makes its like heavy."""
    if seconds < LONG_TURN_S:
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

    async def _grade(self, spec: GraderSpec, row: Row, timeout_s: float) -> Result:
        from fairmark.work.crew import crew
        from fairmark.work.process import NotSent, WorkerDied

        sample = None if row.sample.is_absent else row.sample.given
        try:
            return await crew().grade(self.owner, spec, {"item": row.item, "sample": sample}, timeout_s)
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
