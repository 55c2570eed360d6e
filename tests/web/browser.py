"""A real browser on the pages of a real server, and what no page may do in it."""

import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar
from urllib.parse import urljoin

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, ViewportSize, expect, sync_playwright
from playwright.sync_api import Error as PlaywrightError
from scripts.chromium import chromium

from tests import thoroughness
from tests.server.client import EXACT, Server, wait_for
from tests.web.visiting import Visitor

ROOT = Path(__file__).parents[2]
AXE = ROOT / ".venv-clients" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
SCREENSHOTS = ROOT / "build" / "screenshots"
WAIT_MS = 20_000
"""What a page may take to show what is expected: the machine may be busy, and how quick pages are, benchmarks tell."""
WIDTHS = {"phone": 390, "desktop": 1280, "wide": 1600}
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")
Scheme = Literal["light", "dark"]
Width = Literal["phone", "desktop", "wide"]
Look = tuple[Scheme, Width]
LOOKS: tuple[Look, Look] = (("light", "wide"), ("dark", "phone"))
"""Each colour scheme and each width once: what breaks in one of the other two pairs breaks in one of these."""
SETTLED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
"""Two frames: in the first one a page hears that it has another size."""
# What a script tag would do to a page that forgets to escape; the console tells if it ran.
HOSTILE = "<script>console.error('ran')</script><img src=x onerror=console.error('ran')>\"'`{{7*7}}"


@contextmanager
def launched() -> Iterator[Browser]:
    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as playwright:
        # Debian's own; as root it runs only without its sandbox, and it sees nothing but our pages.
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def in_thread(call: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
    """For what needs an event loop of its own: the browser has one in the test's thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call, *args, **kwargs).result()


LEFT = r"^error: htmx:(afterRequest|sendAbort), "
"""A page that is left drops what it was still loading. What fails has an event of its own: sendError, responseError."""


class Window:
    """A window with cookies of its own. Tests that follow one another lend it: each finds it as if it were new, and is
    told what went wrong in it. A page that is there already shows another one in half the time, also of another server:
    their addresses differ by the port alone, and the browser stays in the process that knows the scripts.

    What a test may leave behind, and is cleared away: pages, routes, cookies, what the page stored, permissions, being
    offline, another size. Listeners stay: `asked_by` takes its own away. Whoever needs more than that (a clock, scripts
    before the page's, a debugger) asks for a window that is its `own`.
    """

    scheme: Scheme
    width: Width

    def __init__(self, browser: Browser) -> None:
        self._url = ""
        self._context = browser.new_context(reduced_motion="reduce")
        self._context.set_default_timeout(WAIT_MS)
        self.page = self._context.new_page()
        go = self.page.goto
        # To paths of the server for which it is lent: a context has one address for all its days.
        self.page.goto = lambda path, **options: go(urljoin(self._url, path), **options)  # type: ignore[method-assign]
        self.problems: list[str] = []
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.problems.append(f"script: {error}"))
        self._expected: list[str] = []

    def lend(self, url: str, scheme: Scheme, width: Width) -> None:
        self._url = url
        self.problems.clear()
        self._expected.clear()
        self.show(scheme, width)

    def show(self, scheme: Scheme, width: Width) -> None:
        """What is in it, in other colours and at another size from now on."""
        self.scheme, self.width = scheme, width
        self.page.emulate_media(color_scheme=scheme)
        size: ViewportSize = {"width": WIDTHS[width], "height": 900}
        if self.page.viewport_size != size:
            self.page.set_viewport_size(size)

    def expect_problem(self, pattern: str) -> None:
        """For a test that makes something fail: the browser's word about it is no surprise."""
        self._expected.append(pattern)

    def clean(self) -> bool:
        """Leaves the page and all it kept. Whether the window is as if it were new."""
        try:
            for page in self._context.pages:
                if page != self.page:
                    page.close()
            self.page.unroute_all(behavior="ignoreErrors")
            self._context.unroute_all(behavior="ignoreErrors")
            self._context.set_offline(False)
            self._context.clear_permissions()
            return self._leave()
        except PlaywrightError:  # it has crashed, or has been closed
            return False

    def _leave(self) -> bool:
        if self.page.url == "about:blank":
            return True
        if not self.page.url.startswith(f"{self._url}/"):
            return False
        # By the page itself: so the blank one stays in its process, with its caches, and may empty its storage.
        self.page.evaluate("() => { setTimeout(() => location.replace('about:blank')); }")
        self.page.wait_for_url("about:blank")
        left = self.page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); return self.origin; }")
        self._context.clear_cookies()
        self.page.mouse.move(-1, -1)
        return bool(left == self._url)

    def close(self) -> None:
        self._context.close()

    def tell(self) -> None:
        """What went wrong since it was lent, unless that was expected."""
        known_problems = [LEFT, *self._expected]
        surprising = [told for told in self.problems if not any(re.search(known, told) for known in known_problems)]
        assert not surprising, "\n".join(surprising)

    def _hear(self, message: ConsoleMessage) -> None:
        # A page that the policy stops from doing something says so here too.
        if message.type in ("error", "warning"):
            self.problems.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")


class Windows:
    """The windows of a browser. The one that was given back last is lent first: it is the warmest."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: list[Window] = []

    def lend(self, server: Server, scheme: Scheme, width: Width, own: bool = False) -> Window:
        window = self._free.pop() if self._free and not own else Window(self._browser)
        window.lend(server.url, scheme, width)
        return window

    def take_back(self, window: Window, own: bool = False) -> None:
        if not own and window.clean():
            self._free.append(window)
        else:
            window.close()

    def close(self) -> None:
        for window in self._free:
            window.close()
        self._free.clear()


@contextmanager
def asked_by(page: Page) -> Iterator[list[str]]:
    """The addresses that a page asks for meanwhile."""
    found: list[str] = []

    def note(request: Request) -> None:
        found.append(request.url)

    page.on("request", note)
    yield found
    page.remove_listener("request", note)


def write_graders(page: Page, text: str) -> None:
    """Into the editor of a new eval's JSON, as somebody who pastes. The page folds it once it has its forms."""
    fold = page.locator("[data-as-json]")
    if page.locator("#field-graders-error").count() == 0:
        expect(fold).not_to_have_attribute("open", "")
        page.get_by_text("The graders as JSON").click()
    fold.locator(".cm-content").fill(text)


@cache
def _axe() -> str:
    return AXE.read_text()


SMALL_TARGETS = """
() => {
  // What a finger has to hit, and is not a word in a sentence or in a cell of a table whose whole row is the target.
  const words = (node) => [...node.parentElement.childNodes].some((each) => each !== node && each.textContent.trim());
  const inText = (node) => getComputedStyle(node).display === "inline" && words(node);
  const isHit = (node) => !node.matches("a.skip-link, .is-link a, [type=file], [type=hidden]") && !inText(node);
  return [...document.querySelectorAll("a[href], button, summary, select, input, textarea")]
    .filter((node) => node.checkVisibility({ visibilityProperty: true }) && isHit(node))
    .map((node) => [node, (node.closest("label") ?? node).getBoundingClientRect()])
    .filter(([, box]) => box.height && box.height < 23.99)
    .map(([node, box]) => `${node.outerHTML.slice(0, 120)} is ${box.height} px high`);
}
"""


def check_targets(page: Page) -> None:
    """Whatever is pressed is 24 px high by itself; axe lets a smaller one pass where there happens to be room."""
    found = page.evaluate(SMALL_TARGETS)
    assert not found, "\n".join(found)


def check_accessible(page: Page) -> None:
    """Holds the page against WCAG 2 A and AA and axe's best practices, as far as a program can.

    Contrast takes as long as all the rest, and depends on colours alone: the quick run leaves it to the thorough one.
    """
    page.evaluate("scrollTo(0, 0)")  # what is half under the heading would be found too small
    if page.evaluate("typeof axe === 'undefined'"):
        page.evaluate(f"() => {{ {_axe()} }}")  # by the debugger: the page's own policy lets no script in
    rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    options = {
        "runOnly": rules,
        "resultTypes": ["violations"],
        "rules": {"color-contrast": {"enabled": thoroughness.is_whole()}},
        "preload": {"assets": ["media"]},  # of what is said about styles, no rule here needs any
    }
    found = page.evaluate("options => axe.run(document, options).then((found) => found.violations)", options)
    told = [
        f"{each['id']}: {each['help']}\n" + "\n".join(f"  {node['html']}\n  {node['failureSummary']}" for node in nodes)
        for each in found
        for nodes in [each["nodes"]]
    ]
    assert not told, "\n".join(told)
    check_targets(page)


def check_no_sideways_scroll(page: Page) -> None:
    wide, shown = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= shown, f"the page is {wide} px wide in a window of {shown} px"


def screenshot(page: Page, name: str) -> None:
    """The whole page as a picture, for people to look at. The quick run takes none: no test looks at it."""
    if thoroughness.is_whole():
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


def check_page(window: Window, name: str) -> None:
    """All that holds for every page, and its picture. `name` says which page, and after a dash in which state.

    What axe says of a state, and not of the page by itself, the quick run leaves to the thorough one. A window
    in one of the two looks is shown in the other one too by the thorough run, and then as it was.
    """
    check_look(window, name)
    own = (window.scheme, window.width)
    if thoroughness.is_whole() and own in LOOKS:
        for look in LOOKS:
            if look != own:
                window.show(*look)
                window.page.evaluate(SETTLED)
                check_look(window, name)
        window.show(*own)
        window.page.evaluate(SETTLED)


def check_look(window: Window, name: str) -> None:
    """The same, as the window is."""
    check_no_sideways_scroll(window.page)
    if thoroughness.is_whole() or "-" not in name:
        check_accessible(window.page)
    else:
        check_targets(window.page)
    screenshot(window.page, f"{name}-{window.width}-{window.scheme}")


def sign_in(page: Page, server: Server, key: str, to: str = "/evals") -> None:
    """The form is sent without the browser, which gets the cookies. `tests/web/frame/test_signin.py` fills it in."""
    visitor = Visitor(server)
    visitor.sign_in(key, to)
    for name, value in visitor.cookies.items():
        page.context.add_cookies([{"name": name, "value": value, "url": server.url, "httpOnly": True}])
    page.goto(to)


def new_eval(server: Server, name: str, headers: Mapping[str, str] | None = None, **more: Any) -> str:
    """An eval's id."""
    config = {"type": "custom", "item_schema": {"type": "object"}, "include_sample_schema": True}
    body = {"name": name, "data_source_config": config, "testing_criteria": [EXACT], **more}
    answer = server.post("/v1/evals", body, headers)
    assert answer.status == 201, answer.body
    found: str = answer.json()["id"]
    return found


def new_run(
    server: Server,
    eval_id: str,
    rows: list[dict[str, Any]],
    name: str = "a run",
    headers: Mapping[str, str] | None = None,
) -> str:
    """The id of a run that has ended."""
    source = {"type": "jsonl", "source": {"type": "file_content", "content": rows}}
    answer = server.post(f"/v1/evals/{eval_id}/runs", {"name": name, "data_source": source}, headers)
    assert answer.status == 201, answer.body
    path = f"/v1/evals/{eval_id}/runs/{answer.json()['id']}"
    wait_for(lambda: server.get(path, headers).json()["status"] not in ("queued", "in_progress"))
    found: str = answer.json()["id"]
    return found


def rows(right: int, wrong: int = 0, broken: int = 0) -> list[dict[str, Any]]:
    """Rows for the criterion EXACT: so many pass, fail, and cannot be graded."""
    return [
        *({"item": {"answer": "Paris"}, "sample": {"output_text": "Paris"}} for _ in range(right)),
        *({"item": {"answer": "Paris"}, "sample": {"output_text": "Rome"}} for _ in range(wrong)),
        *({"item": {}, "sample": {"output_text": "Oslo"}} for _ in range(broken)),
    ]
