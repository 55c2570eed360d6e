"""The client for callers without an event loop: its words are the other one's, its warnings point to the caller."""

import asyncio
import inspect
from pathlib import Path

import pytest

import fairmark
from fairmark.client import asynchronous, synchronous
from fairmark.work import eventloop
from tests.client import places
from tests.client.graders import with_a_helper
from tests.server.client import Server


@pytest.mark.usefixtures("home")
def test_a_warning_points_to_the_caller() -> None:
    async def create() -> None:
        await fairmark.AsyncClient().graders.create.function(key="helped", fn=with_a_helper)

    async def create_any() -> None:
        await fairmark.AsyncClient().graders.create(key="helped", grader=helped)

    helped = {"type": "function", "source": with_a_helper}
    for call in (
        lambda: fairmark.Client().graders.create.function(key="helped", fn=with_a_helper),
        lambda: fairmark.Client().graders.create(key="helped", grader=helped),
        lambda: asyncio.run(create()),
        lambda: asyncio.run(create_any()),
    ):
        with pytest.warns(UserWarning, match="helper") as warned, pytest.raises(ValueError, match="test_run"):
            call()
        assert warned[0].filename == __file__


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (synchronous.Create, asynchronous.AsyncCreate),
        (synchronous.Graders, asynchronous.AsyncGraders),
        (synchronous.Client, asynchronous.AsyncClient),
    ],
)
def test_both_clients_have_the_same_calls_with_the_same_words(ours: type, theirs: type) -> None:
    other_names = {"close": "aclose", "__enter__": "__aenter__", "__exit__": "__aexit__"}
    public = {name for name in vars(theirs) if not name.startswith("_") or name == "__call__"}
    assert {
        other_names.get(name, name) for name in vars(ours) if not name.startswith("_") or name == "__call__"
    } == public
    for name in public - {"aclose"}:
        mine, original = getattr(ours, name), getattr(theirs, name)
        assert inspect.signature(mine) == inspect.signature(original)
        assert mine.__doc__ == original.__doc__
        assert inspect.iscoroutinefunction(original)
    assert inspect.getdoc(ours) == inspect.getdoc(theirs)


@pytest.fixture
def key(server: Server, home: Path) -> str:
    return eventloop.run(places.new_key(server.home, "team"))


def test_the_synchronous_client_works_inside_a_running_loop(server: Server, key: str) -> None:
    async def inside() -> list[str]:
        return [each.key for each in fairmark.Client(server.url, key).graders.list()]

    assert asyncio.run(inside()) == []
