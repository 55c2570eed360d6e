"""How far the judge and people agree on the rows that both have judged."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairmark.data import agreement as stats
from fairmark.data.agreement import Table, table_of
from fairmark.data.intervals import Interval, wilson
from fairmark.data.resampling import (
    FEWEST_GROUPS,
    FORMULA_FROM,
    bootstrap,
    kappa_interval,
    mean_interval,
    mean_of,
    spearman_interval,
    table_interval,
)
from fairmark.trust.sheet import Sheet
from fairmark.trust.subject import PASS, is_stepped

PAIR_SCORES = {"a": 1.0, "tie": 0.5, "b": 0.0}


@dataclass(frozen=True)
class Statistic:
    """A figure with its 95 % interval. None is undefined, for the reason that `why` gives."""

    name: str
    value: float | None
    interval: Interval | None = None
    rows: int = 0
    why: str = ""

    def dump(self) -> dict[str, Any]:
        low, high = self.interval or (None, None)
        return {
            "name": self.name, "value": self.value, "low": low, "high": high, "rows": self.rows,
            **({"undefined": self.why} if self.why else {}),
        }  # fmt: skip


@dataclass(frozen=True)
class AgainstPeople:
    """The judge against people: the main figure, the others, and what the plots show."""

    main: Statistic
    statistics: Sequence[Statistic]
    ceiling: Statistic | None
    """How far people agree among themselves; None where one alone has judged."""
    smoothness: stats.Smoothness | None
    points: Sequence[tuple[float, float]]
    """(human, judge) of each row, as shares of the range."""
    labelled: int
    tied: int
    ungraded: int
    confusion: Mapping[tuple[str, str], int] = field(default_factory=dict)


@dataclass(frozen=True)
class _Pair:
    """What people and the judge said about one row. The units are shares of the range."""

    group: str
    human: Any
    judge: Any
    human_unit: float
    judge_unit: float
    human_passes: bool
    judge_passes: bool


def compare(sheet: Sheet) -> AgainstPeople:
    pairs, ungraded = _pairs(sheet)
    tied = sum(row.is_tied for row in sheet.rows)
    groups: dict[str, list[_Pair]] = {}
    for pair in pairs:
        groups.setdefault(pair.group, []).append(pair)
    grouped = list(groups.values())
    if sheet.subject.mode == "preference":
        figures = _of_preferences(pairs, grouped, sheet.seed)
    elif sheet.subject.mode == "score":
        figures = _of_scores(sheet, pairs, grouped)
    else:
        figures = _of_labels(pairs, grouped, sheet.seed)
    confusion: dict[tuple[str, str], int] = {}
    if sheet.subject.mode != "score":
        for pair in pairs:
            confusion[str(pair.human), str(pair.judge)] = confusion.get((str(pair.human), str(pair.judge)), 0) + 1
    points = [(pair.human_unit, pair.judge_unit) for pair in pairs]
    main, *others = figures
    return AgainstPeople(
        main, [main, *others], _ceiling(sheet), _smoothness(sheet), points, len(pairs), tied, ungraded, confusion
    )


def _pairs(sheet: Sheet) -> tuple[list[_Pair], int]:
    subject = sheet.subject
    pairs, ungraded = [], 0
    for index, row in enumerate(sheet.rows):
        human = row.human
        if human is None:
            continue
        answer = sheet.base(index)
        if answer is None or answer.reward is None:
            ungraded += 1
            continue
        judge_unit, judge_passes = subject.unit(answer.reward), subject.passes(answer.reward)
        if subject.mode == "preference":
            said = answer.verdict or "tie"
            pairs.append(
                _Pair(row.group, human, said, PAIR_SCORES[human], PAIR_SCORES[said], human == "a", said == "a")
            )
            continue
        human_unit = sheet.human_unit(index) or 0.0
        if subject.mode == "score":
            passes = subject.passes(human)
            pairs.append(_Pair(row.group, human, answer.reward, human_unit, judge_unit, passes, judge_passes))
        else:
            judge = answer.verdict if subject.mode == "label" else PASS if judge_passes else "fail"
            pairs.append(_Pair(row.group, human, judge, human_unit, judge_unit, human_unit == 1.0, judge_passes))
    return pairs, ungraded


def _of_labels(pairs: list[_Pair], grouped: list[list[_Pair]], seed: int) -> list[Statistic]:
    return [_kappa(pairs, grouped, seed), _equal(pairs), *_rates(pairs)]


def _of_preferences(pairs: list[_Pair], grouped: list[list[_Pair]], seed: int) -> list[Statistic]:
    """A strict preference of people that the judge shares counts 1, a tie of the judge's half."""
    scores = [[_right(pair) for pair in group if pair.human != "tie"] for group in grouped]
    strict = [group for group in scores if group]
    accuracy, interval = mean_of(strict), mean_interval(strict, seed)
    n = sum(map(len, strict))
    ties = sum(pair.judge == "tie" for pair in pairs if pair.human != "tie")
    why = "" if n else "people prefer neither side in any row"
    main = Statistic("2 x pair accuracy - 1", _twice(accuracy), _twice_interval(interval), n, why)
    share = Statistic("judge ties", ties / n if n else None, wilson(ties, n) if n else None, n, why)
    return [
        main,
        Statistic("pair accuracy", accuracy, interval, n, why),
        share,
        _equal(pairs),
        _kappa(pairs, grouped, seed),
    ]


def _right(pair: _Pair) -> float:
    return 0.5 if pair.judge == "tie" else float(pair.judge == pair.human)


def _of_scores(sheet: Sheet, pairs: list[_Pair], grouped: list[list[_Pair]]) -> list[Statistic]:
    humans = [pair.human for pair in pairs]
    rho = _from_table("Spearman's rho", pairs, grouped, stats.spearman, sheet.seed, "a side never varies")
    figures = [rho]
    if pairs and is_stepped(sheet.subject, [*humans, *(pair.judge for pair in pairs)]):
        why = "all values are the same"
        figures.insert(0, _from_table("weighted kappa", pairs, grouped, stats.weighted_kappa, sheet.seed, why))
    order = _order(grouped, sheet.seed)
    in_groups = sum(len(group) for group in grouped if len(group) > 1)
    if order and 2 * in_groups >= len(pairs):
        figures = [*order, *figures]
    else:
        figures += order
    tau = _from_table("Kendall's tau-b", pairs, grouped, stats.kendall_tau, sheet.seed, "a side never varies", False)
    return [*figures, tau, *_distances(pairs, grouped, sheet.seed), *_rates(pairs)]


def _order(grouped: list[list[_Pair]], seed: int) -> list[Statistic]:
    """By the order within groups of several answers; none where there are no such groups."""
    orders = [stats.ordered_pairs([(pair.human, pair.judge) for pair in group]) for group in grouped]
    orders = [order for order in orders if order.pairs]
    if not orders:
        return []

    def accuracy(drawn: Sequence[stats.Ordered]) -> float | None:
        total = sum(order.pairs for order in drawn)
        return math.fsum(order.right for order in drawn) / total if total else None

    value, interval, n = accuracy(orders), bootstrap(orders, accuracy, seed), sum(order.pairs for order in orders)
    ties = sum(order.ties for order in orders)
    chains = [
        whole
        for group in grouped
        if (whole := stats.in_whole_order([(pair.human, pair.judge) for pair in group])) is not None
    ]
    return [
        Statistic("2 x pair accuracy - 1", _twice(value), _twice_interval(interval), n),
        Statistic("pair accuracy", value, interval, n),
        Statistic("judge ties", ties / n, wilson(ties, n), n),
        Statistic("chain rate", sum(chains) / len(chains), wilson(sum(chains), len(chains)), len(chains)),
    ]


def _kappa(pairs: list[_Pair], grouped: list[list[_Pair]], seed: int) -> Statistic:
    why = "judge and people gave one and the same verdict only"
    return _from_table("Cohen's kappa", pairs, grouped, stats.cohen_kappa, seed, why)


def _from_table(
    name: str,
    pairs: list[_Pair],
    grouped: list[list[_Pair]],
    statistic: Callable[[Table], float | None],
    seed: int,
    why: str,
    sure: bool = True,
) -> Statistic:
    """`sure`: with an interval."""
    table = table_of([pair.human for pair in pairs], [pair.judge for pair in pairs])
    value = statistic(table)
    if value is None:
        return Statistic(name, None, None, len(pairs), why if pairs else "there are no labelled rows")
    if len(pairs) < FEWEST_GROUPS or not sure:
        return Statistic(name, value, None, len(pairs))
    interval: Interval | None
    if len(grouped) > FORMULA_FROM and statistic is stats.spearman:
        interval = spearman_interval(value, len(grouped))
    elif len(grouped) > FORMULA_FROM and statistic is stats.cohen_kappa:
        interval = kappa_interval(table, value)
    else:
        cells = [[(pair.human, pair.judge) for pair in group] for group in grouped]
        interval = table_interval(cells, statistic, seed)
    return Statistic(name, value, interval, len(pairs))


def _equal(pairs: list[_Pair]) -> Statistic:
    same = sum(pair.human == pair.judge for pair in pairs)
    if not pairs:
        return Statistic("agreement", None, None, 0, "there are no labelled rows")
    return Statistic("agreement", same / len(pairs), wilson(same, len(pairs)), len(pairs))


def _rates(pairs: list[_Pair]) -> list[Statistic]:
    """Of pass and fail."""
    passing = [pair for pair in pairs if pair.human_passes]
    failing = [pair for pair in pairs if not pair.human_passes]
    passed = [pair for pair in pairs if pair.judge_passes]
    return [
        _proportion("sensitivity", sum(pair.judge_passes for pair in passing), len(passing), "people pass no row"),
        _proportion("specificity", sum(not pair.judge_passes for pair in failing), len(failing), "people fail no row"),
        _proportion("precision", sum(pair.human_passes for pair in passed), len(passed), "the judge passes no row"),
    ]


def _proportion(name: str, part: int, whole: int, why: str) -> Statistic:
    if not whole:
        return Statistic(name, None, None, 0, why)
    return Statistic(name, part / whole, wilson(part, whole), whole)


def _distances(pairs: list[_Pair], grouped: list[list[_Pair]], seed: int) -> list[Statistic]:
    """As shares of the range."""
    away = [[pair.judge_unit - pair.human_unit for pair in group] for group in grouped]
    far = [[abs(value) for value in group] for group in away]
    return [
        Statistic(name, mean_of(values), mean_interval(values, seed), len(pairs))
        for name, values in (("bias", away), ("mean absolute error", far))
    ]


def _twice(value: float | None) -> float | None:
    return None if value is None else 2 * value - 1


def _twice_interval(interval: Interval | None) -> Interval | None:
    return None if interval is None else Interval(2 * interval.low - 1, 2 * interval.high - 1)


def _ceiling(sheet: Sheet) -> Statistic | None:
    units = [[rating.value for rating in row.ratings] for row in sheet.rows if len(row.ratings) > 1]
    if not units:
        return None
    scale: stats.Scale = "interval" if sheet.subject.mode == "score" else "nominal"
    value = stats.krippendorff_alpha(units, scale)
    interval = bootstrap(units, lambda drawn: stats.krippendorff_alpha(drawn, scale), sheet.seed)
    why = "" if value is not None else "people gave one and the same verdict only"
    return Statistic("Krippendorff's alpha", value, interval, len(units), why)


def _smoothness(sheet: Sheet) -> stats.Smoothness | None:
    if sheet.subject.mode != "score":
        return None
    rewards = [answer.reward for row in range(len(sheet.rows)) if (answer := sheet.base(row)) is not None]
    low, high = sheet.subject.low, sheet.subject.high
    return stats.smoothness([reward for reward in rewards if reward is not None], low, high, has_levels=True)
