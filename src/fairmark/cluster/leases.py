"""A process's side of the cluster's limits: what it may have for now, and what it tells and hears of others.

Where nobody answers for these limits any more, what was leased ends soon, and a while later the process holds them for
itself: a cluster that is gone limits nobody.
"""

import asyncio
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence

from fairmark.cluster.dispatch import Lost
from fairmark.cluster.limiter import LEASE_S, Grant, Report
from fairmark.work.bucket import Bucket
from fairmark.work.fair import FairSlots
from fairmark.work.together import Line

log = logging.getLogger("fairmark.cluster")

BEAT_EVERY_S = 1.0
HUNGRY_S = 0.03
"""How soon those ask again who wait for a place."""
ANSWER_WITHIN_S = 10.0
KEPT_S = LEASE_S - 1.5
"""How long a grant counts here: a little less than there."""
ALONE_AFTER_S = 30.0
PERMIT_S = 1.0
"""Permits that were not used by then are forgotten."""
LOOK_S = 0.005
A_BLOCK = 1 / 240
"""Permits asked for together, at most: a quarter of a second's worth."""

Beat = Callable[[str, Sequence[Report]], Awaitable[Sequence[Grant]]]


class ModelLeases:
    """All models of this process. Lives on one event loop, the one on which its models are asked."""

    def __init__(self, beat: Beat) -> None:
        """`beat` raises Lost."""
        self._beat = beat
        self._process = uuid.uuid4().hex
        self._models: dict[str, _Model] = {}
        self._task: asyncio.Task[None] | None = None
        self._news: asyncio.Event | None = None
        self._heard_at = time.monotonic()
        self.is_alone = False

    # What gates ask for

    def slots(self, name: str, total: int, spare: int = 0) -> FairSlots:
        model = self._model(name)
        model.slots = LeasedSlots(model, total, spare)
        return model.slots

    def bucket(self, name: str, a_minute: float | None, holds: float) -> Bucket:
        name, _, what = name.rpartition(", ")
        bucket = LeasedBucket(self._model(name), a_minute)
        if a_minute:
            self._model(name).buckets[what] = bucket
        return bucket

    def line(self, name: str) -> "LeasedLine":
        return self._model(name).line

    def _model(self, name: str) -> "_Model":
        if name not in self._models:
            self._models[name] = _Model(name, self)
        return self._models[name]

    # Telling and hearing

    def wake(self) -> None:
        """There is something to tell, or to ask for."""
        if self._task is None or self._task.done():
            self._news = asyncio.Event()
            self._heard_at = time.monotonic()
            self._task = asyncio.get_running_loop().create_task(self._keep())
        assert self._news is not None  # noqa: S101  # made with the task
        self._news.set()

    async def _keep(self) -> None:
        """Until nothing is held or wanted any more, and what was granted is given back."""
        assert self._news is not None  # noqa: S101
        while any(model.is_used for model in self._models.values()):
            self._news.clear()
            began = time.monotonic()
            models = [model for model in self._models.values() if model.is_used]
            reports = [model.report() for model in models]
            try:
                async with asyncio.timeout(ANSWER_WITHIN_S):
                    grants = await self._beat(self._process, reports)
            except (Lost, TimeoutError) as error:
                self._missed(str(error) or "no answer")
                await asyncio.sleep(HUNGRY_S)
            else:
                self._heard_at, self.is_alone = began, False
                for model, grant in zip(models, grants, strict=True):
                    model.take(grant, began)
            await self._pause()

    async def _pause(self) -> None:
        """A moment, so that what comes together is told together; longer where there is nothing to tell."""
        assert self._news is not None  # noqa: S101
        await asyncio.sleep(LOOK_S)
        hungry = any(model.is_hungry or model.gives_back for model in self._models.values())
        try:
            async with asyncio.timeout(HUNGRY_S if hungry else BEAT_EVERY_S):
                await self._news.wait()
        except TimeoutError:
            pass

    def _missed(self, why: str) -> None:
        if self.is_alone or time.monotonic() - self._heard_at < ALONE_AFTER_S:
            return
        self.is_alone = True
        log.warning("the cluster's limits cannot be asked, and hold for this process alone: %s", why)
        for model in self._models.values():
            model.let_in()


class _Model:
    def __init__(self, name: str, leases: ModelLeases) -> None:
        self.leases = leases
        self.slots: LeasedSlots | None = None
        self.buckets: dict[str, LeasedBucket] = {}
        self.line = LeasedLine(self)
        self._name = name
        self._granted = 0
        self._told = 0
        """What the limiter was told last that it has granted: so much it keeps for us."""
        self._until = 0.0

    @property
    def places(self) -> int | None:
        """None where this process is alone."""
        if self.leases.is_alone:
            return None
        return self._granted if time.monotonic() < self._until else 0

    @property
    def is_used(self) -> bool:
        slots = self.slots
        in_use = slots is not None and bool(slots.holding or slots.waiting)
        return in_use or bool(self.places) or self.gives_back or self.line.has_news

    @property
    def gives_back(self) -> bool:
        """It was granted less, and others may have the rest once the limiter knows that it is known here."""
        return self._granted < self._told

    @property
    def is_hungry(self) -> bool:
        return self.slots is not None and self.slots.waiting > 0

    def report(self) -> Report:
        slots, requests, tokens = self.slots, self.buckets.get("requests"), self.buckets.get("tokens")
        line = self.line
        self._told = self.places or 0
        report = Report(
            self._name,
            1 if slots is None else slots.most,
            None if requests is None else requests.a_minute,
            None if tokens is None else tokens.a_minute,
            0 if slots is None else slots.holding + slots.waiting,
            0 if slots is None else slots.holding,
            self._told,
            0.0 if requests is None else requests.ask(),
            0.0 if tokens is None else tokens.ask(),
            line.throttled_s,
            line.has_answered,
            line.dead,
            line.trying is not None,
        )
        line.throttled_s, line.has_answered, line.dead = 0.0, False, ""
        return report

    def take(self, grant: Grant, asked_at: float) -> None:
        grant = Grant(*grant)
        self._granted, self._until = grant.places, asked_at + KEPT_S
        for what, after_s in (("requests", grant.requests_after_s), ("tokens", grant.tokens_after_s)):
            if what in self.buckets:
                self.buckets[what].get(time.monotonic() + after_s)
        self.line.hear(grant)
        self.let_in()

    def let_in(self) -> None:
        if self.slots is not None:
            self.slots.let_in()


class LeasedSlots(FairSlots):
    """Plain slots, of which no more are held than this process has places for now."""

    def __init__(self, model: _Model, total: int, spare: int) -> None:
        super().__init__(total, spare=spare, what="judge")
        self._model = model
        self.most = total + spare

    def has_room(self, owner: str) -> bool:
        places = self._model.places
        if not super().has_room(owner):
            return False
        if places is None or self._holding < places:
            return True
        self._model.leases.wake()
        return False

    async def enter(self, owner: str, work: object = None, rank: int = 0) -> None:
        if not self.has_room(owner):
            # It is told with those who wait, and so has to wait by then.
            asyncio.get_running_loop().call_soon(self._model.leases.wake)
        await super().enter(owner, work, rank)

    def let_in(self) -> None:
        self._let_in()


class LeasedBucket(Bucket):
    """Permits that were reserved for this process, a few at a time."""

    __slots__ = ("_asked", "_expires_at", "_granted", "_model", "_own", "_ready_at", "_used", "_wanted", "a_minute")

    def __init__(self, model: _Model, a_minute: float | None) -> None:
        super().__init__(a_minute, 1.0)
        self.a_minute = a_minute
        self._model = model
        self._own = Bucket.evenly(a_minute)
        """For a process that is alone."""
        self._granted = 0.0
        self._expires_at = 0.0
        self._wanted = 0.0
        self._asked: float | None = None
        self._ready_at: float | None = None
        self._used = 0.0

    def delay(self, amount: float, now: float) -> float:
        if not self.a_minute:
            return 0.0
        if self._model.leases.is_alone:
            return self._own.delay(amount, now)
        if self._ready_at is not None and self._asked is not None and now >= self._ready_at:
            self._granted = min(self._granted, 0.0) if now > self._expires_at else self._granted
            self._granted += self._asked
            self._expires_at, self._asked, self._ready_at = now + PERMIT_S, None, None
        elif now > self._expires_at:
            self._granted = min(self._granted, 0.0)
        missing = amount - self._granted
        if missing <= 1e-6:
            return 0.0
        if self._asked is None:
            self._wanted = max(missing, min(self._used, A_BLOCK * self.a_minute))
            self._model.leases.wake()
        return LOOK_S if self._ready_at is None else max(LOOK_S, self._ready_at - now)

    def take(self, amount: float) -> None:
        if not self.a_minute:
            return
        self._own.take(amount)
        self._granted -= amount
        self._used += max(0.0, amount)

    def ask(self) -> float:
        """How many permits to ask for now."""
        if self._asked is not None or not self._wanted:
            return 0.0
        self._asked, self._wanted, self._used = self._wanted, 0.0, 0.0
        return self._asked

    def get(self, ready_at: float) -> None:
        if self._asked is not None and self._ready_at is None:
            self._ready_at = ready_at


class LeasedLine(Line):
    """What the gate and the breaker of a model tell those of other processes, and hear from them."""

    def __init__(self, model: _Model) -> None:
        super().__init__()
        self._model = model
        self.throttled_s = 0.0
        self.has_answered = False
        self.dead = ""
        self.trying: asyncio.Future[bool] | None = None
        self._heard_dead = False

    @property
    def has_news(self) -> bool:
        return bool(self.throttled_s or self.dead or self.trying or self._heard_dead)

    def throttled(self, pause_s: float) -> None:
        self.throttled_s = max(self.throttled_s, pause_s)
        self._model.leases.wake()

    def answered(self) -> None:
        self.has_answered = True

    def died(self, why: str) -> None:
        self.dead = why
        self._model.leases.wake()

    async def may_try(self) -> bool:
        if self._model.leases.is_alone:
            return True
        if self.trying is not None:
            return False
        self.trying = asyncio.get_running_loop().create_future()
        self._model.leases.wake()
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                return await self.trying
        except TimeoutError:
            return True  # nobody knows better
        finally:
            self.trying = None

    def hear(self, grant: Grant) -> None:
        if self.trying is not None and not self.trying.done():
            self.trying.set_result(grant.may_try)
        if grant.paused_s > 0:
            self.on_pause(grant.paused_s)
        if grant.dead and not self._heard_dead:
            self._heard_dead = True
            self.on_death(grant.dead)
        elif not grant.dead and self._heard_dead:
            self._heard_dead = False
            self.on_life()
