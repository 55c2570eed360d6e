"""Who is next when owners share slots. Events are told by tasks that hold a slot until they are let go."""

import asyncio
import random
from collections import Counter

import pytest

from fairmark.work.fair import FairSlots, set_weights


class Scene:
    """Tasks that take turns; the names of those inside, in the order in which they came in."""

    def __init__(self, slots: FairSlots) -> None:
        self.slots = slots
        self.entered: list[str] = []
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._done: dict[str, asyncio.Event] = {}

    async def come(self, *names: str) -> None:
        """`a1` is the first turn of owner `a`."""
        for name in names:
            self._done[name] = asyncio.Event()
            self._tasks[name] = asyncio.create_task(self._hold(name))
        await settle()

    async def _hold(self, name: str) -> None:
        async with self.slots.turn(name[0]):
            self.entered.append(name)
            await self._done[name].wait()

    async def go(self, *names: str) -> None:
        for name in names:
            self._done[name].set()
        await settle()

    async def cancel(self, name: str) -> None:
        self._tasks[name].cancel()
        await settle()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_an_owner_who_is_alone_holds_every_slot_in_order() -> None:
    async def scenario() -> None:
        scene = Scene(FairSlots(2, spare=1))
        await scene.come("a1", "a2", "a3", "a4")
        assert scene.entered == ["a1", "a2"]
        await scene.go("a2")
        assert scene.entered == ["a1", "a2", "a3"]
        await scene.go("a1", "a3")
        assert scene.entered == ["a1", "a2", "a3", "a4"]

    asyncio.run(scenario())


def test_a_newcomer_has_a_spare_slot_while_another_owner_holds_all() -> None:
    async def scenario() -> None:
        scene = Scene(FairSlots(2, spare=1))
        await scene.come("a1", "a2", "a3", "b1", "b2", "c1")
        assert scene.entered == ["a1", "a2", "b1"]  # one each of the spare ones, and no more than there are
        await scene.go("b1")
        assert scene.entered == ["a1", "a2", "b1", "b2"]  # it holds none again, and came before c
        await scene.go("b2")
        assert scene.entered[4:] == ["c1"]

    asyncio.run(scenario())


def test_the_owner_with_the_fewest_slots_is_next() -> None:
    async def scenario() -> None:
        scene = Scene(FairSlots(4))
        await scene.come("a1", "a2", "a3", "b1", "a4", "a5", "b2", "b3", "c1")
        assert scene.entered == ["a1", "a2", "a3", "b1"]
        await scene.go("a1")
        assert scene.entered[4:] == ["c1"]
        await scene.go("a2")
        assert scene.entered[5:] == ["a4"]  # all hold one, and a is the longest without a turn
        await scene.go("c1")
        assert scene.entered[6:] == ["b2"]  # 1 of b against 2 of a

    asyncio.run(scenario())


def test_owners_who_hold_as_many_take_turns() -> None:
    async def scenario() -> None:
        scene = Scene(FairSlots(1))
        await scene.come("x1", "a1", "a2", "a3", "b1", "b2", "c1")
        for name in ("x1", "a1", "b1", "c1", "a2", "b2", "a3"):
            assert scene.entered[-1] == name
            await scene.go(name)

    asyncio.run(scenario())


def test_no_owner_holds_more_than_his_part() -> None:
    async def scenario() -> None:
        scene = Scene(FairSlots(4, per_owner=2))
        await scene.come("a1", "a2", "a3", "b1")
        assert scene.entered == ["a1", "a2", "b1"]
        assert not scene.slots.has_room("a")
        assert scene.slots.has_room("b")
        await scene.go("a1")
        assert scene.entered[3:] == ["a3"]

    asyncio.run(scenario())


def test_a_cancelled_wait_takes_no_slot_and_is_forgotten() -> None:
    async def scenario() -> None:
        scene = Scene(FairSlots(1))
        await scene.come("a1", "b1", "b2", "c1")
        await scene.cancel("b1")
        await scene.cancel("c1")
        assert scene.slots.waiting == 1
        await scene.go("a1")
        assert scene.entered == ["a1", "b2"]
        await scene.go("b2")
        assert (scene.slots.holding, scene.slots.waiting, scene.slots.held("b")) == (0, 0, 0)

    asyncio.run(scenario())


def test_a_turn_that_comes_while_its_wait_is_cancelled_goes_to_the_next() -> None:
    async def scenario() -> None:
        scene = Scene(FairSlots(1))
        await scene.come("a1", "b1", "c1")
        scene._done["a1"].set()
        await asyncio.sleep(0)  # a1 leaves, and b1 has its turn but has not noticed
        assert scene.slots.held("b") == 1
        await scene.cancel("b1")
        assert scene.entered == ["a1", "c1"]
        assert scene.slots.holding == 1

    asyncio.run(scenario())


def test_a_cancelled_holder_gives_its_slot_back() -> None:
    async def scenario() -> None:
        scene = Scene(FairSlots(1))
        await scene.come("a1", "a2")
        await scene.cancel("a1")
        assert scene.entered == ["a1", "a2"]

    asyncio.run(scenario())


def test_the_number_of_slots_can_change() -> None:
    async def scenario() -> None:
        scene = Scene(FairSlots(1))
        await scene.come("a1", "a2", "a3")
        scene.slots.total = 2
        await settle()
        assert scene.entered == ["a1", "a2"]
        scene.slots.total = 1
        await scene.go("a1")
        assert scene.entered == ["a1", "a2"]
        await scene.go("a2")
        assert scene.entered == ["a1", "a2", "a3"]

    asyncio.run(scenario())


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_lost_and_no_bound_is_broken_whatever_happens(seed: int) -> None:
    chance = random.Random(seed)  # the same storm every time
    total, spare = chance.randint(1, 4), chance.randint(0, 3)
    slots = FairSlots(total, spare=spare, per_owner=chance.choice([None, 1, total]))
    inside: dict[str, int] = {}

    async def work(owner: str) -> None:
        async with slots.turn(owner):
            inside[owner] = inside.get(owner, 0) + 1
            assert sum(inside.values()) <= slots.holding <= total + spare
            try:
                for _ in range(chance.randint(0, 4)):
                    await asyncio.sleep(0)
            finally:
                inside[owner] -= 1

    async def scenario() -> None:
        tasks = []
        for _ in range(300):
            tasks.append(asyncio.create_task(work(chance.choice("abcde"))))
            if chance.random() < 0.3:
                chance.choice(tasks).cancel()
            if chance.random() < 0.5:
                await asyncio.sleep(0)
        ends = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 30)
        assert {type(end) for end in ends} <= {type(None), asyncio.CancelledError}
        assert (slots.holding, slots.waiting, slots._held, slots._waiting) == (0, 0, {}, {})

    asyncio.run(scenario())


@pytest.mark.parametrize("sizes", [(0, 0, None), (1, -1, None), (1, 0, 0)])
def test_there_must_be_slots(sizes: tuple[int, int, int | None]) -> None:
    total, spare, per_owner = sizes
    with pytest.raises(ValueError, match="no slots"):
        FairSlots(total, spare=spare, per_owner=per_owner)


def test_who_weighs_more_holds_more_where_all_want_some() -> None:
    def taken(weights: dict[str, float]) -> list[str]:
        """The order in which turns come, of two owners who want all of them."""

        async def turns() -> list[str]:
            slots = FairSlots(8)
            order: list[str] = []

            async def hold(owner: str) -> None:
                await slots.enter(owner)
                order.append(owner)

            first = [asyncio.create_task(hold("first")) for _ in range(8)]
            await settle()
            tasks = [asyncio.create_task(hold(owner)) for _ in range(20) for owner in "ab"]
            await settle()
            for _ in range(8):
                slots.leave("first")
            await settle()
            for task in (*first, *tasks):
                task.cancel()
            await asyncio.gather(*first, *tasks, return_exceptions=True)
            return order[8:]

        set_weights(weights)
        try:
            return asyncio.run(turns())
        finally:
            set_weights({})

    assert Counter(taken({})) == {"a": 4, "b": 4}
    assert Counter(taken({"b": 3})) == {"a": 2, "b": 6}


def test_turns_of_one_piece_of_work_go_by_their_rank_and_others_are_not_held_up() -> None:
    """Its first part is done first; whoever came between is served between."""
    served: list[str] = []

    async def take(slots: FairSlots, name: str, work: object, rank: int) -> None:
        async with slots.turn("owner", work, rank):
            served.append(name)
            await asyncio.sleep(0)

    async def scenario() -> None:
        slots, run = FairSlots(1), object()
        await slots.enter("owner")
        tasks = [
            asyncio.create_task(take(slots, name, work, rank))
            for name, work, rank in [("b", run, 2), ("c", run, 3), ("single", None, 0), ("a", run, 1), ("d", run, 4)]
        ]
        await asyncio.sleep(0)
        slots.leave("owner")
        await asyncio.gather(*tasks)

    asyncio.run(scenario())
    assert served == ["a", "b", "single", "c", "d"]
