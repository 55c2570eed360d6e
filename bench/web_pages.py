"""The page of a run of 200,000 rows: how long it takes by HTTP and until a browser paints it, and how much is sent.

Needs Chromium and playwright, as the tests do.
"""

import gzip
import json
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright
from scripts.chromium import chromium

from bench.report import Line, Report, Required
from bench.server import serving

ROWS = 200_000
REPEATS = 7
GRADERS: list[dict[str, Any]] = [
    {"type": "string_check", "name": "exact", "operation": "eq"},
    {"type": "text_similarity", "name": "fuzzy", "evaluation_metric": "fuzzy_match", "pass_threshold": 0.8},
    {"type": "text_similarity", "name": "rouge", "evaluation_metric": "rouge_l", "pass_threshold": 0.5},
]
# When the browser has drawn the first text or picture.
PAINTED = """() => new Promise(done => {
  new PerformanceObserver(list => {
    const found = list.getEntries().find(each => each.name === "first-contentful-paint");
    if (found) done(found.startTime);
  }).observe({type: "paint", buffered: true});
})"""


def main(quick: bool) -> Report:
    rows = ROWS // 20 if quick else ROWS
    with tempfile.TemporaryDirectory() as name, serving(Path(name)) as url:
        path = _run(url, rows)
        return Report(
            "web_pages", f"The page of a run of {rows:,} rows, SQLite, loopback.", list(_measure(url, path, rows))
        )


def _measure(url: str, path: str, rows: int) -> Iterator[Line]:
    at_most = Required("at most", 1000)
    addresses = {
        "the page": path,
        "its JSON of one row": f"{path}/rows/77.json",
        "a row's page": f"{path}/rows/77?criterion=2-fail&sort=-2",
        "rows that failed": f"{path}?status=fail",
        "rows that one criterion failed, by another's reward": f"{path}?criterion=2-fail&sort=-3",
        "by reward, highest first": f"{path}?sort=-2",
        "the last page": f"{path}?at=last",
        "a search that finds the last row": f"{path}?q=answer%20number%20{rows - 1}",
    }
    first = _get(url + path)
    yield Line("the page for the first time", first[0], "ms", required=at_most)
    for work, address in addresses.items():
        looks = [_get(url + address) for _ in range(REPEATS)]
        yield Line(work, statistics.median(took for took, _ in looks), "ms", required=at_most)
        yield Line(f"{work}, compressed", looks[0][1] / 1000, "kB", required=Required("at most", 250))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        paints = []
        for _ in range(REPEATS):
            context = browser.new_context(base_url=url)  # nothing is kept from the last time
            page = context.new_page()
            page.goto(path)
            paints.append(page.evaluate(PAINTED))
            context.close()
        yield Line("first contentful paint", statistics.median(paints), "ms", required=at_most)
        page = browser.new_page(base_url=url)
        page.goto(path)
        results = page.locator("#results")
        yield Line("a click on Failed, until it shows", _click(page, lambda: _choose(page, "Failed")), "ms")
        yield Line(
            "a click on a column, until it is sorted",
            _click(page, page.get_by_role("link", name="fuzzy").first.click),
            "ms",
        )
        yield Line(
            "a click on Last, until it shows", _click(page, results.get_by_role("link", name="Last").click), "ms"
        )
        browser.close()


def _choose(page: Page, name: str) -> None:
    page.get_by_role("radio", name=name).check(force=True)


def _click(page: Page, act: Callable[[], Any]) -> float:
    """Milliseconds until the rows were swapped."""
    page.evaluate(
        "() => { window.swapped = new Promise(done => addEventListener('htmx:afterSettle', done, {once: true})); }"
    )
    started = time.perf_counter()
    act()
    page.evaluate("() => window.swapped")
    return (time.perf_counter() - started) * 1000


def _get(url: str) -> tuple[float, int]:
    """Milliseconds, and bytes as they were sent."""
    request = urllib.request.Request(url, headers={"accept": "text/html", "accept-encoding": "gzip"})  # noqa: S310
    started = time.perf_counter()
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        body = answer.read()
    took = (time.perf_counter() - started) * 1000
    assert answer.status == 200
    if answer.headers.get("content-encoding") == "gzip":
        gzip.decompress(body)
    return took, len(body)


def _run(url: str, rows: int) -> str:
    """The path of a run that has ended. Half of its answers are right, and the others a little wrong."""
    texts = {"input": "{{sample.output_text}}", "reference": "{{item.answer}}"}
    config = {"type": "custom", "item_schema": {"type": "object"}, "include_sample_schema": True}
    criteria = [{**grader, **texts} for grader in GRADERS]
    eval_ = _ask(f"{url}/v1/evals", {"name": "many", "data_source_config": config, "testing_criteria": criteria})
    lines = (
        {
            "item": {"question": f"What is the answer to question {index}?", "answer": f"the answer number {index}"},
            "sample": f"the answer number {index}" if index % 2 else "an answer" + " or other" * (index % 9),
        }
        for index in range(rows)
    )
    content = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    boundary = "bench"
    form = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nevals\r\n--{boundary}\r\n'
        'Content-Disposition: form-data; name="file"; filename="rows.jsonl"\r\n\r\n'
    ).encode()
    body = form + content + f"\r\n--{boundary}--\r\n".encode()
    file = _ask(f"{url}/v1/files", body, f"multipart/form-data; boundary={boundary}")
    source = {"type": "jsonl", "source": {"type": "file_id", "id": file["id"]}}
    run = _ask(f"{url}/v1/evals/{eval_['id']}/runs", {"name": "many rows", "data_source": source})
    path = f"/evals/{eval_['id']}/runs/{run['id']}"
    while run["status"] in ("queued", "in_progress"):
        time.sleep(1)
        run = _ask(f"{url}/v1{path}")
    assert run["status"] == "completed"
    assert run["result_counts"]["total"] == rows
    return path


def _ask(url: str, body: Any = None, kind: str = "application/json") -> Any:
    data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": kind} if data else {})  # noqa: S310
    with urllib.request.urlopen(request, timeout=300) as answer:  # noqa: S310
        return json.load(answer)
