"""What a project may take, and what it has spent."""

import pytest

from fairmark.errors import InvalidData, InvalidProject
from fairmark.store import Allowance, Store
from fairmark.store.access.limits import DAY_S, Spent, today


async def test_limits_are_kept_by_project_and_none_is_none(store: Store) -> None:
    assert await store.limits.all() == {}
    some = Allowance(2.5, 8, 10**12, 0.5, 0, None)
    await store.limits.set("a", some)
    await store.limits.set("b", Allowance(rows_queued=5))
    await store.limits.set("b", Allowance(storage_bytes=7))
    assert await store.limits.all() == {"a": some, "b": Allowance(storage_bytes=7)}
    await store.limits.set("a", Allowance())
    assert list(await store.limits.all()) == ["b"]


@pytest.mark.parametrize(
    "wrong",
    [
        Allowance(weight=0),
        Allowance(weight=float("nan")),
        Allowance(weight=1001),
        Allowance(requests_at_once=-1),
        Allowance(tokens_a_day=2**63),
        Allowance(dollars_a_day=float("nan")),
    ],
)
async def test_what_is_no_limit_is_refused(store: Store, wrong: Allowance) -> None:
    with pytest.raises(InvalidData, match="It takes a number"):
        await store.limits.set("a", wrong)
    assert await store.limits.all() == {}


async def test_a_project_has_a_name_as_keys_know_them(store: Store) -> None:
    with pytest.raises(InvalidProject):
        await store.limits.set("two words", Allowance(2))


async def test_what_is_spent_adds_up_by_project_and_day(store: Store) -> None:
    await store.limits.spend({"a": Spent(10, 0.5), "b": Spent(1, 0.0)}, 100)
    await store.limits.spend({"a": Spent(5, 0.25)}, 100)
    await store.limits.spend({"a": Spent(1, 1.0)}, 101)
    assert await store.limits.spent(100) == {"a": Spent(15, 0.75), "b": Spent(1, 0.0)}
    assert await store.limits.spent(101) == {"a": Spent(1, 1.0)}
    await store.limits.forget_days(101)
    assert await store.limits.spent(100) == {}
    assert await store.limits.spent(101) == {"a": Spent(1, 1.0)}


async def test_rows_are_queued_until_they_are_graded_and_bytes_stored_until_deleted(store: Store) -> None:
    eval_ = await store.evals.create("a", None, {}, {}, [])
    first = await store.runs.create("a", eval_.id, None, {}, {}, None, 10, {})
    await store.runs.create("a", eval_.id, None, {}, {}, None, None, {})
    await store.runs.create("a", eval_.id, None, {}, {}, None, 5, {})
    assert await store.limits.rows_queued(["a", "b"]) == {"a": 15}
    await store.runs.cancel("a", eval_.id, first.id)
    assert await store.limits.rows_queued(["a"]) == {"a": 5}
    file = await store.files.create("a", "file-" + "1" * 32, "x.jsonl", "evals", 1234, None)
    assert await store.limits.stored_bytes(["a", "b"]) == {"a": 1234, "b": 0}
    await store.files.delete("a", file.id)
    assert await store.limits.stored_bytes(["a"]) == {"a": 0}


def test_a_day_begins_at_midnight_in_utc() -> None:
    assert today(3 * DAY_S - 1) == 2
    assert today(3 * DAY_S) == 3
