"""What a batch of items adds to its run's counters."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fairmark.outcomes import OUTCOMES

_COUNTERS = ("passed", "failed", "errored", "skipped")


class Counts(msgspec.Struct):
    """Fields as in a run."""

    passed: int = 0
    failed: int = 0
    errored: int = 0
    skipped: int = 0
    criteria_counts: dict[str, list[int]] = msgspec.field(default_factory=dict)
    usage: dict[str, list[int]] = msgspec.field(default_factory=dict)
    cost: float | None = None
    costs: dict[str, float] = msgspec.field(default_factory=dict)
    """By model, of those that have a price."""

    def count(self, outcome: str, by_criterion: Mapping[str, str]) -> None:
        """One item: its status, and how each criterion (by its id) went; each one of pass, fail, error, skip."""
        counter = _COUNTERS[OUTCOMES.index(outcome)]
        setattr(self, counter, getattr(self, counter) + 1)
        for criterion, criterion_outcome in by_criterion.items():
            self.criteria_counts.setdefault(criterion, [0] * 4)[OUTCOMES.index(criterion_outcome)] += 1

    def spend(self, model: str, tokens: Sequence[int], cost: float | None) -> None:
        """One call of a model: prompt, completion, total and cached tokens, and dollars where it has a price."""
        self.usage = _add(self.usage, {model: [1, *tokens]})
        self.cost = add_costs(self.cost, cost)
        if cost is not None:
            self.costs[model] = self.costs.get(model, 0.0) + cost

    def plus(self, other: "Counts") -> "Counts":
        return Counts(
            self.passed + other.passed,
            self.failed + other.failed,
            self.errored + other.errored,
            self.skipped + other.skipped,
            _add(self.criteria_counts, other.criteria_counts),
            _add(self.usage, other.usage),
            add_costs(self.cost, other.cost),
            {model: self.costs.get(model, 0.0) + other.costs.get(model, 0.0) for model in self.costs | other.costs},
        )

    def dump(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)


def _add(these: Mapping[str, list[int]], those: Mapping[str, list[int]]) -> dict[str, list[int]]:
    total = dict(these)
    for name, numbers in those.items():
        total[name] = [a + b for a, b in zip(total[name], numbers, strict=True)] if name in total else list(numbers)
    return total


def add_costs(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else one + other
