"""A browser for all tests of pages, a server for the tests of a file, windows for each."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.server.client import Server
from tests.server.conftest import Start, start
from tests.server.test_gate import make_key
from tests.web.browser import Scheme, Width, Window, in_thread, launched

__all__ = ["Open", "Start", "start"]

Open = Callable[..., Window]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Ended with the tests of pages: while it runs, its thread has an event loop, which other tests do not expect."""
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An open server that the tests of a file share. What one test creates, the others see."""
    started = Server(tmp_path_factory.mktemp("server") / "home")
    yield started
    started.stop()
    assert "Traceback" not in started.stderr.read_text()


class Keyed(Server):
    """A server with keys: one that looks after all projects, and one of another project."""

    key: str
    other_key: str


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyed]:
    home = tmp_path_factory.mktemp("keyed") / "home"
    key, other = in_thread(make_key, home), in_thread(make_key, home, "other")
    started = Keyed(home)
    started.key, started.other_key = key, other
    yield started
    started.stop()
    assert "Traceback" not in started.stderr.read_text()


@pytest.fixture
def open_window(browser: Browser) -> Iterator[Open]:
    """open_window(server, scheme=…, width=…): closed after the test, which fails if the console told of errors."""
    opened: list[Window] = []

    def new(server: Server, scheme: Scheme = "light", width: Width = "desktop") -> Window:
        opened.append(Window(browser, server.url, scheme, width))
        return opened[-1]

    yield new
    for each in opened:
        each.close()


@pytest.fixture
def page(server: Server, open_window: Open) -> Page:
    """A window of the usual kind on the shared open server."""
    return open_window(server).page


Look = tuple[Scheme, Width]


@pytest.fixture(params=[("light", "wide"), ("dark", "phone")], ids=lambda look: "-".join(look))
def look(request: pytest.FixtureRequest) -> Look:
    """Each colour scheme and each width once: what breaks in one of the other two pairs breaks in one of these."""
    found: Look = request.param
    return found


@pytest.fixture
def scheme(look: Look) -> Scheme:
    return look[0]


@pytest.fixture
def width(look: Look) -> Width:
    return look[1]
