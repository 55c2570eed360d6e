"""A run while it goes on: told as it does, canceled, and its page when it ends."""

import re
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from fairmark.serving.process import FINISH_WITHIN_S
from fairmark.store import Run
from fairmark.web.runs.progress import Progress
from tests.server.client import Server, wait_for
from tests.web.browser import check_accessible, check_page, screenshot
from tests.web.conftest import Open
from tests.web.forms import get
from tests.web.geography import Geography, geography


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Geography]:
    with geography(tmp_path_factory.mktemp("geography"), 2) as found:
        yield found


@pytest.fixture
def world(shared: Geography) -> Iterator[Geography]:
    """No run of a test goes on in the next one."""
    yield shared
    shared.cancel_all()


Follow = Callable[..., "Stream"]


class Stream:
    """Server-sent events as they come."""

    def __init__(self, server: Server, path: str, query: str = "") -> None:
        self._connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
        self._connection.request("GET", f"{path}/events{query}", headers={"accept": "text/event-stream"})
        self.answer: HTTPResponse = self._connection.getresponse()

    def next(self) -> tuple[str, str] | None:
        """(name, data) of the next event; None at the end."""
        name, data = "", []
        while line := self.answer.readline().decode():
            if line.startswith("event: "):
                name = line[7:].rstrip("\n")
            elif line.startswith("data: "):
                data.append(line[6:].rstrip("\n"))
            elif line == "\n" and name:
                return name, "\n".join(data)
        return None

    def rest(self) -> list[tuple[str, str]]:
        return list(iter(self.next, None))

    def close(self) -> None:
        self.answer.close()
        self._connection.close()


@pytest.fixture
def follow(world: Geography) -> Iterator[Follow]:
    """follow(path, query=…): what is told of a run, until the test ends."""
    opened: list[Stream] = []

    def new(path: str, query: str = "") -> Stream:
        opened.append(Stream(world, path, query))
        return opened[-1]

    yield new
    for each in opened:
        each.close()


@pytest.mark.thorough
def test_reasons_and_numbers_come_with_the_news_all_at_the_same_moment(world: Geography, open_window: Open) -> None:
    world.house.latency_s, world.house.held_from = 0.7, 20
    path = world.start(24)
    page = open_window(world).page
    page.goto(path)
    reasons = page.get_by_role("table", name="Reasons of errors")
    expect(reasons).to_contain_text('has no field "known"', timeout=60_000)
    expect(page.get_by_label("How it went")).to_contain_text(re.compile(r"\d+ of 24 rows done"))
    # Of what a criterion graded, as many as the header tells to be done.
    told = page.evaluate(
        """() => {
          const numbers = (text) => [...text.matchAll(/[\\d,]+/g)].map((each) => Number(each[0].replace(",", "")));
          const done = numbers(document.querySelector(".run__pace").textContent)[0];
          const counts = [...document.querySelectorAll("[data-live-part='counts-1'] .count")];
          return [done, counts.reduce((sum, each) => sum + numbers(each.textContent)[0], 0)];
        }"""
    )
    assert told[0] == told[1] > 0


TOP = "node => node.getBoundingClientRect().top"
LATE_END = """
(ms) => {
  globalThis.lateMs = ms;
  const late = { run: 1, results: 1 / 3 };
  const { abort, send, setRequestHeader } = XMLHttpRequest.prototype;
  XMLHttpRequest.prototype.setRequestHeader = function (name, value) {
    if (name === "HX-Target") this.lateMs = late[value] * globalThis.lateMs;
    setRequestHeader.call(this, name, value);
  };
  XMLHttpRequest.prototype.send = function (body) {
    const { lateMs, onload } = this;
    if (lateMs) this.onload = () => (this.held = setTimeout(() => onload.call(this), lateMs));
    send.call(this, body);
  };
  XMLHttpRequest.prototype.abort = function () {
    clearTimeout(this.held);
    if (this.held) this.onabort();
    abort.call(this);
  };
}
"""
"""A busy server: what is asked for when the run has ended comes later than anything else, and the rows that were asked
for just before it are still on their way."""


@pytest.mark.parametrize("late_ms", [0, pytest.param(9000, marks=pytest.mark.thorough)])
def test_the_page_follows_the_run_to_its_end(world: Geography, open_window: Open, late_ms: int) -> None:
    world.house.held_from = 8
    path = world.start(20)
    window = open_window(world)
    page = window.page
    page.goto(path)
    told = page.get_by_label("How it went")
    expect(told).to_contain_text("8 of 20 rows done")
    bar = page.get_by_role("progressbar", name="Rows done")
    expect(bar).to_have_attribute("aria-valuemax", "20")
    for number in (10, 12):  # two pieces of news, out of which there is a rate
        world.house.held_from = number
        expect(told).to_contain_text(f"{number} of 20 rows done")
    expect(told).to_contain_text(re.compile("rows/s"))
    expect(told).to_contain_text(re.compile("about .* left"))
    expect(told).to_contain_text("Cost so far")
    check_accessible(page)
    screenshot(page, "run-live-desktop-light")
    expect(page.get_by_role("table", name="Reasons of errors")).to_be_visible()
    heading = page.get_by_role("heading", name="Rows", exact=True)
    heading.evaluate("heading => heading.scrollIntoView()")
    top = heading.evaluate(TOP)
    page.evaluate(LATE_END, late_ms)
    page.wait_for_timeout(late_ms / 3)  # the page asks for its rows with the next news again
    world.house.held_from = None
    expect(told).to_contain_text("All rows done", timeout=60_000)
    expect(page.get_by_role("button", name="Cancel the run")).to_have_count(0)
    expect(page.get_by_text("20 of 20 rows")).to_be_visible()
    expect(page.get_by_role("radio", name="All 20")).to_be_checked()
    # Whoever reads the rows finds them where they were.
    wait_for(lambda: abs(heading.evaluate(TOP) - top) < 1)
    check_page(window, "run-ended")


@pytest.mark.thorough
def test_the_end_is_shown_although_the_server_was_away_as_it_came(world: Geography, open_window: Open) -> None:
    world.house.held_from = 8
    window = open_window(world)
    window.expect_problem("htmx:sendError|ERR_CONNECTION_REFUSED")
    page = window.page
    asked: list[str] = []

    def answer(route: Route) -> None:
        is_end = route.request.headers.get("hx-target") == "run"
        asked.extend(["the end"] if is_end else [])
        if is_end and len(asked) == 1:
            route.abort("connectionrefused")
        else:
            route.continue_()

    page.route("**/runs/*", answer)
    page.goto(world.start(20))
    expect(page.get_by_label("How it went")).to_contain_text("8 of 20 rows done")
    world.house.held_from = None
    expect(page.get_by_role("button", name="Cancel the run")).to_have_count(0, timeout=60_000)
    expect(page.get_by_text("20 of 20 rows")).to_be_visible()
    assert asked == ["the end", "the end"]


@pytest.mark.thorough
def test_rows_that_are_renewed_by_themselves_stay_readable(world: Geography, open_window: Open) -> None:
    world.house.held_from = 8
    path = world.start(20)
    page = open_window(world).page
    page.goto(path)
    told, results = page.get_by_label("How it went"), page.locator("#results")
    expect(told).to_contain_text("8 of 20 rows done")
    page.evaluate(LATE_END, 30_000)
    for number in (10, 12):  # rows are asked for every three seconds at most
        world.house.held_from = number
        expect(told).to_contain_text(f"{number} of 20 rows done")
    expect(results).to_have_class("htmx-request", timeout=30_000)
    page.wait_for_timeout(1000)
    assert results.evaluate("node => [node.className, getComputedStyle(node).opacity]") == ["htmx-request", "1"]
    page.get_by_role("radio", name="Failed").check(force=True)
    expect(results).to_have_css("opacity", "0.6")


@pytest.mark.thorough
def test_late_rows_do_not_take_the_place_of_those_that_were_asked_for(world: Geography, open_window: Open) -> None:
    world.house.held_from = 8
    path = world.start(20)
    page = open_window(world).page
    page.goto(path)
    told, results = page.get_by_label("How it went"), page.locator("#results")
    expect(told).to_contain_text("8 of 20 rows done")
    expect(results).to_contain_text("Way 0")
    page.evaluate(LATE_END, 9000)
    for number in (10, 12):
        world.house.held_from = number
        expect(told).to_contain_text(f"{number} of 20 rows done")
    expect(results).to_have_class("htmx-request", timeout=30_000)
    page.evaluate("lateMs = 0, shown = ''")
    page.get_by_role("radio", name="Passed").check(force=True)
    expect(results).not_to_contain_text("Way 0")  # it did not pass
    results.evaluate("node => new MutationObserver(() => (shown += node.innerText)).observe(node, { childList: true })")
    page.wait_for_timeout(4000)
    assert "Way 0" not in page.evaluate("shown + document.getElementById('results').innerText")


@pytest.mark.thorough
def test_rows_that_come_while_others_are_asked_for_are_shown_after_them(world: Geography, open_window: Open) -> None:
    world.house.held_from = 0
    path = world.start(20)
    page = open_window(world).page
    page.goto(path)
    results = page.locator("#results")
    expect(results).to_contain_text("No rows yet")
    page.evaluate(LATE_END, 15_000)
    page.get_by_role("link", name="Refresh").click()
    results.hover()  # whoever is there gets the first rows alone by themselves
    world.house.held_from = 1
    expect(page.get_by_label("How it went")).to_contain_text("1 of 20 rows done")
    expect(results).to_contain_text("Way 0")


@pytest.mark.thorough
def test_rows_that_are_asked_for_as_the_run_ends_are_shown(world: Geography, open_window: Open) -> None:
    world.house.held_from = 8
    path = world.start(20)
    page = open_window(world).page
    page.goto(path)
    results = page.locator("#results")
    expect(results).to_contain_text("Way 0")
    page.evaluate(LATE_END, 2500)
    world.house.held_from = None
    expect(page.locator("#run")).to_have_class(re.compile("htmx-request"), timeout=60_000)
    page.evaluate("lateMs = 12000")
    page.get_by_role("radio", name="Passed").check(force=True)
    page.evaluate("lateMs = 0")
    expect(page.get_by_role("radio", name=re.compile(r"Passed \d"))).to_be_checked()  # counted: it has ended
    expect(results).to_contain_text("Way 8")
    assert "Way 0" not in results.inner_text()
    assert page.url.endswith("?status=pass")


def test_cancel_stops_the_run_and_keeps_what_was_graded(world: Geography, open_window: Open) -> None:
    world.house.latency_s = 600
    path = world.start(5)
    page = open_window(world).page
    page.goto(path)
    expect(page.get_by_text("No rows yet")).to_be_visible()
    page.get_by_role("button", name="Cancel the run").click()
    expect(page.get_by_role("status")).to_contain_text("The run is canceled. What was graded is kept.")
    expect(page.get_by_text("This run was canceled.")).to_be_visible()
    expect(page.get_by_label("How it went")).to_contain_text("Canceled")
    assert world.get(f"/v1{path}").json()["status"] == "canceled"


def test_events_tell_of_the_first_rows_and_of_the_end(world: Geography, follow: Follow) -> None:
    world.house.latency_s = 1.5
    stream = follow(world.start(3))
    assert stream.answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    names = [name for name, _ in stream.rest()]
    assert names[0] == "progress"
    assert names[-1] == "ended"
    assert names.count("rows") == 1


def test_a_page_without_rows_is_told_of_those_that_came_before_it_listened(world: Geography, follow: Follow) -> None:
    world.house.held_from = 0
    path = world.start(3)
    listens_at = re.compile('data-events="([^"]+)"')
    assert listens_at.findall(get(world, path).body.decode()) == [f"{path}/events?rows=none"]
    world.house.held_from = 1
    wait_for(lambda: world.get(f"/v1{path}/output_items").json()["data"])
    assert listens_at.findall(get(world, path).body.decode()) == [f"{path}/events"]
    told = {query: follow(path, query) for query in ("", "?rows=none")}
    assert [(told["?rows=none"].next() or ("",))[0] for _ in range(2)] == ["progress", "rows"]
    world.house.held_from = None
    assert "rows" not in [name for name, _ in told[""].rest()]


def test_the_events_of_a_run_that_has_ended_end_at_once(world: Geography, follow: Follow) -> None:
    (progress, ended) = follow(world.run).rest()
    assert (progress[0], ended[0]) == ("progress", "ended")
    assert "All rows done" in progress[1]


def test_a_run_that_is_deleted_ends_its_events(world: Geography, follow: Follow) -> None:
    world.house.latency_s = 600
    path = world.start(1)
    stream = follow(path)
    assert stream.next() is not None
    assert world.request("DELETE", f"/v1{path}").status == 200
    assert stream.rest()[-1][0] == "ended"


def test_many_who_look_cost_no_more_than_one(world: Geography, follow: Follow) -> None:
    world.house.latency_s = 600
    path = world.start(1)
    wait_for(lambda: world.get(f"/v1{path}").json()["status"] == "in_progress")
    streams = [follow(path) for _ in range(30)]
    assert len({stream.next() for stream in streams}) == 1
    assert get(world, path).status == 200
    for stream in streams:
        stream.close()
    wait_for(lambda: world.gauge("fairmark_requests_in_flight") <= 1)


def test_the_server_ends_although_somebody_looks(tmp_path: Path) -> None:
    with geography(tmp_path, 2) as world:
        world.house.latency_s = 600
        stream = Stream(world, world.start(1))
        assert stream.next() is not None
        started = time.monotonic()
        assert world.stop() == 0
        assert time.monotonic() - started < FINISH_WITHIN_S  # it is not waited for
        assert stream.rest() == []
        stream.close()


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Geography]:
    """One that works on one run at a time."""
    with geography(tmp_path, rows=1, FAIRMARK_RUNS_AT_ONCE="1") as started:
        yield started


@pytest.mark.thorough
def test_a_run_waits_for_its_turn_and_says_why_it_could_not_begin(busy: Geography, open_window: Open) -> None:
    world = busy
    world.house.latency_s = 600
    other = world.start(1)
    file = world.upload(b'{"item": {"question": "x", "n": 1}}\n').json()["id"]
    source = {"type": "jsonl", "source": {"type": "file_id", "id": file}}
    path = f"{world.eval}/runs/{world.post(f'/v1{world.eval}/runs', {'data_source': source}).json()['id']}"
    page = open_window(world).page
    page.goto(path)
    expect(page.get_by_label("How it went")).to_contain_text("waiting for its turn")
    assert world.request("DELETE", f"/v1/files/{file}").status == 200
    world.post(f"/v1{other}", {})  # canceled
    expect(page.get_by_text("The run stopped before its end.")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("alert")).to_contain_text(file)
    expect(page.get_by_text("This run has no rows")).to_be_visible()
    check_accessible(page)


def test_without_script_the_page_of_a_run_that_goes_on_loads_itself_again(world: Geography) -> None:
    world.house.latency_s = 600
    assert b'<noscript><meta http-equiv="refresh" content="3"></noscript>' in get(world, world.start(1)).body
    assert b"http-equiv" not in get(world, world.run).body


def run(status: str, done: int, total: int | None) -> Run:
    empty = {"metadata": {}, "data_source": b"", "options": {}, "criteria_counts": {}, "usage": {}}
    nothing = {"model": None, "error": None, "cost": None, "criteria": None, "failed": 0, "errored": 0, "skipped": 0}
    names = {"id": "r", "eval_id": "e", "project": "p", "name": "n", "seq": 1, "eval_seq": 1, "created_at": 0}
    return Run(**empty, **nothing, **names, status=status, passed=done, total=total)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("status", "done", "total", "rate", "left"),
    [
        ("in_progress", 50, 200, 10.0, 15.0),
        ("in_progress", 200, 200, 10.0, 0.0),
        ("in_progress", 300, 200, 10.0, 0.0),  # more rows than were announced
        ("in_progress", 50, None, 10.0, None),
        ("in_progress", 50, 200, None, None),
        ("completed", 50, 200, 10.0, None),
    ],
)
def test_what_is_left_follows_from_the_rate(
    status: str, done: int, total: int | None, rate: float | None, left: float | None
) -> None:
    assert Progress(run(status, done, total), rate).seconds_left == left
