"""What all processes of a cluster may ask of a model together: places, rates, pauses, and whether it answers at all.

There is one of them in a cluster, for all models: an actor more costs as much memory as a thousand models here.
Processes tell it again and again what they have and want, and what they are granted counts for a few seconds: who dies
holds nothing for long.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from fairmark.work.bucket import Bucket

LEASE_S = 5.0
"""What a process may have is forgotten after so long without a word from it."""
TURN_S = 1.0
"""Where there are fewer places than processes, others have them after so long."""
STRICT = 0.97
"""Of a rate: permits may be used a second after they were handed out, and no minute shall have too many of them."""
ALIVE_S = 3.0
"""Who has heard from a model within so long knows better than who says that it is dead."""
TRY_EVERY_S = 5.0


class Report(NamedTuple):
    """What one process tells of one model."""

    name: str
    total: int
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    wanted: int = 0
    """Places: those that it holds and those that are waited for."""
    held: int = 0
    believed: int = 0
    """What it was granted last."""
    requests: float = 0.0
    tokens: float = 0.0
    """Permits that it needs."""
    throttled_s: float = 0.0
    """The model's server has said that it is too much, and to come again after so long."""
    answered: bool = False
    """Since the last word."""
    dead: str = ""
    """Why it takes the model for dead."""
    tries: bool = False
    """It would try whether the model answers again."""


class Grant(NamedTuple):
    """What the process may do."""

    places: int = 0
    requests_after_s: float = 0.0
    tokens_after_s: float = 0.0
    """The permits that were asked for may be used after so long."""
    paused_s: float = 0.0
    dead: str = ""
    may_try: bool = False


class _Claim(NamedTuple):
    places: int
    held: int
    believed: int
    wanted: int
    at: float

    @property
    def taken(self) -> int:
        """What it believed counts until it has told that it heard of less: it may go on by it meanwhile."""
        return max(self.places, self.held, self.believed)


class _ModelState:
    def __init__(self, report: Report, empty: bool) -> None:
        self.claims: dict[str, _Claim] = {}
        self.requests = _bucket(report.requests_per_minute, empty)
        self.tokens = _bucket(report.tokens_per_minute, empty)
        self.paused_until = 0.0
        self.answered_at = -TRY_EVERY_S
        self.tried_at = -TRY_EVERY_S
        self.dead = ""
        self.heard_at = 0.0


def _bucket(a_minute: float | None, empty: bool) -> Bucket:
    strict = None if a_minute is None else STRICT * a_minute
    bucket = Bucket(strict, (strict or 0.0) / 240)
    if empty:  # others may just have taken what one that begins anew would hand out again
        bucket.take((strict or 0.0) / 60)
    return bucket


class Limiter:
    """`quiet`: another was there before, whose grants still count; at first nobody gets more than he had."""

    def __init__(self, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._models: dict[str, _ModelState] = {}
        self._began_empty = quiet
        self._quiet_until = clock() + LEASE_S if quiet else 0.0

    def beat(self, process: str, reports: Sequence[Report]) -> list[Grant]:
        now = self._clock()
        for name in [name for name, model in self._models.items() if now - model.heard_at > 60 * LEASE_S]:
            del self._models[name]
        return [self._grant(process, Report(*report), now) for report in reports]

    def _grant(self, process: str, report: Report, now: float) -> Grant:
        model = self._models.get(report.name)
        if model is None:
            model = self._models[report.name] = _ModelState(report, self._began_empty)
        model.heard_at = now
        if report.throttled_s > 0:
            model.paused_until = max(model.paused_until, now + report.throttled_s)
        if report.answered:
            model.answered_at, model.dead = now, ""
        elif report.dead and not model.dead and now - model.answered_at > ALIVE_S:
            model.dead, model.tried_at = report.dead, now
        may_try = report.tries and now - model.tried_at >= TRY_EVERY_S
        if may_try:
            model.tried_at = now
        return Grant(
            self._places(model, process, report, now),
            _reserved(model.requests, report.requests, now),
            _reserved(model.tokens, report.tokens, now),
            max(0.0, model.paused_until - now),
            model.dead,
            may_try,
        )

    def _places(self, model: _ModelState, process: str, report: Report, now: float) -> int:
        claims = model.claims
        for other in [other for other, claim in claims.items() if now - claim.at > LEASE_S]:
            del claims[other]
        claims.pop(process, None)
        free = report.total - sum(claim.taken for claim in claims.values())
        wanted = {other: claim.wanted for other, claim in claims.items()} | {process: report.wanted}
        part = shares(report.total, wanted, int(now / TURN_S))[process]
        if now < self._quiet_until:
            part = min(part, report.believed)
        places = max(0, min(part, free))
        if places or report.held or report.believed or report.wanted:
            claims[process] = _Claim(places, report.held, report.believed, report.wanted, now)
        return places


def shares(total: int, wanted: Mapping[str, int], turn: int) -> dict[str, int]:
    """So many for each, as equal as what they want allows. What cannot be halved goes from one to the next by turns."""
    given = dict.fromkeys(wanted, 0)
    hungry = sorted(process for process, count in wanted.items() if count > 0)
    if hungry:
        first = turn % len(hungry)
        hungry = hungry[first:] + hungry[:first]
    while total > 0 and hungry:
        part = max(1, total // len(hungry))
        for process in hungry:
            more = min(part, wanted[process] - given[process], total)
            given[process] += more
            total -= more
        hungry = [process for process in hungry if given[process] < wanted[process]]
    return given


def _reserved(bucket: Bucket, amount: float, now: float) -> float:
    """After how long so many permits may be used; they are taken."""
    if amount <= 0:
        return 0.0
    delay = bucket.delay(amount, now)
    bucket.take(amount)
    return delay
