"""Real servers: one for the tests of a file, and as many of their own as tests ask for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.server.client import Server

Start = Callable[..., Server]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = Server(tmp_path_factory.mktemp("server") / "home")
    yield started
    started.stop()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """start(env=…, args=…, home=…, cold=…): a server of the test's own, ended with it."""
    started: list[Server] = []

    def new(
        env: Mapping[str, str] | None = None, args: Sequence[str] = (), home: Path | None = None, cold: bool = False
    ) -> Server:
        server = Server(home or tmp_path / f"home{len(started)}", env, args, cold)
        started.append(server)
        return server

    yield new
    for each in started:
        each.stop()
