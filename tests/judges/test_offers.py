"""Which models providers offer."""

import asyncio
import json
from collections.abc import Iterator

import pytest

from fairmark.errors import Unanswered
from fairmark.judges import offers as offers_module
from fairmark.judges.models import Model, ModelRegistry, Provider
from fairmark.judges.offers import Offers, has
from fairmark.outbound.client import Terms
from tests.judges.faults import Behaviour, Cut, FaultServer, Raw, Slow, Status

LIST = Raw(json.dumps({"object": "list", "data": [{"id": "gpt-x"}, {"id": "org/y"}, {"id": 5}, "z"]}).encode())


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield server


def test_a_provider_is_asked_once_and_its_names_are_remembered(server: FaultServer) -> None:
    server.script(LIST, path="/models")
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
    server.script(fault, LIST, path="/models")

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
    server.always(LIST, "/models")
    default, house = (Provider(name, f"{server.url}/{name}") for name in ("openai", "house"))
    azure = Provider("azure", "http://127.0.0.1:9", "azure")
    gone = Provider("gone", "http://127.0.0.1:9/v1")
    providers = {each.name: each for each in (default, house, azure, gone)}

    async def scenario() -> dict[str, str]:
        offers = Offers()
        names = await offers.names(ModelRegistry(providers, {}, {}, default))
        await offers.close()
        return names

    assert asyncio.run(scenario()) == {
        "gpt-x": "openai",
        "org/y": "openai",
        "house/gpt-x": "house",
        "house/org/y": "house",
    }


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("gpt-x", ["gpt-x"]),
        ("GPT-X", ["gpt-x"]),
        ("ft:gpt-x:acme::abc", ["gpt-x"]),
        ("chat-latest", ["gpt-x"]),
        ("gpt-x", ["gpt-x-2026-08-06"]),
        ("gpt-x", ["gpt-x-0613"]),
        ("gemini", ["models/gemini"]),
        ("llama", ["llama:latest"]),
        ("acme/llama:free", ["acme/llama"]),
    ],
)
def test_a_list_is_read_with_what_lists_leave_out(name: str, listed: list[str]) -> None:
    assert has(listed, name)


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("gpt-xx", ["gpt-x", "gpt-x-mini"]),
        ("gpt", ["gpt-x"]),
        ("gpt-x-2026-08-07", ["gpt-x", "gpt-x-2026-08-06"]),
        ("llama:8b", ["llama:70b", "llama:latest"]),
        ("acme/llama", ["llama"]),
    ],
)
def test_a_mistyped_name_is_in_no_list(name: str, listed: list[str]) -> None:
    assert not has(listed, name)


def unlisted(registry: ModelRegistry, *names: str) -> dict[str, str]:
    async def scenario() -> dict[str, str]:
        offers = Offers()
        try:
            return await offers.unlisted(registry, names)
        finally:
            await offers.close()

    return asyncio.run(scenario())


def test_names_are_looked_up_where_nothing_else_says_that_there_is_such_a_model(server: FaultServer) -> None:
    server.always(LIST, "/models")
    default, house = (Provider(name, f"{server.url}/{name}") for name in ("openai", "house"))
    azure = Provider("azure", "http://127.0.0.1:9", "azure")
    mine = Model("mine", house, "in no list")
    providers = {provider.name: provider for provider in (default, house, azure)}
    aliases = {"good": "gpt-x", "bad": "gpt-xz", "own": "mine"}
    registry = ModelRegistry(providers, {"mine": mine}, aliases, default)
    assert unlisted(registry, "gpt-x", "house/gpt-x", "org/y", "ft:gpt-x:me", "mine", "good", "own", "azure/any") == {}
    wrong = unlisted(registry, "gpt-xy", "house/gpt-xy", "bad")
    assert wrong["gpt-xy"] == (
        f'model "gpt-xy": openai does not list it at {server.url}/openai/models. Did you mean gpt-x? If it is '
        'there all the same, write into fairmark.toml: [models."gpt-xy"] provider = "openai".'
    )
    assert "Did you mean house/gpt-x or house/org/y?" in wrong["house/gpt-xy"]
    assert 'model "gpt-xz" (alias of "bad"): openai does not list it' in wrong["bad"]
    assert len(wrong) == 3


@pytest.mark.parametrize("fault", [Status(404), Status(500), Raw(b'{"data": []}'), Raw(b"[]"), Cut("before")])
def test_who_tells_no_list_is_believed_to_have_every_model(server: FaultServer, fault: Behaviour) -> None:
    server.always(fault, "/models")
    house = Provider("house", f"{server.url}/v1")
    assert unlisted(ModelRegistry({"house": house}, {}, {}, house), "anything") == {}
    assert server.requests


def test_a_list_that_does_not_come_in_time_refuses_nothing(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offers_module, "TERMS", Terms(attempts=1, attempt_s=0.05, deadline_s=0.05, most_bytes=1000))
    server.always(Slow(60), "/models")
    house = Provider("house", f"{server.url}/v1")
    assert unlisted(ModelRegistry({"house": house}, {}, {}, house), "anything") == {}
