"""A browser for all tests of pages, a server for the tests of a file, windows for each."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.conftest import is_dark
from tests.server.client import Server
from tests.server.conftest import Start, start
from tests.server.test_gate import make_key
from tests.web.browser import LOOKS, Look, Scheme, Width, Window, Windows, in_thread, launched

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


@pytest.fixture(scope="package")
def windows(browser: Browser) -> Iterator[Windows]:
    """Kept for the next test, whatever server it looks at."""
    found = Windows(browser)
    yield found
    found.close()


@pytest.fixture
def open_window(windows: Windows) -> Iterator[Open]:
    """open_window(server, scheme=…, width=…): given back after the test, which fails if the console told of errors.

    With `own=True` no other test has had it, and none will.
    """
    lent: list[tuple[Window, bool]] = []

    def new(server: Server, scheme: Scheme = "light", width: Width = "desktop", own: bool = False) -> Window:
        lent.append((windows.lend(server, scheme, width, own), own))
        return lent[-1][0]

    yield new
    for window, own in lent:
        windows.take_back(window, own)
    for window, _ in lent:
        window.tell()


@pytest.fixture
def page(server: Server, open_window: Open) -> Page:
    """A window of the usual kind on the shared open server."""
    return open_window(server).page


in_both_looks = pytest.mark.parametrize("look", LOOKS, ids="-".join)
"""For a test whose way through the page, not only the page, is another one on a phone."""


@pytest.fixture
def look(request: pytest.FixtureRequest) -> Look:
    """One of the two for each test: half of them are dark, half are light. `check_page` sees to the other one."""
    return LOOKS[is_dark(request.node)]


@pytest.fixture
def scheme(look: Look) -> Scheme:
    return look[0]


@pytest.fixture
def width(look: Look) -> Width:
    return look[1]
