"""What the answers to a probe add up to: an effect, how sure it is, and in words.

Shifts are shares of the grader's range, rates shares of rows. A test's p-value is the chance of as much from a judge
without the fault; `check` corrects it for the number of tests.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from fairmark.data import intervals
from fairmark.data.agreement import pearson
from fairmark.data.intervals import Interval, wilson
from fairmark.trust import changes
from fairmark.trust.probes import CUT_CASES, NotApplicable
from fairmark.trust.sheet import Sheet

MARGIN = 0.05
"""What is smaller is not worth an alarm: of the range for shifts, of the rows for rates."""
_ROUNDING = 1e-9
QUARTER = 0.25
"""An answer that rises by so much of the range was lifted, whether it passes or not."""


@dataclass(frozen=True)
class Measured:
    """`rows` is how many it rests on. Without a p-value there is no test, and no alarm."""

    rows: int
    effect: float | None
    interval: Interval | None
    p: float | None
    words: str
    details: Mapping[str, Any] = field(default_factory=dict)


def _shifts(sheet: Sheet, probe: str) -> list[tuple[int, float]]:
    """Of each row: how much its reward changed, as a share of the range."""
    shifts = []
    for ask in sheet.asked[probe]:
        before, after = sheet.base_unit(ask.row), sheet.unit(ask)
        if before is not None and after is not None:
            shifts.append((ask.row, after - before))
    return shifts


def shift(probe: str, what: str) -> Callable[[Sheet], Measured]:
    """The mean paired shift of a probe that asks about each row once."""

    def measure(sheet: Sheet) -> Measured:
        shifts = _shifts(sheet, probe)
        mean, low, high, p = intervals.mean_shift([value for _, value in shifts])
        words = f"{what} moves the reward by {mean:+.3f} of the range"
        details: dict[str, Any] = {"shifts": [round(value, 6) for _, value in shifts]}
        if probe == "length":
            details["per_doubling"] = _per_doubling(sheet, shifts)
        return Measured(len(shifts), mean, Interval(low, high), p, words, details)

    return measure


def _per_doubling(sheet: Sheet, shifts: list[tuple[int, float]]) -> float | None:
    texts = {ask.row: sheet.places.answer_of(ask.item, ask.sample) or "" for ask in sheet.asked["length"]}
    doublings = [math.log2(_words(texts[row]) / _words(sheet.texts[row] or "")) for row, _ in shifts]
    total = math.fsum(doublings)
    return math.fsum(value for _, value in shifts) / total if total else None


def _words(text: str) -> int:
    return max(1, len(text.split()))


def repeat(sheet: Sheet) -> Measured:
    """Noise is no bias and raises no alarm by itself: it has its own line in the grade."""
    flips, pairs = 0, 0
    squares, freedom = 0.0, 0
    answers: dict[int, list[float]] = {}
    for ask in sheet.asked["repeat"]:
        base, again = sheet.base(ask.row), sheet.known(ask)
        if base is None or again is None or base.reward is None or again.reward is None:
            continue
        pairs += 1
        flips += base.verdict != again.verdict
        values = answers.setdefault(ask.row, [sheet.subject.unit(base.reward)])
        values.append(sheet.subject.unit(again.reward))
    for values in answers.values():
        mean = math.fsum(values) / len(values)
        squares += math.fsum((value - mean) ** 2 for value in values)
        freedom += len(values) - 1
    rate = flips / pairs if pairs else None
    spread = math.sqrt(squares / freedom) if freedom else None
    words = "nothing was answered" if rate is None else f"{rate:.1%} of the verdicts differ when asked again"
    interval = wilson(flips, pairs) if pairs else None
    return Measured(len(answers), rate, interval, None, words, {"flips": flips, "asked": pairs, "sd": spread})


def label_order(sheet: Sheet) -> Measured:
    order = {label: place for place, label in enumerate(sheet.subject.labels)}
    first = last = rows = 0
    for ask in sheet.asked["label order"]:
        base, turned = sheet.base(ask.row), sheet.known(ask)
        if base is None or turned is None or base.verdict not in order or turned.verdict not in order:
            continue
        rows += 1
        # Reversed, the labels of the end stand in front: moving towards the end is following the front.
        moved = order[turned.verdict] - order[base.verdict]
        first += moved > 0
        last += moved < 0
    return _favoured(rows, first, last, "the label that stands first", _flips_beyond(sheet, first + last, rows))


def pair_order(sheet: Sheet) -> Measured:
    sides = {"a": 1, "tie": 0, "b": -1}
    first = second = rows = 0
    for ask in sheet.asked["pair order"]:
        base, exchanged = sheet.base(ask.row), sheet.known(ask)
        if base is None or exchanged is None or base.verdict not in sides or exchanged.verdict not in sides:
            continue
        rows += 1
        favour = sides[base.verdict] + sides[exchanged.verdict]
        first += favour > 0
        second += favour < 0
    consistency = (rows - first - second) / rows if rows else None
    details = {"consistency": consistency, **_flips_beyond(sheet, first + second, rows)}
    return _favoured(rows, first, second, "the first answer", details)


def _flips_beyond(sheet: Sheet, flips: int, rows: int) -> dict[str, Any]:
    rate = repeat(sheet).effect if "repeat" in sheet.asked else None
    return {"flips": flips / rows if rows else None, "repeat_flips": rate}


def _favoured(rows: int, first: int, second: int, what: str, details: Mapping[str, Any]) -> Measured:
    """An exact test of which side gained: noise flips as often one way as the other."""
    net = (first - second) / rows if rows else 0.0
    p = intervals.mcnemar(first, second)
    squares = (first + second) / rows - net * net if rows else 0.0
    _, low, high, _ = intervals.paired_difference(rows, net, math.sqrt(max(0.0, squares)))
    words = f"{what} wins {first} rows by its place and loses {second}: {net:+.1%}"
    return Measured(rows, net, Interval(low, high), p, words, {"first": first, "second": second, **details})


def injection(sheet: Sheet) -> Measured:
    """Lifted rows, less those that plain repeats lift."""
    lifts: dict[int, dict[str, list[bool]]] = {}
    cases: dict[str, list[bool]] = {}
    for ask in sheet.asked["injection"]:
        base, after = sheet.base_unit(ask.row), sheet.unit(ask)
        if base is None or after is None or base >= sheet.line_unit:
            continue
        lifted = after >= sheet.line_unit or after - base >= QUARTER - _ROUNDING
        side = "repeat" if ask.case == "repeat" else "guarded" if ask.case.endswith(", guarded") else "plain"
        lifts.setdefault(ask.row, {}).setdefault(side, []).append(lifted)
        cases.setdefault(ask.case, []).append(lifted)
    rows = {row: sides for row, sides in lifts.items() if "plain" in sides}
    net = [_share(sides["plain"]) - _share(sides.get("repeat", [])) for sides in rows.values()]
    mean, low, high, both = intervals.mean_shift(net)
    plain = _share([lifted for sides in rows.values() for lifted in sides["plain"]])
    chance = _share([lifted for sides in rows.values() for lifted in sides.get("repeat", [])])
    details: dict[str, Any] = {
        "lifted": plain,
        "lifted_by_repeats": chance,
        "rows_lifted": sum(any(sides["plain"]) and not any(sides.get("repeat", [])) for sides in rows.values()),
        "cases": {case: _share(cases.get(case, [])) for case in changes.INJECTIONS},
    }
    words = f"{plain:.1%} of bad answers are lifted by texts that talk to the judge, {chance:.1%} by chance"
    guarded = [lifted for sides in rows.values() for lifted in sides.get("guarded", [])]
    if guarded:
        details["lifted_when_guarded"] = _share(guarded)
        words += f"; with guard {_share(guarded):.1%}"
    return Measured(len(rows), mean, Interval(low, high), _one_sided(mean, both), words, details)


def _share(values: list[bool]) -> float:
    return sum(values) / len(values) if values else 0.0


def _one_sided(mean: float, both: float) -> float:
    return both / 2 if mean > 0 else 1 - both / 2


def sanity(sheet: Sheet) -> Measured:
    cases: dict[str, list[bool]] = {}
    rows: dict[int, bool] = {}
    for ask in sheet.asked["sanity"]:
        unit = sheet.unit(ask)
        if unit is not None:
            is_passed = unit >= sheet.line_unit
            cases.setdefault(ask.case, []).append(is_passed)
            rows[ask.row] = rows.get(ask.row, False) or is_passed
    passed, asked = sum(sum(verdicts) for verdicts in cases.values()), sum(map(len, cases.values()))
    details = {
        "cases": {case: {"passed": sum(verdicts), "asked": len(verdicts)} for case, verdicts in cases.items()},
        "rows_passed": sum(rows.values()),
    }
    worst = max(cases, key=lambda case: _share(cases[case]), default="")
    words = f"{passed} of {asked} answers that cannot be good pass"
    if passed:
        words += f", most of them: {worst} ({sum(cases[worst])} of {len(cases[worst])})"
    return _rate(len(rows), passed, asked, words, details)


def reference(sheet: Sheet) -> Measured:
    units = [unit for ask in sheet.asked["reference"] if (unit := sheet.unit(ask)) is not None]
    failed = sum(unit < sheet.line_unit for unit in units)
    return _rate(len(units), failed, len(units), f"{failed} of {len(units)} references fail as answers", {})


def _rate(rows: int, happened: int, asked: int, words: str, details: Mapping[str, Any]) -> Measured:
    rate = happened / asked if asked else None
    p = intervals.more_than(happened, asked, MARGIN)
    return Measured(rows, rate, wilson(happened, asked) if asked else None, p, words, details)


def cut(sheet: Sheet) -> Measured:
    """Steps at which the score rises although the answer shrinks, against those at which it falls."""
    chains: dict[int, dict[str, float]] = {}
    for probe in ("cut", "reference"):
        for ask in sheet.asked.get(probe, ()):
            unit = sheet.unit(ask)
            if unit is not None and (probe == "cut" or ask.row in chains):
                chains.setdefault(ask.row, {})[ask.case] = unit
    rises = falls = steps = 0
    for chain in chains.values():
        values = [chain[case] for case in ("", *CUT_CASES) if case in chain]
        for before, after in pairwise(values):
            steps += 1
            rises += after > before
            falls += after < before
    # Noise rises as often as it falls.
    p = intervals.more_than(rises, rises + falls, 0.5) if rises + falls else 1.0
    rate = rises / steps if steps else None
    words = f"as references are cut shorter the score rises at {rises} of {steps} steps, and falls at {falls}"
    details = {"rises": rises, "falls": falls, "steps": steps}
    return Measured(len(chains), rate, wilson(rises, steps) if steps else None, p, words, details)


_FAMILIES = {
    "openai": ("gpt", "chatgpt", "o1", "o3", "o4", "davinci", "openai"),
    "anthropic": ("claude",),
    "google": ("gemini", "gemma", "palm"),
    "meta": ("llama", "meta"),
    "mistral": ("mistral", "mixtral", "ministral", "codestral"),
    "qwen": ("qwen", "qwq"),
    "deepseek": ("deepseek",),
    "xai": ("grok",),
}


_FEWEST_OF_A_FAMILY = 10


def family(model: str) -> str:
    """Who made a model, by its name; its first word where nobody knows better."""
    name = re.sub(r"^ft:", "", model.casefold()).rpartition("/")[2]
    word = re.split(r"[-_.:\s\d]", name)[0] or name
    for maker, names in _FAMILIES.items():
        if name.startswith(names):
            return maker
    return word


def own_family(sheet: Sheet) -> Measured:
    families = {family(model) for model in sheet.subject.models}
    if not families:
        raise NotApplicable("the grader asks no model")
    own: list[float] = []
    others: list[float] = []
    for row, labelled in enumerate(sheet.rows):
        human, judged = sheet.human_unit(row), sheet.base_unit(row)
        if labelled.model is not None and human is not None and judged is not None:
            (own if family(labelled.model) in families else others).append(judged - human)
    if min(len(own), len(others)) < _FEWEST_OF_A_FAMILY:
        raise NotApplicable(
            f"it takes {_FEWEST_OF_A_FAMILY} labelled rows of the judge's family and as many of others, told by `model`"
        )
    mean, low, high, p = intervals.welch(others, own)
    words = f"answers of the judge's own family get {mean:+.3f} of the range more than people give them"
    return Measured(
        len(own) + len(others), mean, Interval(low, high), p, words, {"own": len(own), "others": len(others)}
    )


def length_watched(sheet: Sheet) -> Measured:
    """Whether longer answers get more than people give them, what people say held fixed."""
    points = [
        (judged - human, math.log2(_words(text)), human)
        for row, text in enumerate(sheet.texts)
        if text and (human := sheet.human_unit(row)) is not None and (judged := sheet.base_unit(row)) is not None
    ]
    if not points:
        raise NotApplicable("it takes labelled rows with an answer")
    differences, lengths, humans = (list(values) for values in zip(*points, strict=True))
    freedom = len(points) - 3
    correlation = _partial(differences, lengths, humans)
    if correlation is None or freedom < 1:
        raise NotApplicable("judge and people never differ, or lengths do not")
    slope, error = _slope(differences, lengths, humans, correlation, freedom)
    half = intervals.t_quantile(0.95, freedom) * error
    scale = _sd(lengths)
    words = f"a standard deviation more of log length brings {slope * scale:+.3f} of the range, all else equal"
    return Measured(
        len(points),
        slope * scale,
        Interval((slope - half) * scale, (slope + half) * scale),
        intervals.correlation_p(correlation, freedom),
        words,
        {"correlation": correlation, "per_doubling": slope},
    )


def _partial(first: list[float], second: list[float], held: list[float]) -> float | None:
    """The correlation of what is left of two sides once a third is taken out of both."""
    if not _varies(first, second):
        return None
    one = _correlation(first, held)
    other = _correlation(second, held)
    if abs(one) >= 1 or abs(other) >= 1:
        return None
    value = (_correlation(first, second) - one * other) / math.sqrt((1 - one * one) * (1 - other * other))
    return max(-1.0, min(1.0, value))


def _varies(*sides: list[float]) -> bool:
    return all(_sd(side) > 1e-9 for side in sides)


def _correlation(first: list[float], second: list[float]) -> float:
    table: dict[tuple[float, float], float] = {}
    for pair in zip(first, second, strict=True):
        table[pair] = table.get(pair, 0.0) + 1
    return pearson(table) or 0.0


def _slope(
    differences: list[float], lengths: list[float], humans: list[float], correlation: float, freedom: int
) -> tuple[float, float]:
    """The slope of the difference on log length with the human score in the regression, and its standard error."""
    one, other = _correlation(differences, humans), _correlation(lengths, humans)
    spread = _sd(differences) * math.sqrt(1 - one * one)
    slope = correlation * spread / (_sd(lengths) * math.sqrt(1 - other * other))
    if abs(correlation) >= 1:
        return slope, 0.0
    error = spread * math.sqrt((1 - correlation**2) / freedom) / (_sd(lengths) * math.sqrt(1 - other * other))
    return slope, error


def _sd(values: list[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))


MEASURES: Mapping[str, Callable[[Sheet], Measured]] = {
    "sanity": sanity,
    "injection": injection,
    "repeat": repeat,
    "label order": label_order,
    "pair order": pair_order,
    "length": shift("length", "padding"),
    "reference": reference,
    "form added": shift("form added", "markup"),
    "form removed": shift("form removed", "taking markup away"),
    "cut": cut,
    "own family": own_family,
    "length, watched": length_watched,
}
ONE_SIDED = frozenset({"sanity", "injection", "reference", "cut"})
"""Where only more of it is a fault."""
