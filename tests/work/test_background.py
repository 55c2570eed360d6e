"""What is claimed is worked off and given back, however it ends, and the next is looked for whatever happened."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from fairmark.errors import StoreUnavailable
from fairmark.work import background
from fairmark.work.background import Background


@dataclass(frozen=True)
class Thing:
    id: str


class Desk(Background[Thing]):
    """Things wait on it; what is claimed, done and given back is told."""

    def __init__(self, *waiting: str | Exception) -> None:
        super().__init__(logging.getLogger("fairmark.test"), "things")
        self.waiting = list(waiting)
        self.told: list[str] = []
        self.may_end = asyncio.Event()
        self.is_away = False

    async def _claim(self) -> Thing | None:
        if not self.waiting:
            return None
        first = self.waiting.pop(0)
        if isinstance(first, Exception):
            raise first
        return Thing(first)

    async def _release(self, thing: Thing) -> None:
        for _ in range(5):  # a store takes its time
            await asyncio.sleep(0)
        self.told.append(f"{thing.id} given back")
        if self.is_away:
            raise StoreUnavailable("away")

    async def _work_off(self, thing: Thing) -> None:
        if thing.id == "broken":
            raise ValueError(thing.id)
        await self.may_end.wait()
        self.told.append(f"{thing.id} done")


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not is_so():
            await asyncio.sleep(0)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    """It never looks by itself."""
    monkeypatch.setattr(background, "LOOK_EVERY_S", 600)


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize("is_away", [False, True])
def test_what_was_worked_off_is_given_back_even_where_the_store_is_away(is_away: bool) -> None:
    async def look() -> list[str]:
        desk = Desk("one", "broken")
        desk.is_away = is_away
        await desk.start()
        await until(lambda: "broken given back" in desk.told and list(desk._working) == ["one"])
        desk.may_end.set()
        await until(lambda: not desk._working)
        await desk.stop()
        return desk.told

    assert asyncio.run(look()) == ["broken given back", "one done", "one given back"]


@pytest.mark.usefixtures("told")
def test_what_ends_makes_it_look_for_the_next_and_so_does_a_call() -> None:
    async def look() -> None:
        desk = Desk("one")
        await desk.start()
        await until(lambda: "one" in desk._working)
        desk.waiting.append("two")
        desk.may_end.set()
        await until(lambda: "two given back" in desk.told)
        await until(lambda: not desk._news.is_set())
        desk.waiting.append("three")
        desk.wake()
        await until(lambda: "three given back" in desk.told)
        await desk.stop()

    asyncio.run(look())


@pytest.mark.parametrize("failure", [StoreUnavailable("away"), ValueError("odd")])
def test_it_goes_on_looking_after_a_failure_and_tells_of_it(
    failure: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(background, "LOOK_EVERY_S", 0.001)

    async def look() -> None:
        desk = Desk(failure, "one")
        desk.may_end.set()
        await desk.start()
        await until(lambda: "one given back" in desk.told)
        await desk.stop()

    asyncio.run(look())
    said = (
        "the store cannot be reached: away" if isinstance(failure, StoreUnavailable) else "things could not be looked"
    )
    assert said in caplog.text


@pytest.mark.usefixtures("told")
def test_stopped_it_leaves_everything_where_it_stands_and_gives_it_back() -> None:
    async def look() -> list[str]:
        desk = Desk("one", "two")
        await desk.start()
        await until(lambda: len(desk._working) == 2)
        await desk.stop()
        return list(desk.told)

    assert sorted(asyncio.run(look())) == ["one given back", "two given back"]
