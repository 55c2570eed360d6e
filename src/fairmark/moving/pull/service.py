"""The client of a hosted service: pages that shrink when they fail, pauses that it asks for, and an end to patience."""

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from yarl import URL

from fairmark import jsontext
from fairmark.errors import AnswerTooLarge, CannotRead, FairmarkError, KeyRefused, PullStopped, Unanswered
from fairmark.judges.client import connector, proxy_for
from fairmark.moving.pull.door import Door
from fairmark.moving.pull.pages import ReceivedPage, Unreadable, read_head, read_page
from fairmark.outbound.client import Destination, Effort, Http, HttpAnswer, HttpRequest, Terms
from fairmark.outbound.connection import asked_pause_s, used_up_for_s
from fairmark.outbound.limits import CallGate
from fairmark.outbound.secrets import hidden
from fairmark.work.fair import FairSlots

T = TypeVar("T")

AT_ONCE = 4
SIZES = (100, 20, 5, 1)
"""Of pages: a run shows its inline rows, so that a page of a hundred may be too much for the service, or for us."""
GROWS_AFTER = 5
"""So many good pages of a size, and a larger one is tried again; the more, the oftener it was too large."""
RETRIED = frozenset({408, 409, 425, 429})


@dataclass(frozen=True)
class PullPatience:
    """How long, how often and how much."""

    tries: int = 8
    """For an object or a page, over all its sizes; then it is a problem, and the rest goes on."""
    tries_a_size: int = 2
    attempt_s: float = 120.0
    first_pause_s: float = 0.5
    longest_pause_s: float = 20.0
    longest_wait_s: float = 900.0
    """The longest pause that the service may ask for."""
    page_bytes: int = 32 << 20
    object_bytes: int = 512 << 20
    """A page of one object: a run with all its rows."""
    file_bytes: int = 8 << 30
    slowest_bytes_s: float = 50_000.0
    """A download that is slower on the whole is given up."""


class _Failed(Exception):  # a message between two methods, not an error
    """One attempt brought nothing."""

    def __init__(
        self,
        why: str,
        *,
        large: bool = False,
        late: bool = False,
        reached: bool = True,
        pause_s: float | None = None,
    ) -> None:
        super().__init__(why)
        self.large = large
        self.late = late
        self.reached = reached
        self.pause_s = pause_s


class _NotGood(Exception):  # a message between two methods, not an error
    def __init__(self, answer: HttpAnswer) -> None:
        super().__init__()
        self.answer = answer


@dataclass
class Pace:
    """How large the pages of one list are."""

    sizes: tuple[int, ...] = SIZES
    step: int = 0
    good: int = 0
    grows_after: int = GROWS_AFTER

    @property
    def size(self) -> int:
        return self.sizes[self.step]

    def shrink(self) -> bool:
        """False where it cannot be smaller."""
        self.good = 0
        self.grows_after *= 2  # what was too large once may be so for long
        if self.step + 1 == len(self.sizes):
            return False
        self.step += 1
        return True

    def went_well(self) -> None:
        self.good += 1
        if self.step and self.good >= self.grows_after:
            self.step, self.good = self.step - 1, 0


@dataclass
class HostedService:
    """Asks one hosted service. Lives on one event loop."""

    door: Door
    key: str
    environment: Mapping[str, str] = field(default_factory=dict)
    patience: PullPatience = PullPatience()
    on_wait: Callable[[float], None] = lambda seconds: None
    """Told how long the service wants nothing to be asked."""
    requests: int = 0

    def __post_init__(self) -> None:
        self._headers = {"Accept": "application/json", **self.door.headers(self.key, self.environment)}
        self._secrets = (self.key, *self.door.headers(self.key, self.environment).values())
        self._base = URL(self.door.base_url, encoded=True)
        self._proxy = proxy_for(self.door.base_url)
        self._place = Destination(self.door.base_url, CallGate(AT_ONCE, cut=0.5))
        self._http = Http(connector, FairSlots(2 * AT_ONCE), unpack=True)
        self._large = asyncio.Lock()
        self.is_let_in = False
        """Whether the service has given anything yet."""

    async def page(self, path: str, query: Mapping[str, str], after: str | None, pace: Pace) -> ReceivedPage:
        """The page behind `after`. Where it fails, smaller ones are asked for.

        Raises CannotRead, KeyRefused or PullStopped.
        """
        failures = at_this_size = turned_away = 0
        while True:
            asked = {**query, "limit": str(pace.size), **({} if after is None else {"after": after})}
            is_last = pace.step + 1 == len(pace.sizes)
            try:
                page = await self._page(path, asked, is_last=is_last)
            except CannotRead as refusal:
                # Perhaps it is the size of the page that the service does not take.
                if refusal.http_status == 400 and after is None and pace.shrink():
                    continue
                raise
            except _Failed as failure:
                if failure.pause_s is not None:
                    turned_away += 1
                    if turned_away >= self.patience.tries:
                        raise CannotRead(f"{failure} It was asked {turned_away} times.", 429) from None
                    await self._wait(failure.pause_s)
                    continue
                failures, at_this_size = failures + 1, at_this_size + 1
                too_often = at_this_size >= self.patience.tries_a_size
                is_too_much = failure.large or failure.late
                shrunk = (is_too_much or too_often) and pace.shrink()
                at_this_size = 0 if shrunk else at_this_size
                if failures >= self._tries(failure) or (is_too_much and not shrunk):
                    raise self._given_up(failure, failures) from None
                if not is_too_much:
                    await asyncio.sleep(self._pause_s(failures))
                continue
            pace.went_well()
            return page

    async def object(self, path: str) -> bytes:
        """One object, as it comes. Raises as `page` does."""
        return (await self._persist(path, self.patience.page_bytes)).data

    async def save(self, path: str, sink: Callable[[], Callable[[bytes], None]], size: int | None) -> None:
        """A file's content into what `sink` gives, anew for each attempt. Raises as `page` does."""
        most_s = self.patience.attempt_s + (size or 0) / self.patience.slowest_bytes_s
        await self._persist(path, self.patience.file_bytes, sink, most_s)

    async def _persist(
        self,
        path: str,
        most_bytes: int,
        sink: Callable[[], Callable[[bytes], None]] | None = None,
        attempt_s: float | None = None,
    ) -> HttpAnswer:
        late = 0
        for tried in range(1, self.patience.tries + 1):
            try:
                answer = await self._ask(path, {}, most_bytes, sink() if sink else None, attempt_s)
                if sink is None:
                    await self._understood(read_head, answer)
                return answer
            except _Failed as failure:
                late += failure.late
                if failure.large or late == self.patience.tries_a_size or tried >= self._tries(failure):
                    raise self._given_up(failure, tried) from None
                if failure.pause_s is None:
                    await asyncio.sleep(self._pause_s(tried))
                else:
                    await self._wait(failure.pause_s)
        raise AssertionError  # the last try has returned or raised

    async def _page(self, path: str, query: Mapping[str, str], *, is_last: bool) -> ReceivedPage:
        if not is_last:
            return await self._read(path, query, self.patience.page_bytes)
        async with self._large:  # one that may be that large at a time
            return await self._read(path, query, self.patience.object_bytes)

    async def _read(self, path: str, query: Mapping[str, str], most_bytes: int) -> ReceivedPage:
        return await self._understood(read_page, await self._ask(path, query, most_bytes))

    async def _understood(self, read: Callable[[bytes], T], answer: HttpAnswer) -> T:
        """What an answer that should be JSON says. Raises _Failed: pages for people pass."""
        try:
            if len(answer.data) < 1 << 20:
                return read(answer.data)
            return await asyncio.to_thread(read, answer.data)
        except Unreadable as error:
            raise _Failed(hidden(f"the service answered 200 and {error}.", self._secrets)) from None

    async def _ask(
        self,
        path: str,
        query: Mapping[str, str],
        most_bytes: int,
        sink: Callable[[bytes], None] | None = None,
        attempt_s: float | None = None,
    ) -> HttpAnswer:
        """One attempt. Raises _Failed where another may help."""
        url = self._base.joinpath(path, encoded=True).with_query({**dict(self.door.query), **query})
        sent = HttpRequest(url, None, self._headers, self._proxy, self._secrets, sink)
        most_s = attempt_s or self.patience.attempt_s

        async def request() -> HttpRequest:
            self.requests += 1
            return sent

        try:
            answer = await self._http.ask(self._place, Terms(1, most_s, most_s, most_bytes), Effort(), request, _good)
        except Unanswered as failure:
            raise _Failed(str(failure), late=failure.late, reached=failure.reached) from None
        except AnswerTooLarge:
            raise _Failed(f"the answer is larger than {most_bytes >> 20} MiB.", large=True) from None
        except _NotGood as refusal:
            raise self._refusal(refusal.answer) from None
        self.is_let_in = True
        if sink is not None and "text/html" in answer.headers.get("Content-Type", ""):
            raise _Failed("the service answered with a page for people in place of a file.")
        pause_s = used_up_for_s(answer.headers)
        if pause_s > 0:
            self._place.gate.pause(self._bounded(pause_s))
            self.on_wait(pause_s)
        return answer

    def _refusal(self, answer: HttpAnswer) -> Exception:
        """What an answer that is not 200 means."""
        status = answer.status
        told = f"the service answered {status}: {self._said(answer.data)}"
        if status == 401 or (status == 403 and not self.is_let_in):
            if self.is_let_in:
                return PullStopped(f"the key is no longer accepted: {told}")
            return KeyRefused(f"the key is refused at {self.door.base_url}: {told}")
        if status == 429:
            asked_s = asked_pause_s(answer.headers)
            pause_s = asked_s if asked_s is not None else used_up_for_s(answer.headers) or 1.0
            self._place.gate.throttle(self._bounded(pause_s))
            return _Failed(told, pause_s=pause_s)
        if status in RETRIED or status >= 500:
            return _Failed(told)
        if 300 <= status < 400:
            told = f"the service answered {status} and points elsewhere; redirects are not followed."
        return CannotRead(told, status)

    def _said(self, data: bytes) -> str:
        try:
            value = jsontext.decode(data)
        except ValueError:
            value = None
        error = value.get("error") if isinstance(value, dict) else None
        said = error.get("message") if isinstance(error, dict) else error
        text = said if isinstance(said, str) else data[:2000].decode("utf-8", "replace")
        return jsontext.shorten(hidden(" ".join(text.split()), self._secrets), 300) or "nothing"

    def _tries(self, failure: _Failed) -> int:
        """Who is not there at all is likely to be a wrong address: that is told soon."""
        return self.patience.tries if failure.reached or self.is_let_in else min(3, self.patience.tries)

    def _given_up(self, failure: _Failed, tried: int) -> FairmarkError:
        more = f" It was asked {tried} times." if tried > 1 else ""
        if not failure.reached:
            return PullStopped(f"{self.door.base_url} cannot be reached: {failure}{more}")
        return CannotRead(f"{failure}{more}")

    def _bounded(self, pause_s: float) -> float:
        """Raises PullStopped where it is longer than anybody waits."""
        if pause_s > self.patience.longest_wait_s:
            raise PullStopped(f"the service wants nothing to be asked for {pause_s:,.0f} s.")
        return pause_s

    async def _wait(self, pause_s: float) -> None:
        self.on_wait(pause_s)
        await asyncio.sleep(self._bounded(pause_s) + random.uniform(0.0, 0.1) * min(1.0, pause_s))

    def _pause_s(self, failures: int) -> float:
        pause_s: float = self.patience.first_pause_s * 2.0 ** (failures - 1)
        return min(self.patience.longest_pause_s, pause_s) * random.uniform(0.5, 1.0)

    async def close(self) -> None:
        await self._http.close()


def _good(answer: HttpAnswer) -> HttpAnswer:
    if answer.status != 200:
        raise _NotGood(answer)
    return answer
