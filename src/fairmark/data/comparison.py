"""Up to six runs side by side, wherever they come from: what each made of every row, and how the others differ from the
first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fairmark import fragments
from fairmark.data import comparing
from fairmark.data.comparing import MOST_RUNS, Compared, Measure, Outcomes
from fairmark.data.pairing import Column, Flipped, flipped, pair
from fairmark.data.warnings import Counted
from fairmark.errors import InvalidData

MOST_FLIPPED = 1_000
"""So many rows that flipped are held of each criterion, and each way."""


@dataclass
class Side:
    """One run: what is known of it, and its rows by criterion."""

    name: str
    columns: dict[str, Column] = field(default_factory=dict)
    without_threshold: set[str] = field(default_factory=set)
    """Criteria that say neither pass nor fail: they are compared by their mean reward."""
    graders: Mapping[str, str] = field(default_factory=dict)
    """Of each criterion what it was, as a hash; empty where only `mark` is known."""
    mark: str | None = None
    """`results.fingerprint` of all graders together; None where nobody knows."""
    data: str | None = None
    """A hash of the data file; None where nobody knows."""
    cost: float | None = None
    """Dollars."""
    seconds: float | None = None
    warned: Counted = field(default_factory=Counted)
    """What its rows have to be warned of: they were graded, and probably not as they were meant."""

    @property
    def rows(self) -> int:
        return max(map(len, self.columns.values()), default=0)


class Flips(NamedTuple):
    """The rows of one criterion that passed in one of two runs only, by their numbers from 1."""

    gained: list[tuple[int, int]]
    lost: list[tuple[int, int]]


class CriterionComparison(NamedTuple):
    """One criterion of all runs."""

    name: str
    measure: Measure
    outcomes: list[Outcomes | None]
    """Of each run; None where it has no such criterion."""
    values: list[float | None]
    """The pass rate or the mean reward of each run, over the rows that it graded."""
    compared: list[Compared | None]
    """Of each run but the first."""
    flips: list[Flips | None]


class Comparison(NamedTuple):
    sides: list[Side]
    criteria: list[CriterionComparison]
    notes: list[str]
    """What makes them less comparable than they look."""

    @property
    def worse(self) -> list[tuple[str, CriterionComparison, Compared]]:
        """What a run lost, as its rows show: the run's name, and by which criterion."""
        return [
            (side.name, criterion, compared)
            for criterion in self.criteria
            for side, compared in zip(self.sides[1:], criterion.compared, strict=True)
            if compared is not None and compared.verdict == "worse"
        ]

    def __repr__(self) -> str:
        """Short: the rows of all sides are in it."""
        return f"<Comparison of {', '.join(side.name for side in self.sides)}: {len(self.criteria)} criteria>"

    def __str__(self) -> str:
        from fairmark.data import comparison_forms  # stands on this module

        return comparison_forms.as_table(self)

    def _repr_html_(self) -> str:
        from fairmark.data import comparison_forms  # as above

        return fragments.frame(comparison_forms.as_html(self), "Runs compared")


def compare_sides(sides: Sequence[Side]) -> Comparison:
    """All runs with the first, by every criterion of it that another has too.

    Raises InvalidData where there is none."""
    if not 2 <= len(sides) <= MOST_RUNS:
        raise InvalidData(f"found {len(sides)} runs. From 2 to {MOST_RUNS} can be compared.")
    first, *others = sides
    names = [name for name in first.columns if any(name in other.columns for other in others)]
    if not names:
        criteria_of_sides = "; ".join(f"{side.name} has {', '.join(side.columns) or 'none'}" for side in sides)
        raise InvalidData(
            f"these runs have no criterion of the same name, so that nothing can be compared: {criteria_of_sides}."
        )
    pairs = [(name, other) for name in names for other in others if name in other.columns]
    compared = comparing.corrected([_compare(name, first, other) for name, other in pairs])
    compared_by = {(name, id(other)): one for (name, other), one in zip(pairs, compared, strict=True)}
    criteria = [
        CriterionComparison(
            name,
            _measure(name, sides),
            [side.columns[name].counts() if name in side.columns else None for side in sides],
            [_value(name, side, _measure(name, sides)) for side in sides],
            [compared_by.get((name, id(other))) for other in others],
            [_flips(first.columns[name], other.columns[name]) if name in other.columns else None for other in others],
        )
        for name in names
    ]
    return Comparison(list(sides), criteria, _notes(first, others, criteria))


def _measure(name: str, sides: Sequence[Side]) -> Measure:
    return "mean reward" if any(name in side.without_threshold for side in sides) else "pass rate"


def _compare(name: str, first: Side, other: Side) -> Compared:
    one, two = first.columns[name], other.columns[name]
    return comparing.compare(one.counts(), two.counts(), pair(one, two), _measure(name, (first, other)))


def _value(name: str, side: Side, measure: Measure) -> float | None:
    if name not in side.columns:
        return None
    column = side.columns[name]
    counts = column.counts()
    if measure == "pass rate" or not counts.graded:
        return counts.pass_rate
    return column.total() / counts.graded


def _flips(first: Column, second: Column) -> Flips:
    flips = Flips([], [])
    for row in flipped(first, second):
        rows = flips.gained if row.gained else flips.lost
        if len(rows) < MOST_FLIPPED:
            rows.append(_from_one(row))
    return flips


def _from_one(row: Flipped) -> tuple[int, int]:
    return row.first + 1, row.second + 1


def _notes(first: Side, others: Sequence[Side], criteria: Sequence[CriterionComparison]) -> list[str]:
    notes = []
    names = [criterion.name for criterion in criteria]
    for side in (first, *others):
        notes += [f"{side.name}: {told}" for told in side.warned.brief()]
    for index, other in enumerate(others):
        both = f"{first.name} and {other.name}"
        if first.graders and other.graders:
            changed = [name for name in names if name in other.graders and first.graders[name] != other.graders[name]]
            if changed:
                notes.append(f"The graders of {both} are not the same: {', '.join(changed)}.")
        elif first.mark is not None and other.mark is not None and first.mark != other.mark:
            notes.append(f"The graders of {both} are not all the same, or more than these.")
        for criterion in criteria:
            compared = criterion.compared[index]
            if compared is None:
                notes.append(f"{other.name} has no criterion {criterion.name}.")
            elif any(alone := compared.alone):
                told = " and ".join(
                    f"{count:,} of {side.name}" for count, side in zip(alone, (first, other), strict=True) if count
                )
                notes.append(f"{criterion.name}: rows without a partner: {told}.")
        are_others = first.data is not None and other.data is not None and first.data != other.data
        if are_others and any(compared is not None and any(compared.alone) for compared in _of(criteria, index)):
            notes.append(f"The data of {both} are not the same file: only rows of equal items are compared.")
    return notes


def _of(criteria: Sequence[CriterionComparison], index: int) -> list[Compared | None]:
    return [criterion.compared[index] for criterion in criteria]
