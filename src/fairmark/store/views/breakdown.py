"""For whom a run went well: its rows in groups by the value of a field, and which fields tell groups apart."""

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import compress
from typing import NamedTuple

from fairmark.outcomes import ERROR, FAIL, GRADED, PASS, SKIP
from fairmark.store.evals.facets import UNKNOWN
from fairmark.store.views.choosing import number_of, text_of
from fairmark.store.views.columns import MISSING, TOO_LONG, Columns, FieldColumn

MOST_GROUPS = 50
"""Of a field with more values, the largest ones; the others are one group."""
MOST_NUMBERS = 12
"""Different numbers that are groups of their own. More are cut into ranges with about as many rows each."""
RANGES = 5


class Group(NamedTuple):
    """Rows with one value, or with one in a range."""

    label: str
    value: str | None
    """To filter by; None where the group is no single value."""
    low: float | None
    high: float | None
    """The least and the greatest number of a range; None where it is none."""
    is_missing: bool
    passed: int
    failed: int
    errored: int
    skipped: int
    mean: float | None
    """Of one criterion's rewards; None where none was asked for or graded."""
    spread: tuple[int, ...] = ()
    """How many rewards lie where, from the least to the greatest of all groups; empty where there is no mean."""

    @property
    def rows(self) -> int:
        return self.passed + self.failed + self.errored + self.skipped


class FieldDifference(NamedTuple):
    """How much the groups of a field differ."""

    field: str
    groups: int
    effect: float
    """The share of the variance between rows that the groups explain, from 0 to 1, corrected for chance."""
    low: float
    high: float
    """The least and the greatest pass rate of a group that has some rows."""


BARS = 12
FEW = 5
"""Rows that a group needs for its rate to be told among the extremes."""


def differences(columns: Columns, criterion: int | None = None) -> list[FieldDifference]:
    """Of the fields that make groups, those first whose groups differ most. Fields of prose and ids make none."""
    key = ("differences", criterion)
    if key not in columns.remembered:
        by_field = [_difference(columns, name, criterion) for name in columns.fields]
        columns.remembered[key] = sorted(
            (difference for difference in by_field if difference is not None),
            key=lambda difference: (-difference.effect, difference.low - difference.high, difference.field),
        )
    ordered: list[FieldDifference] = columns.remembered[key]
    return ordered


def groups(columns: Columns, field: str, criterion: int | None = None) -> list[Group]:
    """By the value of the field, the worst first; empty where it makes no groups. By the whole row's outcome, or by one
    criterion's."""
    key = ("groups", field, criterion)
    if key not in columns.remembered:
        columns.remembered[key] = _groups(columns, field, criterion)
    made: list[Group] = columns.remembered[key]
    return made


def _difference(columns: Columns, name: str, criterion: int | None) -> FieldDifference | None:
    _, counts = _counted(columns, columns.fields[name], criterion)
    graded = [(passed, passed + failed) for passed, failed, _, _ in counts if passed + failed]
    total = sum(n for _, n in graded)
    if len(graded) < 2 or total <= len(graded):
        return None
    mean = sum(passed for passed, _ in graded) / total
    between = sum(n * (passed / n - mean) ** 2 for passed, n in graded)
    whole = total * mean * (1 - mean)
    within = (whole - between) / (total - len(graded))
    effect = max(0.0, (between - (len(graded) - 1) * within) / (whole + within)) if whole + within > 0 else 0.0
    rates = [passed / n for passed, n in graded if n >= FEW] or [passed / n for passed, n in graded]
    return FieldDifference(name, sum(map(any, counts)), effect, min(rates), max(rates))


def _groups(columns: Columns, field: str, criterion: int | None) -> list[Group]:
    column = columns.fields.get(field)
    if column is None:
        return []
    grouping, counts = _counted(columns, column, criterion)
    means: Mapping[int, float] = {}
    spreads: Mapping[int, tuple[int, ...]] = {}
    if criterion is not None and criterion < len(columns.scores):
        numbers = [grouping.group_of[code] for code in column.codes]
        means = _means(numbers, columns.outcomes[criterion], columns.scores[criterion])
        spreads = _spreads(numbers, columns.outcomes[criterion], columns.scores[criterion])
    made = [
        Group(*label, passed, failed, errored, skipped, means.get(number), spreads.get(number, ()))
        for number, (label, (passed, failed, errored, skipped)) in enumerate(zip(grouping.labels, counts, strict=True))
    ]
    return sorted((group for group in made if group.rows), key=_badness)


def _counted(columns: Columns, column: FieldColumn, criterion: int | None) -> tuple["_Grouping", list[list[int]]]:
    """The groups of a field, and how many rows of each passed, failed, errored and were skipped."""
    grouping = _grouping(column, len(columns))
    counts = [[0] * 4 for _ in grouping.labels]
    if counts:
        for outcome, mask in enumerate(_masks(columns, criterion)):
            for code, count in Counter(compress(column.codes, mask)).items():
                counts[grouping.group_of[code]][outcome] += count
    return grouping, counts


def _masks(columns: Columns, criterion: int | None) -> list[bytes]:
    """Of each outcome, which rows have it: 1 at their places."""
    key = ("masks", criterion)
    if key not in columns.remembered:
        outcomes = columns.status if criterion is None else bytearray([UNKNOWN]) * len(columns)
        if criterion is not None and criterion < len(columns.outcomes):
            outcomes = columns.outcomes[criterion]
        columns.remembered[key] = [
            bytes(outcomes).translate(bytes(number == outcome for number in range(256)))
            for outcome in (PASS, FAIL, ERROR, SKIP)
        ]
    masks: list[bytes] = columns.remembered[key]
    return masks


def _badness(group: Group) -> tuple[float, int, str]:
    graded = group.passed + group.failed
    return (group.passed / graded if graded else 2.0, -group.rows, group.label)


_Label = tuple[str, str | None, float | None, float | None, bool]


class _Grouping(NamedTuple):
    labels: list[_Label]
    group_of: list[int]
    """Of each value of the field the number of its group."""


def _grouping(column: FieldColumn, rows: int) -> _Grouping:
    """No groups where they would tell nothing."""
    sizes = column.sizes
    values = column.values
    known = [code for code in sizes if code > TOO_LONG]
    numbers = {code: number for code in known if (number := number_of(values[code])) is not None}
    if len(known) > MOST_NUMBERS and len(numbers) == len(known):
        labels, group_of = _ranges(numbers, sizes, len(values))
    else:
        # Where nearly every row has a value of its own, or prose, there is nothing to group by.
        if sizes[TOO_LONG] > rows / 2 or (len(known) > MOST_GROUPS and len(known) > rows / 4):
            return _Grouping([], [])
        labels, group_of = _single(known, sizes, column)
    if sizes[MISSING]:
        labels.append(("missing", None, None, None, True))
        group_of[MISSING] = len(labels) - 1
    return _Grouping(labels, group_of)


def _single(known: Sequence[int], sizes: Mapping[int, int], column: FieldColumn) -> tuple[list[_Label], list[int]]:
    largest = sorted(known, key=lambda code: (-sizes[code], code))
    shown, others = largest[:MOST_GROUPS], largest[MOST_GROUPS:]
    texts = [text_of(column.values[code]) for code in shown]
    labels: list[_Label] = [(text, text, None, None, False) for text in texts]
    group_of = [0] * len(column.values)
    for number, code in enumerate(shown):
        group_of[code] = number
    rest = [*others, *([TOO_LONG] if sizes.get(TOO_LONG) else [])]
    if rest:
        labels.append((f"{len(others):,} others" if others else "long texts", None, None, None, False))
        for code in rest:
            group_of[code] = len(labels) - 1
    return labels, group_of


def _ranges(numbers: Mapping[int, float], sizes: Mapping[int, int], values: int) -> tuple[list[_Label], list[int]]:
    """Ranges of numbers with about as many rows each; equal numbers are never parted."""
    ordered = sorted(numbers.items(), key=lambda pair: pair[1])
    total = sum(sizes[code] for code, _ in ordered)
    starts: list[float] = [ordered[0][1]]
    seen = 0
    for code, number in ordered:
        if number > starts[-1] and seen >= total * len(starts) / RANGES and len(starts) < RANGES:
            starts.append(number)
        seen += sizes[code]
    group_of = [0] * values
    highest = array("d", starts)
    for code, number in ordered:
        at = bisect_right(starts, number) - 1
        group_of[code] = at
        highest[at] = number
    labels: list[_Label] = [
        (f"{low:g}" if low == high else f"{low:g} to {high:g}", None, low, high, False)
        for low, high in zip(starts, highest, strict=True)
    ]
    return labels, group_of


def _means(numbers: Sequence[int], outcomes: Sequence[int], scores: Sequence[float]) -> dict[int, float]:
    sums: dict[int, float] = {}
    counts: Counter[int] = Counter()
    for number, outcome, score in zip(numbers, outcomes, scores, strict=True):
        if outcome in GRADED:
            sums[number] = sums.get(number, 0.0) + score
            counts[number] += 1
    return {number: total / counts[number] for number, total in sums.items()}


def _spreads(numbers: Sequence[int], outcomes: Sequence[int], scores: Sequence[float]) -> dict[int, tuple[int, ...]]:
    """Of each group, by the same bars for all, so that they can be compared."""
    graded = [outcome in GRADED for outcome in outcomes]
    known = list(compress(scores, graded))
    if not known:
        return {}
    low, high = min(known), max(known)
    # Halves, so that the width of what is as wide as numbers go is still one.
    width = (high / 2 - low / 2) / BARS or 1.0
    bars: dict[int, list[int]] = {}
    for number, score in zip(compress(numbers, graded), known, strict=True):
        bars.setdefault(number, [0] * BARS)[min(BARS - 1, int((score / 2 - low / 2) / width))] += 1
    return {number: tuple(counts) for number, counts in bars.items()}
