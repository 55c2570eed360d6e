"""The near end: rows wait here for a process of the cluster that has room, and go there in chunks.

What must not be lost stays here. A chunk that is lost with the process that had it goes to the head of its queue, for
any other; whoever lost one is asked for a sign of life, and gets nothing until it answers. A chunk that is lost again
and again is cut in halves, until the row that nobody survives is alone.
"""

import asyncio
import logging
import math
import time
import uuid
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from fairmark.cluster.orders import Answer, Order, Share, digest, pack_order, read_answer
from fairmark.cluster.outpost import SHARE_SPENT, version
from fairmark.errors import ClusterLost, ClusterUnusable, FairmarkError, GradingFailed, NotGraded
from fairmark.graders import paid
from fairmark.judgement import Usage
from fairmark.judges.base import Budget
from fairmark.result import Grade, Result
from fairmark.row import Row
from fairmark.sandbox.patience import Patience
from fairmark.spec import GraderSpec
from fairmark.work.fair import weight
from fairmark.work.frames import CANNOT_BE_SENT, pack_row, results_of

log = logging.getLogger("fairmark.cluster")

FIRST_ROWS, MOST_ROWS = 16, 2048
"""Rows of a chunk: it begins small, so that every process has something soon, and grows while that is quick."""
FIRST_ASKED, MOST_ASKED = 1, 16
"""The same where models are asked about each row."""
MOST_BYTES = 1_000_000
GROW_BELOW_S, SHRINK_ABOVE_S = 1.0, 4.0
AT_ONCE = 2
"""Chunks under way at each process: one that it works on, and the next."""
SPARE = 1
"""And one more of an owner who has none under way anywhere."""
LOSSES = 3
SIGN_EVERY_S, SIGN_WITHIN_S = 15.0, 30.0
"""A process that has had a chunk for so long is asked whether it lives, and has so long to answer."""
HELLO_WITHIN_S = 60.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0
LONG_CHARS = 1_000_000
SIZES_KEPT = 1024
LOST = f"the machine that graded it was lost {LOSSES} times."


class Lost(Exception):  # a message from a post to the dispatch, not an error
    """The process was gone before it answered. `hopeless`: it could not begin at all, and so will not the next time."""

    def __init__(self, why: str, hopeless: bool = False) -> None:
        super().__init__(why)
        self.hopeless = hopeless


class Post(Protocol):
    """A process of the cluster, seen from here. Each call raises Lost."""

    async def hello(self) -> Mapping[str, Any]:
        """What `Outpost.hello` says; a process that ended is begun anew."""
        ...

    async def grade(self, order: bytes) -> bytes | Answer: ...

    async def sign(self) -> object: ...

    def end(self) -> None:
        """Kills what does not answer; it is begun anew."""
        ...

    def close(self) -> None:
        """Ends it for good."""
        ...


class _Place:
    """A post, and what is known of it."""

    def __init__(self, post: Post) -> None:
        self.post = post
        self.is_well = False
        self.was_well = False
        self.is_refused = False
        self.is_hopeless = False
        self.has_sandbox = True
        self.hello: Mapping[str, Any] = {}
        self.known: set[bytes] = set()
        """The graders that it was sent."""
        self.under_way = 0


class _Call:
    """Rows that came together, and what became of them. None is a row that has to be graded where it came from."""

    __slots__ = ("done", "is_left", "missing", "packed", "results")

    def __init__(self, packed: list[bytes | None]) -> None:
        self.packed = packed
        self.results: list[Result | None] = [None] * len(packed)
        self.missing = sum(row is not None for row in packed)
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.is_left = False

    def put(self, index: int, result: Result | None) -> None:
        if self.packed[index] is None:
            return  # a late one
        self.packed[index] = None
        self.results[index] = result
        self.missing -= 1
        if self.missing == 0 and not self.done.done():
            self.done.set_result(None)


Entry = tuple[_Call, int]


class _Chunk:
    """Rows that go together. `lost` times so far."""

    __slots__ = ("entries", "lost", "share")

    def __init__(self, entries: list[Entry], lost: int = 0) -> None:
        self.entries = entries
        self.lost = lost
        self.share: Share | None = None

    def halves(self) -> "list[_Chunk]":
        """Each is cut again at its next loss, but for a single row, which has its own chances."""
        middle = len(self.entries) // 2
        parts = [self.entries[:middle], self.entries[middle:]]
        return [_Chunk(part, LOSSES - 1 if len(part) > 1 else 0) for part in parts]


class _Queue:
    """Rows of one grader, one owner, one call or run: they may share a chunk."""

    def __init__(self, key: bytes, spec: GraderSpec, owner: str, budget: Budget | None, patience: Patience) -> None:
        self.key = key
        self.spec = spec
        self.owner = owner
        self.asks = paid(spec)
        self.budget = budget if self.asks else None
        self.patience = patience
        self.needs_sandbox = _runs_code(spec)
        self.rows: deque[Entry] = deque()
        self.again: deque[_Chunk] = deque()
        self.under_way = 0

    def __bool__(self) -> bool:
        return bool(self.rows or self.again)

    def waiting(self) -> Iterator[Entry]:
        yield from self.rows
        for chunk in self.again:
            yield from chunk.entries


def _runs_code(spec: GraderSpec) -> bool:
    return spec.code is not None or any(map(_runs_code, spec.children.values()))


class Dispatch:
    """Has rows graded by posts. Lives on one event loop."""

    def __init__(self, posts: Sequence[Post], timeout_s: float) -> None:
        """`timeout_s`: how long there may be no post that is well, before all that waits is given up."""
        self._places = [_Place(post) for post in posts]
        self._timeout_s = timeout_s
        self._name = uuid.uuid4().hex
        self._queues: OrderedDict[tuple[bytes, str, int, int], _Queue] = OrderedDict()
        """In the order in which they had their last turn."""
        self._sizes: OrderedDict[bytes, int] = OrderedDict()
        self._stays_here: set[bytes] = set()
        """Graders that the processes there cannot read."""
        self._under_way: Counter[str] = Counter()
        self._shares: dict[int, Share] = {}
        """What chunks under way may spend, by budget."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._giving_up: asyncio.TimerHandle | None = None
        self._refusal: FairmarkError | None = None
        self._why = "none has answered yet"
        self._calls: set[_Call] = set()
        self.losses = 0
        for place in self._places:
            self._start(self._revive(place))

    def ahead(self, spec: GraderSpec) -> int:
        """How many rows should be on their way here, so that nobody has to wait for more."""
        known = digest_of(spec)
        size = FIRST_ROWS if known is None else self._sizes.get(known[0], FIRST_ROWS)
        return 2 * AT_ONCE * size * max(1, len(self._places))

    async def grade(
        self, spec: GraderSpec, rows: Sequence[Row], owner: str, budget: Budget | None, patience: Patience
    ) -> list[Result | None]:
        """The results in the order of the rows; None for those that have to be graded here.

        Raises ClusterLost where nobody in the cluster answers, ClusterUnusable where nobody ever will.
        """
        known = digest_of(spec)
        if known is None or known[0] in self._stays_here:
            return [None] * len(rows)
        if self._refusal is not None:
            raise self._refusal
        if sum(row.chars for row in rows) > LONG_CHARS:
            packed = await asyncio.to_thread(_pack_all, rows)
        else:
            packed = _pack_all(rows)
        call = _Call(packed)
        if not call.missing:
            return call.results
        queue = self._queue(known[0], spec, owner, budget, patience)
        queue.rows.extend((call, index) for index, row in enumerate(packed) if row is not None)
        self._calls.add(call)
        try:
            self._look_who_is_well()
            self._send_all()
            await call.done
        finally:
            self._calls.discard(call)
            call.is_left = True
        return call.results

    @property
    def is_idle(self) -> bool:
        return not self._calls

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._giving_up is not None:
            self._giving_up.cancel()
        self._fail_all(ClusterLost("the cluster was let go of."))
        for place in self._places:
            place.post.close()

    def _queue(self, key: bytes, spec: GraderSpec, owner: str, budget: Budget | None, patience: Patience) -> "_Queue":
        name = (key, owner, id(budget), patience.number)
        if name not in self._queues:
            self._queues[name] = _Queue(key, spec, owner, budget, patience)
        return self._queues[name]

    # Who is next, and where

    def _send_all(self) -> None:
        """Hands out chunks while there is room for one."""
        while (turn := self._next_turn()) is not None:
            name, place = turn
            queue = self._queues[name]
            self._queues.move_to_end(name)
            share = self._share(queue)
            chunk = self._take(queue)
            if chunk is None:
                continue
            chunk.share = share
            self._count(queue, place, 1)
            self._reserve(queue, share, 1)
            self._start(self._send(queue, place, chunk))

    def _next_turn(self) -> "tuple[tuple[bytes, str, int, int], _Place] | None":
        """The queue of the owner who has the least under way for his weight, and who takes its next chunk."""
        for name in [name for name, queue in self._queues.items() if not queue and not queue.under_way]:
            del self._queues[name]
        waiting = [name for name, queue in self._queues.items() if queue]
        for name in sorted(waiting, key=lambda name: self._under_way[name[1]] / weight(name[1])):
            queue = self._queues[name]
            place = self._place_for(queue)
            if place is not None and self._may_spend(queue):
                return name, place
        return None

    def _place_for(self, queue: _Queue) -> _Place | None:
        most = AT_ONCE + (0 if self._under_way[queue.owner] else SPARE)
        well = [place for place in self._places if place.is_well]
        if queue.needs_sandbox and any(place.has_sandbox for place in self._places):
            well = [place for place in well if place.has_sandbox]
        place = min(well, key=lambda place: place.under_way, default=None)
        return place if place is not None and place.under_way < most else None

    def _count(self, queue: _Queue, place: _Place, change: int) -> None:
        queue.under_way += change
        place.under_way += change
        self._under_way[queue.owner] += change
        if not self._under_way[queue.owner]:
            del self._under_way[queue.owner]

    def _take(self, queue: _Queue) -> _Chunk | None:
        """The next rows of a queue, as many as go well together; None where all of them were left."""
        while queue.again:
            chunk = queue.again.popleft()
            chunk.entries = [entry for entry in chunk.entries if not entry[0].is_left]
            if chunk.entries:
                return chunk
        first = FIRST_ASKED if queue.asks else FIRST_ROWS
        # What is left is for all: nobody takes more than his part of it.
        part = math.ceil(len(queue.rows) / (AT_ONCE * max(1, sum(place.is_well for place in self._places))))
        most, size = max(first, min(self._sizes.get(queue.key, first), part)), 0
        entries: list[Entry] = []
        while queue.rows and len(entries) < most:
            call, index = queue.rows[0]
            packed = call.packed[index]
            if not call.is_left and packed is not None:
                if entries and size + len(packed) > MOST_BYTES:
                    break
                size += len(packed)
                entries.append((call, index))
            queue.rows.popleft()
        return _Chunk(entries) if entries else None

    def _grow(self, queue: _Queue, chunk: _Chunk, seconds: float) -> None:
        first, most = (FIRST_ASKED, MOST_ASKED) if queue.asks else (FIRST_ROWS, MOST_ROWS)
        size = self._sizes.get(queue.key, first)
        if seconds < GROW_BELOW_S and len(chunk.entries) >= size:
            size = min(most, 2 * size)
        elif seconds > SHRINK_ABOVE_S and not queue.asks:
            size = max(1, size // 2)
        self._sizes[queue.key] = size
        self._sizes.move_to_end(queue.key)
        while len(self._sizes) > SIZES_KEPT:
            self._sizes.popitem(last=False)

    # What may be spent

    def _may_spend(self, queue: _Queue) -> bool:
        """Whether there is something to hand out, or nothing more to wait for."""
        if queue.budget is None:
            return True
        taken = self._shares.get(id(queue.budget), NO_SHARE)
        return all(
            left is None or left - (part or 0) > 0 or left <= 0 or not part
            for left, part in zip(queue.budget.left(), taken, strict=True)
        )

    def _share(self, queue: _Queue) -> Share | None:
        """A part of what is left: each chunk that may be under way has one. Nothing of nothing, whatever rounding says
        of what others have."""
        if queue.budget is None:
            return None
        taken = self._shares.get(id(queue.budget), NO_SHARE)
        parts = AT_ONCE * max(1, len(self._places))
        tokens, dollars = (
            None if left is None else min(left, max(0.0, left - (part or 0))) / parts
            for left, part in zip(queue.budget.left(), taken, strict=True)
        )
        return Share(tokens, dollars)

    def _reserve(self, queue: _Queue, share: Share | None, sign: int) -> None:
        if share is None:
            return
        taken = self._shares.get(id(queue.budget), NO_SHARE)
        tokens, dollars = ((before or 0) + sign * (part or 0) for before, part in zip(taken, share, strict=True))
        self._shares[id(queue.budget)] = Share(tokens, dollars)
        if not any(item.under_way and item.budget is queue.budget for item in self._queues.values()):
            self._shares.pop(id(queue.budget), None)

    # There and back

    async def _send(self, queue: _Queue, place: _Place, chunk: _Chunk) -> None:
        began = time.monotonic()
        try:
            answer = await self._ask(queue, place, chunk)
        except Lost as lost:
            self._lose(queue, chunk)
            self._unwell(place, str(lost))
            answer = None
        finally:
            self._count(queue, place, -1)
            self._reserve(queue, chunk.share, -1)
        if answer is not None:
            self._grow(queue, chunk, time.monotonic() - began)
            self._take_in(queue, chunk, answer)
        self._send_all()

    async def _ask(self, queue: _Queue, place: _Place, chunk: _Chunk) -> Answer:
        known = digest_of(queue.spec)
        assert known is not None  # noqa: S101  # nothing else is in a queue
        until = queue.patience.until
        order = Order(
            queue.key,
            None,
            [packed for call, index in chunk.entries if (packed := call.packed[index]) is not None],
            queue.owner,
            f"{self._name} {queue.patience.number}",
            chunk.share,
            None if until is None else max(0.001, until - time.monotonic()),
        )
        if queue.key in place.known:
            answer = await self._watched(place, pack_order(order))
            if answer.results is not None or answer.refused is not None:
                return answer
        answer = await self._watched(place, pack_order(order._replace(grader=known[1])))
        if answer.results is None and answer.refused is None:
            raise Lost("it does not keep the grader that it was sent")
        place.known.add(queue.key)
        return answer

    async def _watched(self, place: _Place, packed: bytes) -> Answer:
        """The post's answer. One that gives neither that nor a sign of life is ended. Raises Lost."""
        asked = asyncio.ensure_future(place.post.grade(packed))
        try:
            while True:
                await asyncio.wait([asked], timeout=SIGN_EVERY_S)
                if asked.done():
                    return read_answer(asked.result())
                try:
                    async with asyncio.timeout(SIGN_WITHIN_S):
                        await place.post.sign()
                except TimeoutError:
                    place.post.end()
                    raise Lost(f"it gave no sign of life for {SIGN_WITHIN_S:g} s") from None
        finally:
            asked.cancel()

    def _take_in(self, queue: _Queue, chunk: _Chunk, answer: Answer) -> None:
        if answer.results is None:
            if queue.key not in self._stays_here:
                log.warning("%s is graded here and not on the cluster: %s", queue.spec.name, answer.refused)
            self._stays_here.add(queue.key)
            for call, index in [*chunk.entries, *queue.waiting()]:
                call.put(index, None)
            queue.rows.clear()
            queue.again.clear()
            return
        budget = queue.budget
        spent: str | None = None
        if budget is not None:
            if answer.spent_tokens or answer.spent_dollars:
                budget.spend(Usage(0, 0, answer.spent_tokens), answer.spent_dollars)
            try:
                budget.check()
            except NotGraded as error:
                spent = str(error)
        again: list[Entry] = []
        for (call, index), result in zip(chunk.entries, results_of(queue.spec, answer.results), strict=True):
            left_out = result.grade.skipped
            if left_out is not None and SHARE_SPENT in left_out:
                if spent is None:
                    again.append((call, index))
                    continue
                result.grade = result.grade._replace(skipped=left_out.replace(SHARE_SPENT, spent))
            call.put(index, result)
        queue.rows.extendleft(reversed(again))

    # Losses

    def _lose(self, queue: _Queue, chunk: _Chunk) -> None:
        self.losses += 1
        chunk.lost += 1
        if chunk.lost < LOSSES:
            queue.again.appendleft(chunk)
        elif len(chunk.entries) > 1:
            queue.again.extendleft(reversed(chunk.halves()))
        else:
            call, index = chunk.entries[0]
            call.put(index, Result(queue.spec, Grade.failed(GradingFailed(LOST)), 0.0))

    def _unwell(self, place: _Place, why: str) -> None:
        if not place.is_well:
            return
        place.is_well = False
        place.known.clear()
        self._why = why
        where = f"{place.hello.get('host')}, process {place.hello.get('pid')}"
        log.warning("%s was lost, and what it had goes to another: %s", where, why)
        self._start(self._revive(place))
        self._look_who_is_well()

    async def _revive(self, place: _Place) -> None:
        """Until the post has answered: nothing is sent there before."""
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                async with asyncio.timeout(HELLO_WITHIN_S):
                    hello = await place.post.hello()
                break
            except TimeoutError:
                self._why = f"no process was begun within {HELLO_WITHIN_S:g} s: the cluster may have no core to spare"
            except Lost as lost:
                self._why = str(lost)
                place.is_hopeless = lost.hopeless and not place.was_well
                if all(other.is_hopeless for other in self._places):
                    self._refuse(ClusterUnusable(f"no process can be begun on the cluster: {self._why}"))
                    return
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        if hello["version"] != version():
            self._mismatch(place, hello)
            return
        place.hello = hello
        place.has_sandbox = hello["no_sandbox"] is None
        if not place.has_sandbox:
            log.warning("%s takes no python graders: %s", hello["host"], hello["no_sandbox"])
        place.is_well = place.was_well = True
        self._look_who_is_well()
        self._send_all()

    def _mismatch(self, place: _Place, hello: Mapping[str, Any]) -> None:
        told = (
            f"{hello['host']} has Fairmark {hello['version']}, and here is {version()}. "
            "All machines of the cluster need the same version."
        )
        place.is_refused = True
        if place.was_well:  # a machine that came later; the others go on
            log.warning("nothing is graded there: %s", told)
            self._look_who_is_well()
        else:
            self._refuse(ClusterUnusable(told))

    def _look_who_is_well(self) -> None:
        """While nobody is, time runs."""
        if any(place.is_well for place in self._places):
            if self._giving_up is not None:
                self._giving_up.cancel()
            self._giving_up = None
        elif self._giving_up is None:
            self._giving_up = asyncio.get_running_loop().call_later(self._timeout_s, self._give_up)

    def _give_up(self) -> None:
        self._giving_up = None
        self._fail_all(
            ClusterLost(f"no process of the cluster answered for {self._timeout_s:g} s. The last time: {self._why}.")
        )

    def _refuse(self, error: FairmarkError) -> None:
        self._refusal = error
        self._fail_all(error)

    def _fail_all(self, error: FairmarkError) -> None:
        for call in self._calls:
            if not call.done.done():
                call.done.set_exception(error)

    def _start(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("the cluster's dispatch broke; please report this", exc_info=task.exception())
            self._fail_all(ClusterLost(f"internal error: {task.exception()!r}"))


NO_SHARE = Share(0.0, 0.0)


def digest_of(spec: GraderSpec) -> tuple[bytes, dict[str, Any]] | None:
    """As `digest`, made once for a grader."""
    if "_digest" not in spec.__dict__:
        spec.__dict__["_digest"] = digest(spec)
    known: tuple[bytes, dict[str, Any]] | None = spec.__dict__["_digest"]
    return known


def _pack_all(rows: Sequence[Row]) -> list[bytes | None]:
    packed: list[bytes | None] = []
    for row in rows:
        try:
            packed.append(pack_row(row.data))
        except CANNOT_BE_SENT:
            packed.append(None)
    return packed
