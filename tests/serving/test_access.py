"""Who is let in, without a server: keys, sessions, the open door of a machine's own, and how often a key may knock."""

import asyncio
from typing import NamedTuple

import pytest

from fairmark.errors import ApiError
from fairmark.serving import access
from fairmark.serving.access import Access, Headers, Visitor
from fairmark.serving.proxies import Caller
from fairmark.serving.wrongkeys import FREE, WrongKeys
from fairmark.store import StoreUnavailable
from tests.clocks import Clock, standing

HERE = Caller("127.0.0.1")


class Key(NamedTuple):
    id: str
    project: str


class Kept:
    """Keys or sessions by what a request brings, and how often somebody looked."""

    def __init__(self, **kept: Key) -> None:
        self.kept = kept
        self.looked: list[str] = []

    async def find(self, key: str) -> Key | None:
        self.looked.append(key)
        return self.kept.get(key)

    async def any(self) -> bool:
        return bool(self.kept)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return standing(monkeypatch, access)


def bearer(key: str) -> Headers:
    return {b"authorization": b"Bearer " + key.encode()}


def asking(access: Access, headers: Headers, caller: Caller = HERE) -> Visitor | int:
    """Who is let in, else the status that is answered."""
    try:
        return asyncio.run(access.visitor(headers, caller))
    except ApiError as error:
        return error.status


def project(visitor: Visitor | int) -> str:
    assert isinstance(visitor, Visitor)
    return visitor.project


def door(keys: Kept, sessions: Kept | None = None, on_loopback: bool = True, per_minute: int = 0) -> Access:
    return Access(keys, sessions or Kept(), on_loopback, per_minute, WrongKeys())


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(
    "headers",
    [
        {b"authorization": b"Bearer fm-a"},
        {b"authorization": b"bearer   fm-a  "},
        {b"api-key": b"fm-a"},
        {b"authorization": b"Bearer fm-unknown", b"api-key": b"fm-a"},
    ],
)
def test_a_key_leads_to_its_project_in_openais_header_and_in_azures(headers: Headers) -> None:
    keys = Kept(**{"fm-a": Key("1", "geo"), "fm-b": Key("2", "other")})
    assert project(asking(door(keys), headers)) == "geo"


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {b"authorization": b"Bearer "},
        {b"authorization": b"Basic fm-a"},
        {b"authorization": b"fm-a"},
        bearer("fm-x"),
    ],
)
def test_where_there_are_keys_nobody_comes_in_without_one(headers: Headers) -> None:
    assert asking(door(Kept(**{"fm-a": Key("1", "geo")})), headers) == 401


@pytest.mark.usefixtures("clock")
def test_without_any_key_everybody_on_this_machine_comes_in_and_nobody_from_elsewhere() -> None:
    assert project(asking(door(Kept()), {b"host": b"localhost:8000"})) == "default"
    assert asking(door(Kept(), on_loopback=False), {b"host": b"localhost:8000"}) == 401


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        (b"127.0.0.1:8000", None, None),
        (b"[::1]:8000", None, None),
        (b"[::1]", None, None),
        (b"LOCALHOST", None, None),
        (b"localhost:8000", b"http://localhost:8000", None),
        (b"localhost:8000", b"http://localhost:9000", 403),  # another program's page
        (b"localhost:8000", b"https://evil.example", 403),
        (b"localhost:8000", b"null", 403),
        (b"evil.example", None, 403),  # a page that has renamed itself to this machine's address
        (b"localhost.evil.example:8000", None, 403),
        (b"127.0.0.1.evil.example", None, 403),
        (b"", None, 403),
    ],
)
def test_a_web_page_of_another_site_cannot_use_the_open_door(
    host: bytes, origin: bytes | None, status: int | None
) -> None:
    headers = {b"host": host, **({} if origin is None else {b"origin": origin})}
    answer = asking(door(Kept()), headers)
    assert (answer if isinstance(answer, int) else None) == status


def test_a_revoked_key_works_for_two_more_seconds_and_no_longer(clock: Clock) -> None:
    keys = Kept(**{"fm-a": Key("1", "geo"), "fm-b": Key("2", "other")})
    way_in = door(keys)
    assert project(asking(way_in, bearer("fm-a"))) == "geo"
    del keys.kept["fm-a"]
    clock.now += 0.9
    assert project(asking(way_in, bearer("fm-a"))) == "geo"
    assert keys.looked == ["fm-a"]
    clock.now += 1.2
    assert asking(way_in, bearer("fm-a")) == 401


class Slow(Kept):
    """A store that has much else to do."""

    def __init__(self, **kept: Key) -> None:
        super().__init__(**kept)
        self.answers = asyncio.Event()
        self.answers.set()

    async def find(self, key: str) -> Key | None:
        found = await super().find(key)
        await self.answers.wait()
        return found

    async def any(self) -> bool:
        await self.answers.wait()
        return await super().any()


@pytest.mark.parametrize("headers", [bearer("fm-a"), {}], ids=["key", "open"])
def test_who_comes_often_does_not_wait_for_a_slow_store(clock: Clock, headers: Headers) -> None:
    async def scenario() -> None:
        keys = Slow(**({"fm-a": Key("1", "geo")} if headers else {}))
        access = door(keys)
        was = await access.visitor(headers, HERE)
        keys.answers.clear()
        for _ in range(3):
            clock.now += 0.6
            assert await asyncio.wait_for(access.visitor(headers, HERE), 30) is was
        keys.answers.set()  # what was asked meanwhile is answered, and counts from when it was asked
        await asyncio.sleep(0.01)
        keys.answers.clear()
        clock.now += 1.3
        assert await asyncio.wait_for(access.visitor(headers, HERE), 30) is was
        clock.now += 1.0
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(access.visitor(headers, HERE), 0.05)
        keys.answers.set()
        assert keys.looked.count("fm-a") <= (4 if headers else 0)

    asyncio.run(scenario())


def test_a_store_that_is_away_is_told_only_when_its_last_answer_counts_no_more(clock: Clock) -> None:
    class Away(Kept):
        async def find(self, key: str) -> Key | None:
            if self.looked:
                raise StoreUnavailable("it is away")
            return await super().find(key)

    async def scenario() -> None:
        access = door(Away(**{"fm-a": Key("1", "geo")}))
        was = await access.visitor(bearer("fm-a"), HERE)
        clock.now += 1.5
        assert await access.visitor(bearer("fm-a"), HERE) is was
        await asyncio.sleep(0.01)
        clock.now += 1.0
        with pytest.raises(StoreUnavailable):
            await access.visitor(bearer("fm-a"), HERE)

    asyncio.run(scenario())


def test_the_first_key_closes_the_open_door_within_two_seconds(clock: Clock) -> None:
    keys = Kept()
    way_in = door(keys)
    assert project(asking(way_in, {})) == "default"
    keys.kept["fm-a"] = Key("1", "geo")
    clock.now += 2.1
    assert asking(way_in, {}) == 401


@pytest.mark.usefixtures("clock")
def test_somebody_who_tries_keys_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "REMEMBERED_AT_MOST", 10)
    way_in = door(Kept(**{"fm-a": Key("1", "geo")}))
    for number in range(100):
        assert asking(way_in, bearer(f"fm-{number}"), Caller(f"10.0.0.{number}")) == 401
    assert len(way_in._found) <= 10
    assert project(asking(way_in, bearer("fm-a"))) == "geo"


def test_a_key_may_knock_so_often_a_minute_however_it_comes_in(clock: Clock) -> None:
    keys = Kept(**{"fm-a": Key("1", "geo"), "fm-b": Key("2", "geo")})
    way_in = door(keys, Kept(session=Key("1", "geo")), per_minute=6)
    by_key = asking(way_in, bearer("fm-a"))
    by_session, _ = asyncio.run(way_in.page_visitor({b"cookie": b"fairmark_session=session"}, HERE))
    assert by_key is by_session
    for _ in range(6):
        by_session.knock()
    with pytest.raises(ApiError) as refused:
        by_session.knock()
    assert (refused.value.status, refused.value.headers["retry-after"]) == (429, "11")
    other = asking(way_in, bearer("fm-b"))
    assert isinstance(other, Visitor)
    other.knock()
    clock.now += 10
    by_session.knock()
    with pytest.raises(ApiError):
        by_session.knock()


@pytest.mark.usefixtures("clock")
def test_a_session_is_for_pages_and_no_key_for_the_api() -> None:
    way_in = door(Kept(**{"fm-a": Key("1", "geo")}), Kept(session=Key("1", "geo")))
    cookie = {b"cookie": b"other=1; fairmark_session=session; more=2"}
    visitor, session = asyncio.run(way_in.page_visitor(cookie, HERE))
    assert (visitor.project, session) == ("geo", "session")
    assert asking(way_in, cookie) == 401
    assert asking(way_in, bearer("session")) == 401
    with pytest.raises(ApiError, match="Sign in"):
        asyncio.run(way_in.page_visitor({b"cookie": b"fairmark_session=ended"}, HERE))


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(
    ("host", "told", "origin", "status"),
    [
        (b"127.0.0.1:8000", b"https://localhost", None, None),
        (b"127.0.0.1:8000", b"https://localhost", b"https://localhost", None),
        (b"127.0.0.1:8000", b"https://localhost", b"http://127.0.0.1:8000", 403),
        (b"127.0.0.1:8000", b"https://fairmark.example", None, 403),  # the proxy brings in the whole world
        (b"evil.example", b"http://localhost", None, 403),  # a renamed page that sends a proxy's header
    ],
)
def test_behind_a_proxy_the_open_door_is_for_this_machine_alone_too(
    host: bytes, told: bytes, origin: bytes | None, status: int | None
) -> None:
    headers = {b"host": host, **({} if origin is None else {b"origin": origin})}
    answer = asking(door(Kept()), headers, Caller("127.0.0.1", told))
    assert (answer if isinstance(answer, int) else None) == status


@pytest.mark.usefixtures("clock")
def test_who_tries_keys_has_to_wait_and_keys_that_were_right_from_there_do_not() -> None:
    way_in = door(Kept(**{"fm-a": Key("1", "geo"), "fm-b": Key("2", "geo")}))
    assert project(asking(way_in, bearer("fm-a"))) == "geo"
    assert [asking(way_in, bearer(f"fm-{number}")) for number in range(FREE + 2)] == [401] * FREE + [429] * 2
    assert asking(way_in, bearer("fm-b")) == 429  # else the one right key would show itself
    assert project(asking(way_in, bearer("fm-a"))) == "geo"
    assert project(asking(way_in, bearer("fm-b"), Caller("10.0.0.1"))) == "geo"
    assert asking(way_in, {}) == 401


@pytest.mark.usefixtures("clock")
def test_a_program_with_an_old_key_is_told_so_and_keeps_nobody_out() -> None:
    way_in = door(Kept(**{"fm-a": Key("1", "geo")}))
    assert [asking(way_in, bearer("fm-old")) for _ in range(50)] == [401] * 50
    assert project(asking(way_in, bearer("fm-a"))) == "geo"
