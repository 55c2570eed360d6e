"""Which answers of a run people should label next: half of them at random, the others where labels tell most.

Each pick keeps the chance that it had, so that rates can be weighed by it and stay honest.
"""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fairmark.errors import InvalidData
from fairmark.trust.labelled import Labelled, answer_key
from fairmark.trust.results import GradedRow, GradedRun

SHARES = {"random": 0.5, "doubtful": 0.25, "suspicious": 0.15, "unlike": 0.1}
_POOL = 3
"""Of the most doubtful rows three times as many as are wanted are in the draw, so that each has a chance of its own."""
_MOST_COMPARED = 200


@dataclass(frozen=True)
class Pick:
    row: GradedRow
    why: str
    chance: float

    def dump(self) -> dict[str, Any]:
        """The line to be labelled: without what the judge said, so that nobody is led by it."""
        return {
            "item": self.row.item, "sample": self.row.sample, "picked": self.why,
            "chance": round(self.chance, 9), "weight": round(1 / self.chance, 6),
        }  # fmt: skip


def pick(run: GradedRun, count: int, labelled: Labelled | None, seed: int, low: float, high: float) -> list[Pick]:
    """So many answers that nobody has labelled yet, or as many as there are. Raises InvalidData where none are left."""
    known = set() if labelled is None else {answer_key(row.item, row.sample) for row in labelled.rows if row.ratings}
    unique = {row.key: row for row in run.graded if row.key not in known}
    rows = list(unique.values())
    if not rows:
        raise InvalidData(f"{run.name}: every graded answer in it is labelled already.")
    source = random.Random(seed)
    if len(rows) <= count:
        return [Pick(row, "random", 1.0) for row in source.sample(rows, len(rows))]
    seen = (
        [] if labelled is None else [_words(str(row.sample)) for row in labelled.rows if row.ratings][:_MOST_COMPARED]
    )
    pools = _pools(rows, count, low, high, seen)
    chances, reasons = _chances(len(rows), count, pools)
    drawn = _draw(source, chances, count)
    return [Pick(rows[place], reasons[place], chances[place]) for place in drawn]


def _pools(
    rows: Sequence[GradedRow], count: int, low: float, high: float, seen: list[frozenset[str]]
) -> dict[str, list[int]]:
    """Places of the rows that each reason would draw from, without the random one."""
    middle, width = (low + high) / 2, high - low
    lengths = sorted(len(row.text) for row in rows)
    longest = lengths[len(lengths) * 9 // 10]

    def doubt(row: GradedRow) -> float:
        return 2.0 if row.split else 1 - abs((row.reward or 0.0) - middle) / width

    def suspicion(row: GradedRow) -> float:
        return (((row.reward or 0.0) - low) / width) + (len(row.text) >= longest)

    def distance(row: GradedRow) -> float:
        words = _words(row.text)
        return 1 - max((len(words & other) / (len(words | other) or 1) for other in seen), default=0.0)

    ways: dict[str, Callable[[GradedRow], float]] = {"doubtful": doubt, "suspicious": suspicion}
    if seen:
        ways["unlike"] = distance
    return {
        why: sorted(range(len(rows)), key=lambda place: way(rows[place]), reverse=True)[: _size(why, count)]
        for why, way in ways.items()
    }


def _size(why: str, count: int) -> int:
    return max(1, round(_POOL * SHARES[why] * count))


def _chances(n: int, count: int, pools: dict[str, list[int]]) -> tuple[list[float], list[str]]:
    """How likely each row is to be picked, and for which reason above all."""
    shares = {why: SHARES[why] * count / len(pool) for why, pool in pools.items()}
    rest = 1 - sum(SHARES[why] for why in pools)
    chances, reasons = [rest * count / n] * n, ["random"] * n
    for why, pool in pools.items():
        for place in pool:
            if shares[why] > chances[place] or reasons[place] == "random":
                reasons[place] = why
            chances[place] += shares[why]
    return [min(1.0, chance) for chance in chances], reasons


def _draw(source: random.Random, chances: list[float], count: int) -> list[int]:
    """Systematic sampling in a random order: each row with just its chance, and as many as wanted in all, but one."""
    order = list(range(len(chances)))
    source.shuffle(order)
    at, drawn = source.random(), []
    total = 0.0
    for place in order:
        total += chances[place]
        if total > at:
            drawn.append(place)
            at += 1
    return drawn[:count]


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.casefold()))


def shared_items(runs: Sequence[GradedRun], count: int, seed: int = 0) -> list[list[GradedRow]]:
    """Of each run the answers to the same items, so many of them, which all runs have. Raises InvalidData of none."""
    by_item = [_by_item(run) for run in runs]
    shared = sorted(set.intersection(*(set(items) for items in by_item)))
    if not shared:
        raise InvalidData("the runs have no item in common, so that nothing can be compared from step to step.")
    chosen = random.Random(seed).sample(shared, min(count, len(shared)))
    return [[row for key in chosen for row in items[key]] for items in by_item]


def _by_item(run: GradedRun) -> dict[bytes, list[GradedRow]]:
    items: dict[bytes, list[GradedRow]] = {}
    for row in run.graded:
        items.setdefault(answer_key(row.item, None), []).append(row)
    return items
