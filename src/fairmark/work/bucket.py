"""A rate: so much a minute, with a little saved up for those who come first."""

import math


class Bucket:
    """Fills evenly, up to `holds`. Without a rate it is never empty."""

    __slots__ = ("_a_second", "_at", "_holds", "_level")

    def __init__(self, a_minute: float | None, holds: float) -> None:
        self._a_second = a_minute / 60 if a_minute else 0.0
        self._level = self._holds = max(1.0, holds)
        self._at = -math.inf

    @classmethod
    def evenly(cls, a_minute: float | None) -> "Bucket":
        """One that holds what may go within a second: the first do not wait, and all others go evenly."""
        return cls(a_minute, (a_minute or 0.0) / 60)

    def delay(self, amount: float, now: float) -> float:
        """Seconds until there is enough. More than the bucket holds goes when it is full, and is then owed."""
        if not self._a_second:
            return 0.0
        self._level = min(self._holds, self._level + (now - self._at) * self._a_second)
        self._at = now
        missing = min(amount, self._holds) - self._level
        return missing / self._a_second if missing > 1e-6 else 0.0  # what rounding leaves is nothing to wait for

    def take(self, amount: float) -> None:
        if self._a_second:
            self._level -= amount
