"""When a grader that only runs into its time limit is given up: a thousand rows at two minutes each would be a day."""

import math

from fairmark.sandbox.base import Outcome, Program

TOGETHER = 0.9
"""Two timeouts that end less than this part of the limit apart were under way together."""


class Patience:
    """What one call or run has seen of each of its programs. Another call begins anew."""

    __slots__ = ("_streaks",)

    def __init__(self) -> None:
        self._streaks: dict[Program, Streak] = {}

    def with_program(self, program: Program) -> "Streak":
        if program not in self._streaks:
            self._streaks[program] = Streak(program.limits.wall_s)
        return self._streaks[program]


class Streak:
    """How many time limits a program has used up in a row without an answer to any row.

    Rows that run side by side and time out together count once, so that it does not matter how many there are; an
    answer, be it an error, ends the streak.
    """

    __slots__ = ("_at", "_limit_s", "timeouts")

    def __init__(self, limit_s: float) -> None:
        self.timeouts = 0
        self._limit_s = limit_s
        self._at = -math.inf

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
