"""The way to reward servers of this process: opened once, on its own loop, and for servers only to what is listed."""

from collections.abc import Iterator

import pytest

from fairmark.endpoints import chosen
from fairmark.endpoints.base import Target
from fairmark.errors import EndpointFailed
from fairmark.settings import settings
from fairmark.text.thread import Thread
from fairmark.work import eventloop


@pytest.fixture(autouse=True)
def anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(chosen, "_opened", None)
    monkeypatch.setattr(chosen, "_public", True)
    monkeypatch.setenv("FAIRMARK_ENDPOINT_ALLOW", "rewards.internal:9")
    settings.cache_clear()
    yield
    settings.cache_clear()


async def same() -> bool:
    return chosen.opened() is chosen.opened()


def refusal(url: str) -> str:
    [outcome] = eventloop.run(chosen.ChosenEndpoints("me").score(Target(url), [Thread([("user", "Hi")], {})]))
    assert isinstance(outcome, EndpointFailed)
    return str(outcome)


def test_it_is_opened_once() -> None:
    assert eventloop.run(same())


def test_an_address_inside_is_not_asked() -> None:
    assert "127.0.0.1 is not a public address, so it is not asked" in refusal("http://127.0.0.1:9/")


def test_a_server_asks_only_what_is_listed() -> None:
    chosen.only_listed()
    assert "is not among those that this server may ask" in refusal("http://93.184.216.34:9/")
