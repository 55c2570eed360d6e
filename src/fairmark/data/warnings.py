"""The warnings of many rows, each told once with how many rows had it."""

from collections.abc import Iterable, Mapping

from fairmark.row import NO_SAMPLE

MOST = 50
"""Different warnings that are kept; some hold a row's own values, and no two are the same."""


FEW = 3


class Counted:
    """Counts warnings by their text, in the order in which they turned up.

    `counts` can be stored and merged: `Counted.of(stored).merge(other.counts)`.
    """

    __slots__ = ("counts", "others")

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.others = 0
        """Rows' warnings beyond the MOST that are told apart."""

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> "Counted":
        made = cls()
        made.merge(counts)
        return made

    def add(self, warnings: Iterable[str]) -> None:
        """What one row had to be warned of."""
        for text in warnings:
            self._count(text, 1)

    def merge(self, counts: Mapping[str, int]) -> None:
        for text, count in counts.items():
            self._count(text, count)

    def _count(self, text: str, count: int) -> None:
        if text and (text in self.counts or len(self.counts) < MOST):  # a run has stored others as ""
            self.counts[text] = self.counts.get(text, 0) + count
        else:
            self.others += count

    @property
    def without_sample(self) -> int:
        """Rows that a grader asked for a sample and that had none."""
        return sum(count for text, count in self.counts.items() if text.startswith(NO_SAMPLE))

    def told(self, rows: int) -> list[str]:
        """A line for each, for people: how many of so many rows, and what."""
        lines = [f"{count:,} of {rows:,} rows: {text}" for text, count in self.counts.items()]
        if self.others:
            lines.append(f"{self.others:,} more warnings are not shown.")
        return lines

    def brief(self) -> list[str]:
        """The most frequent few, where there is more to say than warnings."""
        ordered = sorted(self.counts.items(), key=lambda pair: -pair[1])
        lines = [f"{count:,} × {text}" for text, count in ordered[:FEW]]
        left_out = self.others + sum(count for _, count in ordered[FEW:])
        return [*lines, f"{left_out:,} more warnings."] if left_out else lines
