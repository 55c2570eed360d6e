"""Items that are to be stored together, and what they add to their run's counters."""

import time
from collections.abc import Sequence
from typing import Any, Protocol

from fairmark.evals.criteria import Criterion, Outcome, broken_result, row_outcome
from fairmark.evals.item import encode_item
from fairmark.evals.sampling import Sampled
from fairmark.evals.source import SourceRow
from fairmark.judgement import Judgement
from fairmark.result import Result, is_split
from fairmark.store import Counts, CriterionScore, NewItem, hash_item
from fairmark.store.evals.facets import fields_of


class OfEval(Protocol):
    """As much of a run as its items tell."""

    @property
    def id(self) -> str: ...

    @property
    def eval_id(self) -> str: ...


class Batch:
    """What came out of some rows."""

    def __init__(self, run: OfEval, criteria: Sequence[Criterion]) -> None:
        self._run = run
        self._criteria = criteria
        self._now = int(time.time())
        self.items: list[NewItem] = []
        self.counts = Counts()

    def add(self, row: SourceRow, results: Sequence[Result | None], sample: dict[str, Any]) -> None:
        outcomes: list[Outcome] = []
        shown = []
        for criterion, result in zip(self._criteria, results, strict=True):
            if result is None:
                outcomes.append("fail")
                shown.append(broken_result(criterion))
                continue
            outcomes.append(criterion.outcome(result))
            shown.append(criterion.wire(result))
            for judgement in result.judgements:
                self._count_judged(judgement)
        self._store(row, outcomes, shown, sample)

    def leave_out(self, row: SourceRow, reason: str, outcome: Outcome, sample: dict[str, Any]) -> None:
        """A row that no criterion saw."""
        shown = [criterion.failed(reason, outcome) for criterion in self._criteria]
        self._store(row, [outcome] * len(self._criteria), shown, sample)

    def count_sampled(self, model: str, sampled: Sampled) -> None:
        if sampled.attempts and sampled.usage:
            name = sampled.reply.get("model")
            self.counts.spend(name if isinstance(name, str) and name else model, sampled.usage, sampled.cost)

    def _count_judged(self, judgement: Judgement) -> None:
        if judgement.attempts:
            self.counts.spend(judgement.name, judgement.usage, judgement.cost)

    def _store(
        self, row: SourceRow, outcomes: Sequence[Outcome], shown: list[dict[str, Any]], sample: dict[str, Any]
    ) -> None:
        whole = row_outcome(outcomes)
        self.counts.count(
            whole, {criterion.id: outcome for criterion, outcome in zip(self._criteria, outcomes, strict=True)}
        )
        body = encode_item(self._run.eval_id, self._run.id, self._now, row, whole, shown, sample)
        scores = tuple(
            CriterionScore(outcome, _counted(result, outcome)) for outcome, result in zip(outcomes, shown, strict=True)
        )
        reasons = tuple(result["error"] or "" for result in shown if result["status"] == "error")
        warnings = tuple(warning for result in shown for warning in result["warnings"])
        fields = fields_of(row.item)
        splits = tuple(index for index, result in enumerate(shown) if is_split(result["spread"]))
        new = NewItem(row.position, whole, body, scores, hash_item(row.item), reasons, warnings, fields, splits)
        self.items.append(new)


def _counted(result: dict[str, Any], outcome: Outcome) -> float:
    """The score as it is sorted and averaged: what was not graded has none."""
    return result["score"] if outcome in ("pass", "fail") else 0.0
