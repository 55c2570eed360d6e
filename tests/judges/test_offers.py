"""Which models providers offer."""

import asyncio
import json
from collections.abc import Iterator

import pytest

from fairmark.errors import Unanswered
from fairmark.judges import offers as offers_module
from fairmark.judges.models import Provider, Registry
from fairmark.judges.offers import Offers
from tests.judges.faults import Behaviour, FaultServer, Raw, Status

LIST = Raw(json.dumps({"object": "list", "data": [{"id": "gpt-x"}, {"id": "org/y"}, {"id": 5}, "z"]}).encode())


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield server


def test_a_provider_is_asked_once_and_its_names_are_remembered(server: FaultServer) -> None:
    server.script(LIST)
    house = Provider("house", f"{server.url}/v1", headers={"Authorization": "Bearer sk-test"})

    async def scenario() -> None:
        offers = Offers()
        answers = await asyncio.gather(*(offers.of(house) for _ in range(5)))
        assert [*answers, await offers.of(house)] == [["gpt-x", "org/y"]] * 6
        await offers.close()

    asyncio.run(scenario())
    (request,) = server.requests
    assert (request.method, request.path, request.headers["authorization"]) == ("GET", "/v1/models", "Bearer sk-test")


@pytest.mark.parametrize("fault", [Status(404), Raw(b"<html>"), Raw(b"[]"), Raw(b'{"data": 5}')])
def test_a_provider_that_does_not_tell_is_asked_again_later(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch, fault: Behaviour
) -> None:
    monkeypatch.setattr(offers_module, "FAILURE_REMEMBERED_S", 0.0)
    server.script(fault, LIST)

    async def scenario() -> None:
        offers = Offers()
        house = Provider("house", f"{server.url}/v1")
        with pytest.raises(Unanswered):
            await offers.of(house)
        await asyncio.sleep(0)
        assert await offers.of(house) == ["gpt-x", "org/y"]
        await offers.close()

    asyncio.run(scenario())


def test_the_environments_provider_gives_plain_names_and_others_theirs_before_them(server: FaultServer) -> None:
    server.always(LIST)
    default, house = (Provider(name, f"{server.url}/{name}") for name in ("openai", "house"))
    azure = Provider("azure", "http://127.0.0.1:9", "azure")
    gone = Provider("gone", "http://127.0.0.1:9/v1")
    providers = {each.name: each for each in (default, house, azure, gone)}

    async def scenario() -> dict[str, str]:
        offers = Offers()
        names = await offers.names(Registry(providers, {}, {}, default))
        await offers.close()
        return names

    assert asyncio.run(scenario()) == {
        "gpt-x": "openai",
        "org/y": "openai",
        "house/gpt-x": "house",
        "house/org/y": "house",
    }
