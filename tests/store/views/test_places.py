"""Places in a list that is paged both ways: kept to the last digit, and refused where they are none."""

import pytest

from fairmark.store import (
    InvalidCursor,
    Run,
    Store,
    View,
)
from tests.store.conftest import started_run
from tests.store.entries import Entry, fill, walk


async def test_places_are_kept_to_the_last_digit(store: Store) -> None:
    run = await started_run(store)
    scores = [0.1, 0.1 + 2**-56, 1 / 3, 5e-324, -1.7e308, 1.7e308, 0.0, -0.0]
    await fill(store, run, [Entry(idx, "pass", (("pass", each),), "") for idx, each in enumerate(scores)])
    wanted = [4, 6, 7, 3, 0, 1, 2, 5]
    assert await walk(store, run, View(sort=0), 1) == wanted
    assert await walk(store, run, View(sort=0), 1, backward=True) == wanted


async def test_rows_that_come_in_meanwhile_are_found_behind_the_place(store: Store) -> None:
    run = await started_run(store)
    await fill(store, run, [Entry(idx, "pass", (("pass", idx / 10),), "") for idx in (1, 4, 6)])
    page = await store.rows.page(run, View(sort=0), None, 2)
    assert [item.idx for item in page.data] == [1, 4]
    assert page.next is not None
    await fill(store, run, [Entry(idx, "pass", (("pass", idx / 10),), "") for idx in (0, 5, 9)])
    assert await walk_from(store, run, View(sort=0), page.next) == [5, 6, 9]
    assert await walk(store, run, View(sort=0), 2) == [0, 1, 4, 5, 6, 9]


async def walk_from(store: Store, run: Run, view: View, at: str) -> list[int]:
    return [item.idx for item in (await store.rows.page(run, view, at, 100)).data]


@pytest.mark.parametrize(
    "at",
    [
        "x", "after", "after_", "after_x", "after_-1", "after_2147483648", "after_99999999999999999999", "after_1_2",
        "beside_1", "after_\x00", "after_٣", "last_1", "after_1\n", "after_error_1", "\ud800",
    ],
)  # fmt: skip
async def test_what_is_no_place_is_refused(store: Store, at: str) -> None:
    run = await started_run(store)
    with pytest.raises(InvalidCursor, match=r"is no place in this list\. Use what a page gave"):
        await store.rows.page(run, View(), at)


@pytest.mark.parametrize(
    "at", ["after_1", "after_nan_1", "after_inf_1", "after_pass_1", "after_0.5_-1", "after_1_2_3x"]
)
async def test_a_place_by_score_needs_a_score(store: Store, at: str) -> None:
    run = await started_run(store)
    with pytest.raises(InvalidCursor):
        await store.rows.page(run, View(sort=0), at)
