"""Every test of a call runs four times: on the local store and on a real server, synchronous and asynchronous.

The quick run takes two of them, in which each of the four words stands once.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

import fairmark
from fairmark.endpoints import chosen
from fairmark.settings import settings
from fairmark.work import eventloop
from tests.client import places
from tests.client.places import Place
from tests.server.client import Server
from tests.store.conftest import migrated_file

__all__ = ["client", "home", "migrated_file", "new_place", "place", "server"]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One that knows keys from the start, and may ask reward servers on this machine."""
    home = tmp_path_factory.mktemp("client") / "home"
    eventloop.run(places.new_key(home, "first"))
    started = Server(home, {"FAIRMARK_ENDPOINT_ALLOW": "127.0.0.1"})
    yield started
    started.stop()
    eventloop.run(places.close_stores())


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A new local store, and nothing of ours in the environment but where it is."""
    monkeypatch.setenv("FAIRMARK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FAIRMARK_ENDPOINT_ALLOW", "127.0.0.1")
    monkeypatch.delenv("FAIRMARK_API_KEY", raising=False)
    monkeypatch.setattr(chosen, "_opened", None)
    settings.cache_clear()
    yield tmp_path / "home"
    settings.cache_clear()


def _thorough(way: str) -> ParameterSet:
    return pytest.param(way, marks=pytest.mark.thorough)


@pytest.fixture(params=["local", _thorough("local-async"), _thorough("remote"), "remote-async"])
def new_place(request: pytest.FixtureRequest, home: Path) -> Place:
    """Where nobody has been yet: the local store has no tables."""
    where, _, how = request.param.partition("-")
    if where == "local":
        return places.local(asynchronous=how == "async")
    return places.remote(request.getfixturevalue("server"), asynchronous=how == "async")


@pytest.fixture
def place(new_place: Place, home: Path, migrated_file: Path) -> Place:
    if new_place.name == "local":
        home.mkdir(mode=0o700)
        shutil.copy(migrated_file, home)
    return new_place


@pytest.fixture
def client(place: Place) -> fairmark.Client:
    return place.open()
