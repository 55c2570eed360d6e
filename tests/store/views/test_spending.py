"""What runs have spent on models, added up by model."""

import time

from fairmark.store import Counts, ModelSpending, NewItem, Store
from fairmark.store.base.tables import runs
from tests.store.conftest import new_run


async def spend(store: Store, calls: list[tuple[str, list[int], float | None]], project: str = "default") -> int:
    """A run that asked these models; its number."""
    run = await new_run(store, project)
    assert await store.runs.start(run)
    counts = Counts()
    for model, tokens, cost in calls:
        counts.spend(model, tokens, cost)
    await store.items.add(run, [NewItem(0, "pass", b"{}")], counts)
    return run.seq


async def test_calls_tokens_and_dollars_are_added_up_by_model_over_a_projects_runs(store: Store) -> None:
    await spend(store, [("big", [100, 20, 120, 10], 0.5), ("big", [100, 20, 120, 0], 0.25)])
    await spend(store, [("big", [1, 2, 3, 0], 1.0)])
    await spend(store, [("free", [7, 0, 7, 0], None)])
    await spend(store, [("big", [9, 9, 9, 9], 9.0)], project="other")
    await new_run(store)  # asks no model
    lately, ever = await store.spending.of("default", 0)
    assert lately == ever
    assert (ever.runs, ever.cost) == (3, 1.75)
    assert ever.models == {
        "big": ModelSpending("big", 2, 3, 201, 42, 243, 10, 1.75, None),
        "free": ModelSpending("free", 1, 1, 7, 0, 7, 0, None, None),
    }


async def test_each_model_has_its_own_dollars(store: Store) -> None:
    await spend(store, [("big", [1, 1, 2, 0], 0.5), ("small", [1, 1, 2, 0], 0.25), ("free", [1, 1, 2, 0], None)])
    await spend(store, [("big", [1, 1, 2, 0], 2.0)])
    _, ever = await store.spending.of("default", 0)
    told = {name: (model.cost, model.shared_cost) for name, model in ever.models.items()}
    assert told == {"big": (2.5, None), "small": (0.25, None), "free": (None, None)}


async def test_dollars_of_an_old_run_with_several_models_are_not_pinned_on_one_of_them(store: Store) -> None:
    old = await spend(store, [("big", [1, 1, 2, 0], 0.5), ("small", [1, 1, 2, 0], 0.25)])
    async with store._database.write() as connection:
        await connection.execute(runs.update().where(runs.c.seq == old).values(costs={}))
    await spend(store, [("big", [1, 1, 2, 0], 2.0)])
    _, ever = await store.spending.of("default", 0)
    assert ever.cost == 2.75
    assert (ever.models["big"].cost, ever.models["big"].shared_cost) == (2.0, 0.75)
    assert (ever.models["small"].cost, ever.models["small"].shared_cost) == (None, 0.75)


async def test_older_runs_count_only_among_all(store: Store) -> None:
    now = int(time.time())
    old = await spend(store, [("big", [1, 1, 2, 0], 1.0)])
    await spend(store, [("big", [1, 1, 2, 0], 2.0)])
    async with store._database.write() as connection:
        await connection.execute(runs.update().where(runs.c.seq == old).values(created_at=now - 1000))
    lately, ever = await store.spending.of("default", now - 500)
    assert (lately.cost, ever.cost) == (2.0, 3.0)
    assert (lately.models["big"].calls, ever.models["big"].calls) == (1, 2)


async def test_a_project_without_runs_has_spent_nothing(store: Store) -> None:
    lately, ever = await store.spending.of("default", 0)
    assert (lately.models, ever.models, ever.runs, ever.cost) == ({}, {}, 0, None)
