"""The HTTP client under judges and reward servers: connections, turns, attempts with pauses between, deadlines.

It knows servers and no questions: what an answer means, and how a failure is worded and flagged, is the business of
whoever asks.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import aiohttp
from yarl import URL

from fairmark.errors import AnswerTooLarge, Unanswered
from fairmark.outbound.connection import asked_pause_s, why_it_failed, will_not_pass
from fairmark.outbound.limits import Breaker, CallGate
from fairmark.outbound.secrets import hidden
from fairmark.work.fair import FairSlots

CONNECT_S = 10.0
FEW = 4
"""Questions at one destination that go beyond what their owner may have under way at all of them."""
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 20.0

T = TypeVar("T")


class HttpRequest(NamedTuple):
    """What is sent. Without a body it is a GET."""

    url: URL
    body: bytes | None
    headers: Mapping[str, str]
    proxy: str | None = None
    secrets: tuple[str, ...] = ()
    """What must not stand in a message."""
    sink: Callable[[bytes], None] | None = None
    """Where the body of a good answer goes, piece by piece, instead of into memory. What it raises is passed on."""


class HttpAnswer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    data: bytes
    seconds: float


class Retry(Exception):  # a message between two methods, not an error
    """An attempt brought no answer that can be used; another may."""

    def __init__(
        self,
        why: str,
        headers: Mapping[str, str] | None = None,
        *,
        too_much: bool = False,
        lives: bool = False,
        late: bool = False,
        reached: bool = True,
    ) -> None:
        """`headers`: those of the answer, which may ask for a pause. `too_much`: others should hold back as well.
        `lives`: it is no sign of a dead server."""
        super().__init__(why)
        self.pause_s = None if headers is None else asked_pause_s(headers)
        self.too_much = too_much or self.pause_s is not None
        self.lives = lives
        self.late = late
        self.reached = reached


@dataclass(frozen=True, slots=True)
class Terms:
    """What one question may take."""

    attempts: int
    attempt_s: float
    deadline_s: float
    """With all attempts and the pauses between them."""
    most_bytes: int


class Effort:
    """What one question has taken so far, over all its attempts."""

    __slots__ = ("_ends_at", "attempts", "owner", "started")

    def __init__(self, owner: str = "") -> None:
        self.owner = owner
        """Whose question it is: owners share a server's places fairly."""
        self.attempts = 0
        self.started: float | None = None
        """When the first attempt began; the time a question waits for its turn is not the server's."""
        self._ends_at: float | None = None

    @property
    def seconds(self) -> float:
        return 0.0 if self.started is None else time.perf_counter() - self.started

    def begin(self) -> None:
        """An attempt is about to be made. Raises where the question must not be asked any more."""

    def left_s(self, deadline_s: float) -> float:
        """Until the deadline. The clock starts with the first call: at the first attempt, or where a server that does
        not answer is waited for."""
        now = time.perf_counter()
        if self._ends_at is None:
            self._ends_at = now + deadline_s
        return self._ends_at - now


class Destination:
    """A server, or one model at a server: how much may be under way there, and whether it answers."""

    __slots__ = ("breaker", "few", "gate")

    def __init__(self, name: str, gate: CallGate) -> None:
        self.gate = gate
        self.breaker = Breaker(name, gate.line)
        self.few = FairSlots(FEW)
        """For those who may not have more under way elsewhere."""


async def sooner(*entering: Coroutine[Any, Any, Callable[[], object]]) -> Callable[[], object]:
    """What gives back the place that comes first; one that comes at the same moment is given back at once."""
    tasks = [asyncio.ensure_future(each) for each in entering]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        for leave in await _entered(tasks):
            leave()
        raise
    first, *others = await _entered(tasks)
    for leave in others:
        leave()
    return first


async def _entered(tasks: "list[asyncio.Task[Callable[[], object]]]") -> list[Callable[[], object]]:
    """Of those that came; the others do not come any more."""
    for task in tasks:
        task.cancel()
    return [found for found in await asyncio.gather(*tasks, return_exceptions=True) if callable(found)]


class Http:
    """Sends requests and brings answers back. Lives on one event loop."""

    def __init__(
        self,
        connector: Callable[[], aiohttp.TCPConnector],
        all_places: FairSlots,
        *,
        unpack: bool,
        few_places: FairSlots | None = None,
    ) -> None:
        """`all_places` bounds what is under way at all places together. Beyond it there are `few_places`, of which each
        destination has a few: an owner whose others hang, however many, is not kept from one that answers. Without
        `unpack` bodies are taken as they are: a small one could hide a very large one."""
        self._connector = connector
        self._all_places = all_places
        self._few_places = few_places
        self._unpack = unpack
        self._session: aiohttp.ClientSession | None = None
        self._timeout = aiohttp.ClientTimeout(sock_connect=CONNECT_S)
        """The last one: most attempts have the same."""

    async def ask(
        self,
        place: Destination,
        terms: Terms,
        effort: Effort,
        request: Callable[[], Awaitable[HttpRequest]],
        read: Callable[[HttpAnswer], T],
        tokens: float = 0.0,
    ) -> T:
        """What `read` makes of the server's answer. `read` raises Retry where another attempt may help, and whatever it
        likes where none does.

        Raises Unanswered where no attempt brought anything, AnswerTooLarge where the answer is larger than allowed.
        """
        gate, breaker, owner = place.gate, place.breaker, effort.owner
        tries = 0
        while True:
            is_trial = breaker.is_open and await _passed(breaker, terms, effort)
            good = False
            await gate.enter(tokens, owner)
            try:
                if breaker.is_open and not is_trial:
                    continue  # the server died while this one waited for its turn
                value = await self._try(place, terms, effort, request, read)
                good = True
                return value
            except Retry as retry:
                tries += 1
                pause_s = _pause_s(retry, tries, terms, effort)
                if retry.too_much:
                    gate.throttle(pause_s)
            finally:
                gate.leave(owner, good=good)
            await asyncio.sleep(pause_s)

    async def _enter(self, place: Destination, owner: str) -> Callable[[], object]:
        """A place among all, or one of the few where that comes sooner. What gives it back."""
        if self._all_places.try_enter(owner):
            return partial(self._all_places.leave, owner)
        few = self._few_places

        async def one_of_all() -> Callable[[], object]:
            await self._all_places.enter(owner)
            return partial(self._all_places.leave, owner)

        if few is None:
            return await one_of_all()

        async def one_of_few() -> Callable[[], object]:
            with ExitStack() as entered:
                for slots in (place.few, few):
                    await slots.enter(owner)
                    entered.callback(slots.leave, owner)
                return entered.pop_all().close

        return await sooner(one_of_all(), one_of_few())

    async def _try(
        self,
        place: Destination,
        terms: Terms,
        effort: Effort,
        request: Callable[[], Awaitable[HttpRequest]],
        read: Callable[[HttpAnswer], T],
    ) -> T:
        breaker = place.breaker
        leave = await self._enter(place, effort.owner)
        try:
            effort.begin()
            sent = await request()
            answer = await self._attempt(sent, terms, effort)
        except Retry as retry:
            breaker.failed(hash(sent.body), str(retry))
            raise
        finally:
            leave()
        try:
            value = read(answer)
        except Retry as retry:
            if retry.lives:
                breaker.answered()
            else:
                breaker.failed(hash(sent.body), str(retry))
            raise
        except Exception:
            breaker.answered()  # it lives, whatever it says
            raise
        breaker.answered()
        return value

    async def _attempt(self, sent: HttpRequest, terms: Terms, effort: Effort) -> HttpAnswer:
        left_s = effort.left_s(terms.deadline_s)
        limit_s = max(0.001, min(terms.attempt_s, left_s))
        if self._timeout.total != limit_s:
            self._timeout = aiohttp.ClientTimeout(total=limit_s, sock_connect=CONNECT_S)
        started = time.perf_counter()
        if effort.started is None:
            effort.started = started
        effort.attempts += 1
        try:
            async with self._open().request(
                "GET" if sent.body is None else "POST",
                sent.url,
                data=sent.body,
                headers=sent.headers,
                timeout=self._timeout,
                allow_redirects=False,
                proxy=sent.proxy,
            ) as response:
                if sent.sink is not None and response.status == 200:
                    await _pour(response, sent.sink, terms.most_bytes)
                    data = b""
                else:
                    data = await read_within(response, terms.most_bytes)
                return HttpAnswer(response.status, response.headers, data, time.perf_counter() - started)
        except TimeoutError:
            whole_s = terms.attempt_s if left_s > terms.attempt_s else terms.deadline_s
            raise Retry(f"no answer within {whole_s:g} s.", late=True) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            why = hidden(f"{why_it_failed(error)}.", sent.secrets)
            reached = not isinstance(error, aiohttp.ClientConnectorError)
            if will_not_pass(error):
                raise Unanswered(why, reached=reached) from None
            raise Retry(why, reached=reached) from None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=self._connector(),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=self._unpack,
                trust_env=False,
            )
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


async def read_within(response: aiohttp.ClientResponse, most_bytes: int) -> bytes:
    """The body. Raises AnswerTooLarge as soon as it is larger than we are willing to hold."""
    length = response.content_length
    if length is not None and length > most_bytes:
        response.close()
        raise AnswerTooLarge(most_bytes)
    if length is not None and "Content-Encoding" not in response.headers:
        return await response.read()
    data = bytearray()
    async for chunk in response.content.iter_any():
        data += chunk
        if len(data) > most_bytes:
            response.close()
            raise AnswerTooLarge(most_bytes)
    return bytes(data)


async def _pour(response: aiohttp.ClientResponse, sink: Callable[[bytes], None], most_bytes: int) -> None:
    """Raises AnswerTooLarge as soon as the body is larger than we are willing to take."""
    poured = 0
    async for chunk in response.content.iter_any():
        poured += len(chunk)
        if poured > most_bytes:
            response.close()
            raise AnswerTooLarge(most_bytes)
        sink(chunk)


async def _passed(breaker: Breaker, terms: Terms, effort: Effort) -> bool:
    try:
        return await breaker.passed(effort.left_s(terms.deadline_s))
    except TimeoutError:
        raise Unanswered(f"no answer within {terms.deadline_s:g} s: {breaker.why}", late=True) from None


def _pause_s(retry: Retry, tries: int, terms: Terms, effort: Effort) -> float:
    """How long to wait for the next attempt. Raises Unanswered where there is none."""
    # Shuffled: those who were turned away together do not come back together.
    pause_s: float = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(tries - 1, 20)) * random.uniform(0.5, 1.0)
    if retry.pause_s is not None:
        pause_s = retry.pause_s + random.uniform(0.0, 0.1)
    if tries >= terms.attempts or pause_s >= effort.left_s(terms.deadline_s):
        more = f" It was asked {tries} times." if tries > 1 else ""
        raise Unanswered(f"{retry}{more}", late=retry.late, reached=retry.reached) from None
    return pause_s
