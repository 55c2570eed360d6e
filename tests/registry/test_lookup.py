"""The registry's lookups, and for how long they are remembered."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Any

import pytest

from fairmark.errors import InvalidGrader
from fairmark.parse import parse
from fairmark.references import Registered, Wanted
from fairmark.registry import lookup as registries
from fairmark.registry.lookup import Memory, Registry, RememberedAnswer, itself
from fairmark.spec import GraderSpec
from tests.test_references import EXACT, REFERENCE, multi


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        self.now += 1e-9  # no two looks at a clock are the same moment
        return self.now


class Shelf:
    """Graders by project and key; it counts how often it is asked, and can be made to wait."""

    def __init__(self) -> None:
        self.graders: dict[tuple[str, str], tuple[int, dict[str, Any]]] = {}
        self.asked: list[tuple[str, list[Wanted]]] = []
        self.gate: asyncio.Event | None = None

    async def find(self, project: str, wanted: Collection[Wanted]) -> Mapping[Wanted, Registered]:
        self.asked.append((project, sorted(wanted, key=str)))
        found = {}
        for key, version in wanted:
            newest, grader = self.graders.get((project, key), (0, {}))
            if newest and version in (None, newest):
                found[key, version] = Registered(f"grader_{project}_{key}", key, newest, grader)
        if self.gate is not None:
            await self.gate.wait()
        return found

    async def was_asked(self, times: int) -> None:
        async with asyncio.timeout(30):
            while len(self.asked) < times:
                await asyncio.sleep(0)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def shelf() -> Shelf:
    made = Shelf()
    made.graders["a", "exact-match"] = (1, EXACT)
    return made


@pytest.fixture
def registry(shelf: Shelf, clock: Clock) -> Registry:
    return Registry(shelf.find, Memory(clock))


def expand(registry: Registry, grader: dict[str, Any], project: str = "a") -> dict[str, Any]:
    return asyncio.run(registry.expand(project, grader))


def spec(registry: Registry, grader: Any, project: str = "a") -> GraderSpec:
    return asyncio.run(registry.spec(project, grader))


def version(registry: Registry, grader: Any = REFERENCE, project: str = "a") -> int:
    return int(spec(registry, grader, project).registered[0]["version"])


def test_references_are_looked_up_in_the_project_that_asks(registry: Registry, shelf: Shelf) -> None:
    shelf.graders["b", "exact-match"] = (1, {**EXACT, "operation": "ne"})
    assert expand(registry, REFERENCE)["operation"] == "eq"
    assert expand(registry, REFERENCE, "b")["operation"] == "ne"
    assert expand(registry, REFERENCE)["operation"] == "eq"
    with pytest.raises(InvalidGrader, match='there is no registered grader "exact-match"'):
        expand(registry, REFERENCE, "c")


def test_all_references_of_a_grader_are_one_question(registry: Registry, shelf: Shelf) -> None:
    shelf.graders["a", "other"] = (2, EXACT)
    inside = {"a": REFERENCE, "b": {"type": "registered", "key": "other", "version": 2}, "c": REFERENCE}
    expand(registry, multi(inside))
    assert shelf.asked == [("a", [("exact-match", None), ("other", 2)])]


def test_a_registered_multi_may_hold_references(registry: Registry, shelf: Shelf) -> None:
    shelf.graders["a", "both"] = (4, multi({"a": REFERENCE}))
    found = parse(expand(registry, {"type": "registered", "key": "both"}))
    assert [(each["key"], each["version"]) for each in found.registered] == [("both", 4), ("exact-match", 1)]
    assert found.name == "both"


def test_what_leads_nowhere_is_told_with_its_place_and_all_together(registry: Registry, shelf: Shelf) -> None:
    lost = {"a": REFERENCE, "b": {**REFERENCE, "key": "lost"}, "c": {**REFERENCE, "version": 7}}
    with pytest.raises(InvalidGrader) as refused:
        expand(registry, multi(lost))
    assert refused.value.problems == [
        ("$.graders.b.key", 'there is no registered grader "lost".', "not_found"),
        ("$.graders.c.version", 'there is no version 7 of the registered grader "exact-match".', "not_found"),
    ]
    shelf.graders["a", "both"] = (1, multi({"a": {**REFERENCE, "key": "lost"}}))
    with pytest.raises(InvalidGrader, match=r'^\$\.graders\.a\.key: there is no registered grader "lost"\.$'):
        expand(registry, {"type": "registered", "key": "both"})


def test_a_child_that_has_become_a_multi_is_refused_and_no_circle_hangs(registry: Registry, shelf: Shelf) -> None:
    shelf.graders["a", "both"] = (1, multi({"a": {**REFERENCE, "key": "deep"}}))
    shelf.graders["a", "deep"] = (2, multi({"a": {**REFERENCE, "key": "both"}}))
    for grader in ({**REFERENCE, "key": "both"}, multi({"a": {**REFERENCE, "key": "both"}})):
        with pytest.raises(InvalidGrader, match="a multi grader cannot stand inside a multi grader"):
            spec(registry, grader)


def test_what_was_looked_up_is_remembered(registry: Registry, shelf: Shelf) -> None:
    assert spec(registry, REFERENCE) is spec(registry, REFERENCE)
    assert spec(registry, '{"type": "registered", "key": "exact-match"}').name == "exact"
    assert len(shelf.asked) == 1


def test_a_change_by_others_counts_after_two_seconds_however_it_is_asked_for(
    registry: Registry, shelf: Shelf, clock: Clock
) -> None:
    """Also where one answer was made of another that was remembered: their times do not add up."""
    assert version(registry) == 1
    shelf.graders["a", "exact-match"] = (2, EXACT)
    clock.now += 1.9
    assert version(registry) == 1
    assert version(registry, multi({"a": REFERENCE})) == 1
    assert registry.remembered("a", REFERENCE, itself) is not None
    clock.now += 0.2
    assert registry.remembered("a", REFERENCE, itself) is None
    assert registry.remembered("a", multi({"a": REFERENCE}), itself) is None
    assert version(registry) == version(registry, multi({"a": REFERENCE})) == 2


def test_the_time_counts_from_before_the_store_was_asked(registry: Registry, shelf: Shelf, clock: Clock) -> None:
    async def ask() -> None:
        shelf.gate = asyncio.Event()
        looking = asyncio.create_task(registry.spec("a", REFERENCE))
        await shelf.was_asked(1)
        clock.now += 2.5  # a slow store: what it says may be as old as the question
        shelf.gate.set()
        await looking

    asyncio.run(ask())
    assert registry.remembered("a", REFERENCE, itself) is None


def test_what_is_forgotten_is_looked_up_again_at_once(registry: Registry, shelf: Shelf) -> None:
    assert version(registry) == 1
    shelf.graders["a", "exact-match"] = (2, EXACT)
    registry.forget()
    assert registry.remembered("a", REFERENCE, itself) is None
    assert version(registry) == 2


def test_an_answer_that_was_on_its_way_when_all_was_forgotten_is_not_remembered(
    registry: Registry, shelf: Shelf
) -> None:
    async def ask() -> None:
        shelf.gate = asyncio.Event()
        looking = asyncio.create_task(registry.spec("a", REFERENCE))
        await shelf.was_asked(1)
        shelf.graders["a", "exact-match"] = (2, EXACT)
        registry.forget()
        shelf.gate.set()
        assert (await looking).registered[0]["version"] == 1  # whoever asked before may hear what was so before
        assert (await registry.spec("a", REFERENCE)).registered[0]["version"] == 2

    asyncio.run(ask())


def test_many_who_ask_at_once_share_one_look(registry: Registry, shelf: Shelf) -> None:
    async def ask() -> None:
        shelf.gate = asyncio.Event()
        looking = [asyncio.create_task(registry.spec("a", REFERENCE)) for _ in range(50)]
        other = asyncio.create_task(registry.spec("b", REFERENCE))
        await shelf.was_asked(2)
        looking[0].cancel()  # whoever began it may go away
        shelf.gate.set()
        specs = await asyncio.gather(*looking[1:])
        assert all(each is specs[0] for each in specs)
        with pytest.raises(InvalidGrader):
            await other
        assert len(shelf.asked) == 2

    asyncio.run(ask())


def test_who_asks_after_all_was_forgotten_shares_no_look_from_before(registry: Registry, shelf: Shelf) -> None:
    async def ask() -> None:
        shelf.gate = asyncio.Event()
        before = asyncio.create_task(registry.spec("a", REFERENCE))
        await shelf.was_asked(1)
        shelf.graders["a", "exact-match"] = (2, EXACT)
        registry.forget()
        after = asyncio.create_task(registry.spec("a", REFERENCE))
        await shelf.was_asked(2)
        shelf.gate.set()
        assert [(await each).registered[0]["version"] for each in (before, after)] == [1, 2]
        assert version_remembered(registry) == 2

    def version_remembered(registry: Registry) -> int:
        kept = registry.remembered("a", REFERENCE, itself)
        assert kept is not None
        return int(kept.registered[0]["version"])

    asyncio.run(ask())


def test_a_look_that_fails_is_told_to_all_who_wait_and_tried_again_by_the_next(
    registry: Registry, shelf: Shelf
) -> None:
    async def ask() -> None:
        lost = {**REFERENCE, "key": "lost"}
        done = await asyncio.gather(*(registry.spec("a", lost) for _ in range(3)), return_exceptions=True)
        assert [type(each) for each in done] == [InvalidGrader] * 3
        assert len(shelf.asked) == 1
        shelf.graders["a", "lost"] = (1, EXACT)
        assert (await registry.spec("a", lost)).registered[0]["key"] == "lost"

    asyncio.run(ask())


def test_what_is_made_of_a_spec_is_remembered_as_long_and_apart(registry: Registry, clock: Clock) -> None:
    def name(spec: GraderSpec) -> str:
        return spec.name

    assert asyncio.run(registry.made("a", REFERENCE, name)) == "exact"
    assert registry.remembered("a", REFERENCE, name) == "exact"
    assert registry.remembered("b", REFERENCE, name) is None
    assert registry.remembered("a", REFERENCE, itself) is None
    clock.now += 2
    assert registry.remembered("a", REFERENCE, name) is None


def test_graders_that_cannot_be_told_apart_are_not_remembered(registry: Registry) -> None:
    """Two that hold a Python object: what is found for one must not be given for the other."""
    one, two = ({**multi({"a": REFERENCE, "b": parse({**EXACT, "name": name})})} for name in ("one", "two"))
    assert spec(registry, one).children["b"].name == "one"
    assert registry.remembered("a", two, itself) is None
    assert spec(registry, two).children["b"].name == "two"


def test_a_long_grader_is_not_remembered(registry: Registry) -> None:
    long = {**multi({"a": REFERENCE}), "comment": "x" * registries.REMEMBERED_BYTES}
    assert version(registry, long) == 1
    assert registry.remembered("a", long, itself) is None


def test_the_oldest_answers_make_room_for_new_ones(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(registries, "REMEMBERED_AT_MOST", 3)
    memory = Memory(clock)
    for key in ("a", "b", "c", "a", "d"):
        memory.put(key, RememberedAnswer(key, clock()))
    assert [key for key in "abcd" if memory.get(key) is not None] == ["a", "c", "d"]


def test_a_grader_without_references_needs_no_store(registry: Registry, shelf: Shelf) -> None:
    assert expand(registry, {**EXACT, "registered": {"key": "forged"}}) == EXACT
    assert shelf.asked == []
