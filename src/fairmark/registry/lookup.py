"""Looks references up: a grader with references in -> the same with the graders of a registry in their places."""

import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from fairmark import references
from fairmark.errors import InvalidData, InvalidGrader
from fairmark.parse import Grader, aparse, read
from fairmark.references import TYPE, Reference, Registered, Wanted
from fairmark.settings import Settings, settings
from fairmark.spec import GraderSpec

if TYPE_CHECKING:
    import asyncio

REMEMBERED_S = 2.0
"""How long an answer is remembered: a change made by another process counts at most this much later."""
REMEMBERED_AT_MOST = 1_000
REMEMBERED_BYTES = 65_536
"""A grader of more bytes is read anew each time."""
LOCAL_PROJECT = "default"

T = TypeVar("T")
Find = Callable[[str, Collection[Wanted]], Awaitable[Mapping[Wanted, Registered]]]


class RememberedAnswer(NamedTuple):
    value: Any
    asked_at: float
    """When the store was asked, or the first of several times: what was changed since is not in it."""


class Memory:
    """Answers that hold for a moment, from when they were asked for."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._kept: dict[Any, RememberedAnswer] = {}
        self._cleared_at = float("-inf")

    def get(self, key: Any) -> RememberedAnswer | None:
        kept = self._kept.get(key)
        return kept if kept is not None and self.clock() < kept.asked_at + REMEMBERED_S else None

    def put(self, key: Any, answer: RememberedAnswer) -> None:
        """One that was asked for before all were forgotten may be outdated, and is not taken."""
        if answer.asked_at <= self._cleared_at:
            return
        self._kept.pop(key, None)  # so that the first are the oldest
        while len(self._kept) >= REMEMBERED_AT_MOST:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = answer

    def clear(self) -> None:
        self._cleared_at = self.clock()
        self._kept.clear()


class Registry:
    """The graders of one store."""

    def __init__(self, find: Find, memory: Memory | None = None) -> None:
        self._find = find
        self._memory = memory or Memory()
        self._making: dict[Any, asyncio.Task[Any]] = {}
        self.tell_others: Callable[[], Awaitable[object]] | None = None
        """Has the other processes of a server forget what they remember."""

    async def changed(self) -> None:
        """Something was changed here: when this returns, everybody knows."""
        self.forget()
        if self.tell_others is not None:
            await self.tell_others()

    async def expand(self, project: str, grader: Mapping[str, Any]) -> dict[str, Any]:
        """The grader without references, each replaced by what it stands for now.

        Raises InvalidGrader for a reference that is malformed or leads nowhere.
        """
        expanded: dict[str, Any] = (await self._expand(project, grader)).value
        return expanded

    def remembered(self, project: str, grader: Grader, make: Callable[[GraderSpec], T]) -> T | None:
        """What `made` gave a moment ago, for the same grader and `make`: then nobody need wait."""
        key = _key(grader)
        kept = None if key is None else self._memory.get((project, key, make))
        return None if kept is None else kept.value

    async def made(self, project: str, grader: Grader, make: Callable[[GraderSpec], T]) -> T:
        """What `make` makes of the grader's spec. Raises InvalidGrader, and what `make` raises.

        Who asks for what is being made just now waits for the same: when an answer is no longer remembered, hundreds
        may ask at once.
        """
        import asyncio  # not for those who never use a reference

        key = _key(grader)
        if key is None or len(key) > REMEMBERED_BYTES:
            alone: T = (await self._make(project, grader, make)).value
            return alone
        place = (project, key, make)
        making = self._making.get(place)
        if making is None or making.get_loop() is not asyncio.get_running_loop():  # a fork has a loop of its own
            making = asyncio.create_task(self._remember(place, grader))
            self._making[place] = making
            making.add_done_callback(lambda done: self._made(place, done))
        made: T = await asyncio.shield(making)  # who goes away leaves it to the others
        return made

    async def spec(self, project: str, grader: Grader) -> GraderSpec:
        """Raises InvalidGrader."""
        return await self.made(project, grader, itself)

    def forget(self) -> None:
        """Something was changed: it counts at once, also where something is being looked up just now."""
        self._memory.clear()
        self._making.clear()

    async def _remember(self, place: Any, grader: Grader) -> Any:
        project, _, make = place
        answer = await self._make(project, grader, make)
        self._memory.put(place, answer)
        return answer.value

    def _made(self, place: Any, done: "asyncio.Task[Any]") -> None:
        if self._making.get(place) is done:
            del self._making[place]
        if not done.cancelled():
            done.exception()  # which is nobody's where all who asked have gone

    async def _make(self, project: str, grader: Grader, make: Callable[[GraderSpec], Any]) -> RememberedAnswer:
        expanded = await self._expand(project, read(grader))
        return expanded._replace(value=make(await aparse(expanded.value)))

    async def _expand(self, project: str, grader: Mapping[str, Any]) -> RememberedAnswer:
        answer = await self._look_up(project, references.find(grader))
        known = answer.value
        if grader.get("type") == TYPE:
            # It may lead to a multi with references in it, and those lead to no further ones.
            (registered,) = known.values()
            inside = await self._look_up(project, references.find(registered.grader))
            answer = RememberedAnswer({**known, **inside.value}, min(answer.asked_at, inside.asked_at))
        return answer._replace(value=references.replace(grader, answer.value))

    async def _look_up(self, project: str, asked: Collection[Reference]) -> RememberedAnswer:
        """All that references lead to, by key and version. Raises InvalidGrader with those that lead nowhere."""
        now = self._memory.clock()
        wanted = {(reference.key, reference.version) for reference in asked}
        kept = {want: self._memory.get((project, want)) for want in wanted}
        asked_at = min((answer.asked_at for answer in kept.values() if answer is not None), default=now)
        known = {want: answer.value for want, answer in kept.items() if answer is not None}
        missing = [want for want, answer in kept.items() if answer is None]
        for want, registered in (await self._find(project, missing) if missing else {}).items():
            known[want] = registered
            self._memory.put((project, want), RememberedAnswer(registered, now))
        lost = [references.unknown(reference) for reference in asked if (reference.key, reference.version) not in known]
        if lost:
            raise InvalidGrader(lost)
        return RememberedAnswer(known, asked_at)


def itself(spec: GraderSpec) -> GraderSpec:
    return spec


def _key(grader: Grader) -> str | bytes | None:
    """What a grader is remembered by; None where it holds values that JSON does not know."""
    if isinstance(grader, (str, bytes)):
        return grader
    try:
        return msgspec.msgpack.encode(grader)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None


_local: tuple[Settings, Registry] | None = None


def local() -> Registry:
    """The registry of this machine's own store, the one that the settings name."""
    global _local  # one a process, as the settings are
    now = settings()
    if _local is None or _local[0] is not now:
        _local = (now, Registry(_FindLocally(now)))
    return _local[1]


class _FindLocally:
    """Opens the store for each look and closes it again: a library holds no database open behind its user's back."""

    def __init__(self, configuration: Settings) -> None:
        self._settings = configuration

    async def __call__(self, project: str, wanted: Collection[Wanted]) -> Mapping[Wanted, Registered]:
        try:
            from fairmark.store import Store
        except ModuleNotFoundError as error:
            raise InvalidData(f"Registered graders need {error.name}: pip install 'fairmark[server]'") from None
        folder = self._settings.data_folder
        store = await Store.open(self._settings.db or None, folder, exclusive=False, makes=False)
        try:
            return await store.graders.find(project, wanted)
        finally:
            await store.close()
