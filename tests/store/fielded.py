"""Rows with fields as tests know them: in a store's run, and as columns without one."""

from collections.abc import Sequence
from typing import Any

from fairmark import jsontext
from fairmark.store import Counts, CriterionScore, NewItem, Run, Store
from fairmark.store.evals.facets import FacetRow, fields_of, pack, unpack
from fairmark.store.views.columns import Columns
from tests.store.conftest import started_run


def new_item(idx: int, status: str, item: dict[str, Any], *scores: tuple[str, float], known: bool = True) -> NewItem:
    body = jsontext.encode({"datasource_item": item, "results": []})
    given = tuple(CriterionScore(*score) for score in scores)
    return NewItem(idx, status, body, given, fields=fields_of(item) if known else None)


async def filled(store: Store, batches: Sequence[Sequence[NewItem]]) -> Run:
    run = await started_run(store)
    for batch in batches:
        counts = Counts()
        for new in batch:
            counts.count(new.status, {})
        assert await store.items.add(run, batch, counts)
    return await again(store, run)


async def again(store: Store, run: Run) -> Run:
    now = await store.runs.get("default", run.eval_id, run.id)
    assert now is not None
    return now


ROWS = [
    new_item(0, "pass", {"language": "de", "turns": 1, "metadata": {"hard": True}}, ("pass", 0.9)),
    new_item(2, "fail", {"language": "DE", "turns": 2}, ("fail", 0.1)),
    new_item(1, "fail", {"language": "fr", "turns": "10", "text": "x" * 100}, ("fail", 0.3)),
    new_item(4, "error", {"turns": None}, ("error", 0.0)),
    new_item(3, "skip", {"language": "fr"}, ("skip", 0.0)),
]


def columns_of(rows: Sequence[tuple[str, dict[str, Any]]]) -> Columns:
    columns = Columns()
    packed = [
        FacetRow(idx, status, [(status, float(status == "pass"))], fields_of(item))
        for idx, (status, item) in enumerate(rows)
    ]
    columns.add(unpack(pack(packed)))
    return columns
