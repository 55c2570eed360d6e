"""Runs in a store as the steps of a series: what one criterion made of each answer."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import Any

from fairmark import jsontext
from fairmark.evals.regrade import row_of
from fairmark.refusals import invalid
from fairmark.store import Eval, Item, Run, Store
from fairmark.trust.results import GradedRow, GradedRun

MOST_ROWS = 200_000
"""Of all runs of a series together: their answers are held in memory."""


def criterion_named(criteria: Sequence[Mapping[str, Any]], named: str | None) -> Mapping[str, Any]:
    """By its name or its id; without a name the only one there is. Raises ApiError."""
    known = ", ".join(str(criterion["name"]) for criterion in criteria)
    if named is None:
        if len(criteria) == 1:
            return criteria[0]
        raise invalid(f"criterion: missing. The eval has several: {known}. Say which one's reward it is.", "criterion")
    for field in ("id", "name"):
        fitting = [criterion for criterion in criteria if criterion.get(field) == named]
        if fitting:
            return fitting[0]
    raise invalid(f"criterion: found {jsontext.quote(named)}. The eval has: {known}.", "criterion")


def rows_of(run: Run) -> int:
    return run.passed + run.failed + run.errored + run.skipped


def is_under_way(run: Run) -> bool:
    return run.imported is None and run.status in ("queued", "in_progress")


async def completed_runs(store: Store, eval_: Eval, most: int) -> list[Run]:
    """The last ones of the eval that have ended with rows, the oldest first."""
    listed = await store.history.page(eval_.seq, 2 * most)
    ended = [run for run in listed.runs if run.status == "completed" and rows_of(run)]
    return ended[:most][::-1]


def step_names(runs: Sequence[Run]) -> list[str]:
    """Each run's own, made unlike where several are called the same."""
    names = [run.name or run.id for run in runs]
    return [f"{name} ({run.id[-6:]})" if names.count(name) > 1 else name for name, run in zip(names, runs, strict=True)]


async def read_run(store: Store, run: Run, criterion: Mapping[str, Any], name: str) -> GradedRun:
    """The run by one of its criteria."""
    rows: list[GradedRow] = []
    called = (criterion["id"], criterion["name"])
    async for items in store.rows.stream(run):
        rows += await asyncio.to_thread(_read, items, called)
    return GradedRun(name, criterion["name"], rows)


def _read(items: Sequence[Item], called: Sequence[str]) -> list[GradedRow]:
    return [graded_row(item.body, called) for item in items]


def graded_row(body: bytes, called: Sequence[str]) -> GradedRow:
    """An output item by the result of the criterion that is called so. A sample that is only words is its words: so
    labels of them fit."""
    item, sample, _, _ = row_of(body)
    results = jsontext.decode(body).get("results")
    fitting = [
        result
        for result in (results if isinstance(results, list) else [])
        if isinstance(result, dict) and result.get("name") in called
    ]
    result = fitting[0] if fitting else {}
    reward = result.get("score")
    is_graded = (
        result.get("status", "graded") == "graded"
        and isinstance(reward, (int, float))
        and not isinstance(reward, bool)
        and math.isfinite(reward)
    )
    parts = result.get("sub_rewards")
    return GradedRow(
        item,
        _plain(sample),
        float(reward) if is_graded and reward is not None else None,
        bool(result.get("passed")) if is_graded else None,
        {name: value for name, value in parts.items() if isinstance(value, (int, float))}
        if isinstance(parts, dict)
        else {},
        _is_split(result.get("judgements")),
    )


def _plain(sample: Any) -> Any:
    if not isinstance(sample, dict):
        return sample
    message = sample["choices"][0]["message"]
    is_text = isinstance(message.get("content"), str) and set(message) <= {"role", "content"}
    return message["content"] if is_text else sample


def _is_split(judgements: Any) -> bool:
    """Whether several answers of judges were of different opinions."""
    if not isinstance(judgements, list) or len(judgements) < 2:
        return False
    verdicts = [_verdict(judgement.get("output")) for judgement in judgements if isinstance(judgement, dict)]
    return len({verdict for verdict in verdicts if verdict is not None}) > 1


def _verdict(output: Any) -> str | None:
    try:
        said = jsontext.decode(output) if isinstance(output, str) else None
    except jsontext.NotJson:
        return None
    verdict = said.get("result", said.get("score")) if isinstance(said, dict) else None
    return None if verdict is None else jsontext.write(verdict)
