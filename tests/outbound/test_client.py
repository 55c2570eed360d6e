"""The HTTP client under judges and reward servers, against a server that misbehaves."""

import asyncio
from collections.abc import Iterator

import aiohttp
import pytest
from yarl import URL

from fairmark.errors import AnswerTooLarge, Unanswered
from fairmark.outbound import client as client_module
from fairmark.outbound.client import Destination, Effort, Http, HttpAnswer, HttpRequest, Retry, Terms
from fairmark.outbound.limits import CallGate
from fairmark.work.fair import FairSlots
from tests.judges.faults import Behaviour, Cut, FaultServer, Raw, Slow, Status

TERMS = Terms(attempts=3, attempt_s=20.0, deadline_s=40.0, most_bytes=1000)
SECRET = "not-to-be-seen-0123456789"  # noqa: S105


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    monkeypatch.setattr(client_module, "FIRST_PAUSE_S", 0.01)
    with FaultServer() as server:
        yield server


def ask(server: FaultServer, *behaviours: Behaviour, terms: Terms = TERMS, effort: Effort | None = None) -> bytes:
    """What comes of one question: 503 and the like may pass, everything else is the answer."""
    server.script(*behaviours)

    async def request() -> HttpRequest:
        return HttpRequest(URL(server.url), b"{}", {}, secrets=(SECRET,))

    def read(answer: HttpAnswer) -> bytes:
        if answer.status >= 500:
            raise Retry(f"it answered {answer.status}.", answer.headers)
        if answer.status >= 400:
            raise LookupError(answer.status)
        return answer.data

    async def asked() -> bytes:
        http = Http(lambda: aiohttp.TCPConnector(limit=0), FairSlots(4), unpack=True)
        try:
            return await http.ask(Destination("x", CallGate(4)), terms, effort or Effort(), request, read)
        finally:
            await http.close()

    return asyncio.run(asked())


def test_an_answer_is_what_its_reader_makes_of_it(server: FaultServer) -> None:
    effort = Effort("owner")
    assert ask(server, Cut("before"), Status(503), Raw(b"good"), effort=effort) == b"good"
    assert (effort.attempts, len(server.requests)) == (3, 3)
    assert effort.seconds > 0.0


def test_what_no_attempt_brings_is_told_without_saying_who_it_was(server: FaultServer) -> None:
    with pytest.raises(Unanswered) as failed:
        ask(server, *[Status(503)] * 3)
    assert (str(failed.value), failed.value.late) == ("it answered 503. It was asked 3 times.", False)


def test_time_that_ran_out_is_told_as_such(server: FaultServer) -> None:
    with pytest.raises(Unanswered) as failed:
        ask(server, Slow(60), terms=Terms(1, 0.1, 40.0, 1000))
    assert (str(failed.value), failed.value.late) == ("no answer within 0.1 s.", True)


def test_what_the_reader_refuses_is_not_asked_again(server: FaultServer) -> None:
    with pytest.raises(LookupError):
        ask(server, Status(404))
    assert len(server.requests) == 1


@pytest.mark.parametrize("size", [1000, 1001])
def test_an_answer_may_have_so_many_bytes_and_no_more(server: FaultServer, size: int) -> None:
    if size <= TERMS.most_bytes:
        assert len(ask(server, Raw(b"x" * size))) == size
        return
    with pytest.raises(AnswerTooLarge):
        ask(server, Raw(b"x" * size))
    assert len(server.requests) == 1


def test_a_good_answer_may_go_elsewhere_piece_by_piece_within_the_same_limit(server: FaultServer) -> None:
    async def poured(size: int) -> tuple[bytes, int]:
        taken: list[bytes] = []
        server.script(Raw(b"x" * size))
        http = Http(lambda: aiohttp.TCPConnector(limit=0), FairSlots(4), unpack=True)

        async def request() -> HttpRequest:
            return HttpRequest(URL(server.url), b"{}", {}, sink=taken.append)

        try:
            answer = await http.ask(Destination("x", CallGate(4)), TERMS, Effort(), request, lambda answer: answer)
        finally:
            await http.close()
        return answer.data, sum(map(len, taken))

    assert asyncio.run(poured(1000)) == (b"", 1000)
    with pytest.raises(AnswerTooLarge):
        asyncio.run(poured(1001))


def test_https_where_http_is_spoken_is_told_and_not_tried_again() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async def scenario() -> None:
        async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]

            async def request() -> HttpRequest:
                return HttpRequest(URL(f"https://127.0.0.1:{port}/v1"), b"{}", {})

            http, effort = Http(lambda: aiohttp.TCPConnector(limit=0), FairSlots(4), unpack=True), Effort()
            with pytest.raises(Unanswered) as failed:
                await http.ask(Destination("x", CallGate(4)), TERMS, effort, request, lambda answer: answer.status)
            await http.close()
            assert effort.attempts == 1
            assert str(failed.value) == (
                f"127.0.0.1:{port} does not speak TLS: its address begins with http://, not with https://."
            )

    asyncio.run(scenario())
