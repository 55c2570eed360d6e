"""When a grader that only runs into its time limit is given up: a thousand rows at two minutes each would be a day."""

import asyncio
import math
import time
from itertools import count

from fairmark.sandbox.base import Outcome, Program

TOGETHER = 0.9
"""Two timeouts that end less than this part of the limit apart were under way together."""


FIRST_S = 0.5
"""What a row may take at least while others wait for their first turn before a deadline."""
FIRST_ROWS = 50
"""And how many times as long as the rows before it."""
FIRST_SHARE = 1 / 20
"""And which part of the time that is left at most."""
SLOWER = 3
"""How many times as long as the slowest of those that were answered a row may take in any case."""

_numbers = count()


class Patience:
    """What one call or run has seen of each of its programs. Another call begins anew.

    `until`: the moment, on the monotonic clock, by which a call has to end. A row that takes long then gives way to
    those that had no turn yet, and has another when all others are done: so a few that never end take nothing from
    the rest.
    """

    __slots__ = ("_streaks", "number", "until")

    def __init__(self, until: float | None = None) -> None:
        self._streaks: dict[Program, Streak] = {}
        self.until = until
        self.number = next(_numbers)
        """Tells this call from all others of this process."""

    def with_program(self, program: Program) -> "Streak":
        if program not in self._streaks:
            self._streaks[program] = Streak(program.limits.wall_s, self.until)
        return self._streaks[program]


class Streak:
    """How many time limits a program has used up in a row without an answer to any row.

    Rows that run side by side and time out together count once, so that it does not matter how many there are; an
    answer, be it an error, ends the streak.
    """

    __slots__ = ("_at", "_limit_s", "_refused_s", "_slowest_s", "_waiting", "_waiting_ended", "timeouts", "until")

    def __init__(self, limit_s: float, until: float | None = None) -> None:
        self.timeouts = 0
        self.until = until
        self._limit_s = limit_s
        self._slowest_s = 0.0
        """What the slowest of the rows took that were answered; 0 before the first."""
        self._refused_s = 0.0
        """The longest turn that was too short while no row was answered: perhaps all of them take longer."""
        self._at = -math.inf
        self._waiting = 0
        self._waiting_ended = asyncio.Event()

    def add(self, outcome: Outcome, now: float) -> None:
        """Told what became of a row, when it did."""
        if outcome.failure != "timeout":
            self.timeouts = 0
        elif now - self._at >= TOGETHER * self._limit_s:
            self.timeouts += 1
            self._at = now

    def given_up(self) -> Outcome:
        """What becomes of the rows that are not tried any more."""
        return Outcome(
            failure="timeout",
            details=f"not tried: the grader was given up, because it took longer than {self._limit_s:g} s "
            f"{self.timeouts} times in a row",
        )

    def answered(self, row_s: float) -> None:
        """Told what a row took that was answered."""
        self._slowest_s = max(self._slowest_s, row_s)

    def refused(self, limit_s: float) -> None:
        """Told of a first turn that was too short."""
        if not self._slowest_s:
            self._refused_s = max(self._refused_s, limit_s)

    def first_limit(self, row_s: float = 0.0) -> float:
        """What a row may take at its first turn, where the rows before it took `row_s`, or 0 where nobody knows.

        Rows that all take their time are not taken for a few that never end: each may take several times what the
        slowest took that was answered, and before there is one, turns become longer.
        """
        if self.until is None:
            return self._limit_s
        left = self._left()
        most = FIRST_SHARE * left
        least = min(SLOWER * self._slowest_s, left / 2) if self._slowest_s else min(2 * self._refused_s, left / 4)
        row_s = row_s or self._slowest_s
        return min(self._limit_s, max(FIRST_S, least, min(FIRST_ROWS * row_s, most) if row_s else most / 3))

    def last_limit(self, rows: int, at_once: int) -> float:
        """What a row may take at its second turn, which it shares with so many others."""
        if self.until is None:
            return self._limit_s
        share = self._left() * at_once / (2 * max(1, rows))
        return min(self._limit_s, max(FIRST_S, SLOWER * self._slowest_s, share))

    def wait_for_turns(self, rows: int) -> None:
        """So many more rows of the call wait for their first turn, or fewer where it is negative."""
        self._waiting += rows
        if self._waiting:
            self._waiting_ended.clear()
        else:
            self._waiting_ended.set()

    @property
    def all_had_a_turn(self) -> bool:
        return self._waiting == 0

    async def until_all_had_a_turn(self) -> None:
        while self._waiting:
            await self._waiting_ended.wait()

    @property
    def whole_s(self) -> float:
        """All that a row ever gets."""
        return self._limit_s

    def is_whole(self, limit_s: float) -> bool:
        return limit_s >= self._limit_s

    def took_its_share(self) -> Outcome:
        """What becomes of a row that was not done at its second turn."""
        details = "the grader took longer than its share of the time that the deadline of the whole call left"
        return Outcome(failure="timeout", details=details)

    def too_late(self) -> Outcome:
        """What becomes of the rows that are not done when the call has to end."""
        return Outcome(failure="timeout", details="the grader took too long: the deadline of the whole call has passed")

    def _left(self) -> float:
        return 0.0 if self.until is None else max(0.0, self.until - time.monotonic())
