"""What is told of runs that are compared: by criterion the difference to the baseline, how sure it is, and in words.

What it means is said by `data/comparing.py`, the same as in the terminal; here it becomes what the page shows.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from fairmark.data import comparing, intervals
from fairmark.outcomes import PairTotals
from fairmark.store import Run
from fairmark.web.frame import show

_BAR, _BAR_HEIGHT = 160, 20


class CriterionVerdict(NamedTuple):
    """What can be said about one criterion."""

    number: int
    """Its place among the eval's criteria."""
    name: str
    kind: str
    n: int
    """Rows that both runs graded."""
    first_rate: float | None
    second_rate: float | None
    difference: float | None
    """Of the pass rates, second less first; None where one of them is not known."""
    low: float
    high: float
    p: str
    """In words, corrected for as many comparisons as are looked at together."""
    words: str
    tone: str
    """pass, fail, or nothing."""
    bar: Markup
    gained: int
    lost: int
    rewards: str
    """What the mean rewards add to that; empty where they say the same."""
    alone: str
    """Which rows have no partner; empty where all have."""
    agreement: intervals.Agreement | None
    """Of the verdicts on the rows that both have; None where there are none."""


class Beside(NamedTuple):
    """A run beside the baseline: by criteria of one name, in each by its place, what both make of the same rows."""

    letter: str
    run: Run
    criteria: Sequence[dict[str, Any]]
    """Its own."""
    shared: Sequence[tuple[int, int]]
    totals: Sequence[PairTotals]


def told(baseline: Run, criteria: Sequence[dict[str, Any]], others: Sequence[Beside]) -> list[list[CriterionVerdict]]:
    """Of each of the other runs, by the criteria that it shares with the baseline."""
    compared = iter(
        comparing.corrected(
            [
                comparing.compare(_outcomes(baseline, criteria[one]), _outcomes(other.run, other.criteria[own]), totals)
                for other in others
                for (one, own), totals in zip(other.shared, other.totals, strict=True)
            ]
        )
    )
    by_run = [[next(compared) for _ in other.shared] for other in others]
    known = [one.difference for of_run in by_run for one in of_run if one.difference is not None]
    scale = min(1.0, max([0.05, *(abs(end) for one in known for end in (one.low, one.high))]))
    return [
        [
            _told(index, criteria[place], other.letter, one, totals, scale)
            for index, ((place, _), one, totals) in enumerate(zip(other.shared, of_run, other.totals, strict=True))
        ]
        for other, of_run in zip(others, by_run, strict=True)
    ]


def _told(
    index: int, criterion: dict[str, Any], letter: str, one: comparing.Compared, totals: PairTotals, scale: float
) -> CriterionVerdict:
    difference = one.difference
    low, high = (max(-1.0, difference.low), min(1.0, difference.high)) if difference is not None else (-1.0, 1.0)
    words, tone = _words(letter, one)
    return CriterionVerdict(
        number=index,
        name=criterion["name"],
        kind=criterion["type"],
        n=one.n,
        first_rate=one.first,
        second_rate=one.second,
        difference=None if difference is None else difference.mean,
        low=low,
        high=high,
        p="" if one.p is None else _p(one.p),
        words=words,
        tone=tone,
        bar=Markup("") if difference is None else _bar(difference.mean, low, high, scale),
        gained=one.gained,
        lost=one.lost,
        rewards=_rewards(one, totals),
        alone=_alone(*one.alone, letter) if one.n else "",
        agreement=agreement(totals) if one.n else None,
    )


def agreement(totals: PairTotals) -> intervals.Agreement:
    return intervals.agreement(totals.both_passed, totals.only_first, totals.only_second, totals.both_failed)


def _words(letter: str, one: comparing.Compared) -> tuple[str, str]:
    p = "" if one.p is None else _p(one.p)
    rows = show.plural(one.n, "row") if one.n else "this many rows"
    match one.verdict:
        case "unknown":
            return "Not graded in both runs, so that nothing can be said.", ""
        case "same":
            return "The same on every row.", ""
        case "unsure":
            return f"No difference that {rows} could show, {p}", ""
        case "better":
            return f"{letter} is better, {p}", "pass"
        case "worse":
            return f"{letter} is worse, {p}", "fail"


def _rewards(one: comparing.Compared, totals: PairTotals) -> str:
    """What the mean rewards add; of one row alone nothing can be said."""
    if one.other is None or one.n < 2:
        return ""
    means = f"Mean reward {show.reward(totals.mean_first)} and {show.reward(totals.mean_second)}"
    is_sure = one.other.p < comparing.SIGNIFICANT
    return f"{means}: {'a difference' if is_sure else 'no sure difference'}, {_p(one.other.p)}"


def _alone(first: int, second: int, letter: str) -> str:
    alone = [f"{show.plural(count, 'row')} of {side}" for count, side in ((first, "A"), (second, letter)) if count > 0]
    return f"{' and '.join(alone)} without a partner" if alone else ""


def _p(p: float) -> str:
    """On one line, whatever happens to the words around."""
    return comparing.p_words(p).replace(" ", "\N{NO-BREAK SPACE}")


def _bar(mean: float, low: float, high: float, scale: float) -> Markup:
    """Where the difference lies, and where it may lie, around nothing in the middle."""

    def x(value: float) -> float:
        return _BAR / 2 + (_BAR / 2 - 4) * max(-1.0, min(1.0, value / scale))

    middle = _BAR_HEIGHT / 2
    tone = "up" if low > 0 else "down" if high < 0 else "open"
    return Markup(
        '<svg class="whisker whisker--{}" viewBox="0 0 {} {}" aria-hidden="true">'
        '<line class="whisker__zero" x1="{:.1f}" x2="{:.1f}" y1="1" y2="{}"/>'
        '<line class="whisker__range" x1="{:.1f}" x2="{:.1f}" y1="{}" y2="{}"/>'
        '<circle class="whisker__mean" cx="{:.1f}" cy="{}" r="4"/></svg>'
    ).format(
        tone, _BAR, _BAR_HEIGHT, _BAR / 2, _BAR / 2, _BAR_HEIGHT - 1, x(low), x(high), middle, middle, x(mean), middle
    )


def _outcomes(run: Run, criterion: dict[str, Any]) -> comparing.Outcomes:
    return comparing.Outcomes(*run.criteria_counts.get(criterion["id"], ()))
