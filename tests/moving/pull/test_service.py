"""The client of a hosted service, alone."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from fairmark.errors import CannotRead
from fairmark.moving.pull.door import openai_door
from fairmark.moving.pull.reader import ASC
from fairmark.moving.pull.service import SIZES, HostedService, Pace
from tests.hosted import Faults, Hosted, Size, World, hosting
from tests.moving.pull.pulling import PATIENCE


def asked(hosted: Hosted, work: Callable[[HostedService], Coroutine[Any, Any, Any]]) -> list[float]:
    """Does the work, and tells the pauses that were kept."""
    waits: list[float] = []

    async def do() -> None:
        service = HostedService(openai_door(hosted.base_url), hosted.key, patience=PATIENCE, on_wait=waits.append)
        try:
            await work(service)
        finally:
            await service.close()

    asyncio.run(do())
    return waits


def test_the_pause_that_the_service_asks_for_is_kept_and_told() -> None:
    with hosting(faults=Faults(too_many_every=2, retry_after_ms=20)) as hosted:

        async def work(service: HostedService) -> None:
            for _ in range(3):
                assert (await service.page("evals", ASC, None, Pace())).objects

        assert asked(hosted, work) == [0.02, 0.02]
        assert len(hosted.requests) == 5


def test_who_is_always_turned_away_gives_up_after_eight_times() -> None:
    with hosting(faults=Faults(too_many_every=1)) as hosted:

        async def work(service: HostedService) -> None:
            with pytest.raises(CannotRead, match=r"429.*It was asked 8 times"):
                await service.page("evals", ASC, None, Pace())

        asked(hosted, work)
        assert [request.partition("limit=")[2] for request in hosted.requests] == ["100"] * 8


def test_pages_grow_again_when_all_goes_well_and_later_each_time() -> None:
    pace = Pace(SIZES)
    assert pace.shrink()
    assert pace.size == 20
    for _ in range(9):
        pace.went_well()
    assert pace.size == 20
    pace.went_well()
    assert pace.size == 100
    assert pace.shrink()
    for _ in range(19):
        pace.went_well()
    assert pace.size == 20
    assert [pace.shrink(), pace.shrink(), pace.shrink()] == [True, True, False]
    assert pace.size == 1


def test_a_page_that_fails_is_asked_for_twice_in_each_size() -> None:
    with hosting(World(Size(items=50)), Faults(largest_page=5)) as hosted:
        eval_id = hosted.world.evals[0].id

        async def work(service: HostedService) -> None:
            page = await service.page(f"evals/{eval_id}/runs", ASC, None, Pace())
            assert (len(page.objects), page.has_more) == (4, False)

        asked(hosted, work)
        sizes = [request.partition("limit=")[2] for request in hosted.requests]
        assert sizes == ["100", "100", "20", "20", "5"]
