"""Scores that were pushed to custom graders, joined to the rows of a run.

A pushed score names its sample as whoever pushed it likes. It belongs to a row whose output item has that id, or whose
item has it as its `sample_id` or `id`.
"""

import asyncio
from typing import NamedTuple

from fairmark.errors import ApiError
from fairmark.graders import find
from fairmark.refusals import not_found
from fairmark.store import Grader, PushedScore, Run, Store
from fairmark.store.views.columns import Columns

NAMED_BY = ("sample_id", "id")
MOST_SCORES = 100_000
"""Of a grader that are looked at, the first ones."""
_A_PAGE = 1_000


class RowScore(NamedTuple):
    """What a custom grader has of a row."""

    key: str
    name: str
    score: PushedScore


async def scores_of(store: Store, run: Run, key: str) -> dict[int, PushedScore]:
    """By the index of their row, as far as they belong to one. Raises ApiError where there is no such grader."""
    grader = await store.graders.get(run.project, key)
    if grader is None:
        raise not_found("grader", key)
    if not _is_custom(grader):
        raise ApiError(409, f"the grader {key} computes its scores itself.", param="grader", code="not_custom")
    return await _joined(store, run, grader)


async def of_run(store: Store, run: Run) -> dict[str, dict[int, PushedScore]]:
    """Of each custom grader of the project that has scores of this run's rows: by its key."""
    by_key = {}
    for grader in await store.graders.all(run.project):
        if _is_custom(grader) and (scores := await _joined(store, run, grader)):
            by_key[grader.key] = scores
    return by_key


async def of_row(store: Store, run: Run, item_id: str, item: dict[str, object]) -> list[RowScore]:
    """What custom graders have of one row, looked up by the names that it may have."""
    names = [item_id, *(str(item[name]) for name in NAMED_BY if isinstance(item.get(name), (str, int)))]
    pushed_scores = []
    for grader in await store.graders.all(run.project):
        if _is_custom(grader):
            scores = await store.grader_scores.find(grader, names)
            score = next((scores[name] for name in names if name in scores), None)
            if score is not None:
                pushed_scores.append(RowScore(grader.key, grader.name or grader.key, score))
    return pushed_scores


def _is_custom(grader: Grader) -> bool:
    return grader.grader.get("type") == "custom" and not find("custom").grades


async def _joined(store: Store, run: Run, grader: Grader) -> dict[int, PushedScore]:
    scores: list[PushedScore] = []
    after = None
    while len(scores) < MOST_SCORES:
        page = await store.grader_scores.list(grader, _A_PAGE, after)
        scores += page.data
        if not page.has_more:
            break
        after = page.data[-1].sample_id
    if not scores:
        return {}
    by_id = await store.items.indexes(run, [score.sample_id for score in scores])
    columns = await store.columns.of(run)
    by_field = await asyncio.to_thread(_by_field, columns)
    joined: dict[int, PushedScore] = {}
    for score in scores:
        idx = by_id.get(score.sample_id)
        if idx is not None:
            joined[idx] = score
    for score in scores:
        for idx in by_field.get(score.sample_id, ()):
            joined.setdefault(idx, score)
    return joined


def _by_field(columns: Columns) -> dict[str, list[int]]:
    """The rows that have each name."""
    rows: dict[str, list[int]] = {}
    for field in NAMED_BY:
        column = columns.fields.get(field)
        if column is None:
            continue
        names = [
            str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else None
            for value in column.values
        ]
        for idx, code in zip(columns.idx, column.codes, strict=True):
            name = names[code]
            if name is not None:
                rows.setdefault(name, []).append(idx)
    return rows
