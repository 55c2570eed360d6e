"""The server over loopback: grades and rewards a second, whole runs by rows a second, and the memory they take.

Server and load are processes of their own. The peer is an echo of the same body by Starlette and msgspec: the least
that a Python server can do.
"""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import process
from bench.report import Line, Report, Required

CONNECTIONS = 32
ROWS_A_REQUEST = 1000
SMALL_RUN, LARGE_RUN = 10_000, 200_000
LIMIT_S = 600

EXACT = {
    "type": "string_check",
    "name": "exact",
    "input": "{{sample.output_text}}",
    "reference": "{{item.answer}}",
    "operation": "eq",
}
SIMILAR = {
    "type": "text_similarity",
    "name": "similar",
    "input": "{{sample.output_text}}",
    "reference": "{{item.answer}}",
    "evaluation_metric": "rouge_l",
    "pass_threshold": 0.5,
}
TEXT = "The capital of the country is a city by the river, and many people live there"


def main(quick: bool) -> Report:
    seconds, runs = (0.5, 1) if quick else (4.0, 3)
    small, large = (SMALL_RUN // 20, LARGE_RUN // 20) if quick else (SMALL_RUN, LARGE_RUN)
    raw: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with serving(home) as url:
            lines = [*_requests(url, home, seconds, runs, raw)]
        lines += _runs(home, small, large, raw)
    about = (
        f"`fairmark serve` on loopback, one process, its load from another; {CONNECTIONS} connections, {seconds:g} s,"
        f" median of {runs}. The echo decodes and encodes the same body with Starlette and msgspec. Runs are by"
        " string_check and rouge_l, on SQLite, from POST to completed."
    )
    return Report("server", about, lines, raw)


def _requests(url: str, folder: Path, seconds: float, runs: int, raw: dict[str, Any]) -> Iterator[Line]:
    one, many = folder / "one.json", folder / "many.json"
    one.write_text(json.dumps({"grader": EXACT, "model_sample": "Paris", "item": {"answer": "Paris"}}))
    many.write_text(json.dumps({"grader": EXACT, "rows": [new_row(index) for index in range(ROWS_A_REQUEST)]}))
    ours, echo, rewards = [], [], []
    with _started([sys.executable, "-m", "bench.echo_server"], folder) as (echo_url, _):
        for _ in range(runs):  # in turns, so that a busy moment hits both
            ours.append(load(f"{url}/v1/fine_tuning/alpha/graders/run", one, CONNECTIONS, seconds))
            echo.append(load(f"{echo_url}/echo", one, CONNECTIONS, seconds))
            rewards.append(load(f"{url}/v1/rewards", many, 2, seconds))
    raw |= {"graders/run": ours, "echo": echo, "rewards": rewards}
    yield Line(
        "graders/run, string_check",
        _median(ours),
        "requests/s",
        _median(echo),
        "echo",
        Required("at least", 0.5, "ratio"),
    )
    rate = ROWS_A_REQUEST * _median(rewards)
    yield Line(f"rewards, {ROWS_A_REQUEST:,} rows", rate, "rows/s", required=Required("at least", 50_000))


def new_row(index: int) -> dict[str, Any]:
    return {"item": {"answer": f"{TEXT} {index}"}, "sample": f"{TEXT} {index - index % 3}"}


def load(url: str, body: Path, connections: int, seconds: float) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.load", url, str(body), "--connections", str(connections)]
    done = process.run([*command, "--seconds", str(seconds)], seconds + 90, cwd=process.ROOT)
    told: dict[str, float] = json.loads(done.stdout)
    if told["failed"]:
        raise process.ProcessFailed(f"{url}: {told['failed']} of {told['answered']} requests failed")
    return told


def _median(loads: list[dict[str, float]]) -> float:
    return statistics.median(load["per_s"] for load in loads)


def _runs(folder: Path, small: int, large: int, raw: dict[str, Any]) -> list[Line]:
    """Each run on a fresh server, whose peak memory is then the run's own."""
    content = [{"item": row["item"], "sample": {"output_text": row["sample"]}} for row in map(new_row, range(small))]
    with serving(folder / "small") as url:
        inline = _run(url, {"type": "file_content", "content": content}, small)
        inline["peak_mb"] = _peak_mb(url)
    with serving(folder / "large") as url:
        by_file = _run(url, {"type": "file_id", "id": _upload(url, large)}, large)
        by_file["peak_mb"] = _peak_mb(url)
        first, last = _page_ms(url, by_file)
    raw["runs"] = {"inline": inline, "file": by_file, "first_pages_ms": first, "last_pages_ms": last}
    small_work, large_work = f"run of {small:,} rows, inline", f"run of {large:,} rows, by file"
    rate, large_rate = small / inline["seconds"], large / by_file["seconds"]
    return [
        Line(small_work, rate, "rows/s", required=Required("at least", 4_000)),
        Line(f"{small_work}: peak memory", inline["peak_mb"], "MB", required=Required("at most", 300)),
        Line(
            f"{large_work}: time a row",
            1e6 / large_rate,
            "µs",
            1e6 / rate,
            f"{small:,} rows",
            Required("at most", 1.3, "ratio"),
        ),
        Line(
            f"{large_work}: peak memory",
            by_file["peak_mb"],
            "MB",
            inline["peak_mb"],
            f"{small:,} rows",
            Required("at most", 1.2, "ratio"),
        ),
        Line(
            "100 output items at the end",
            statistics.median(last),
            "ms",
            statistics.median(first),
            "at the start",
            Required("at most", 1.5, "ratio"),
        ),
    ]


def _run(url: str, source: dict[str, Any], rows: int) -> dict[str, Any]:
    config = {"type": "custom", "item_schema": {"type": "object"}, "include_sample_schema": True}
    created = ask(f"{url}/v1/evals", {"data_source_config": config, "testing_criteria": [EXACT, SIMILAR]})
    began = time.perf_counter()
    run = ask(f"{url}/v1/evals/{created['id']}/runs", {"data_source": {"type": "jsonl", "source": source}})
    path = f"{url}/v1/evals/{created['id']}/runs/{run['id']}"
    while run["status"] in ("queued", "in_progress"):
        if time.perf_counter() - began > LIMIT_S:
            raise process.TookTooLong(f"a run of {rows:,} rows took longer than {LIMIT_S} s")
        time.sleep(0.05)
        run = ask(path)
    seconds = time.perf_counter() - began
    if run["status"] != "completed" or run["result_counts"]["total"] != rows:
        raise process.ProcessFailed(f"the run ended {run['status']}: {run['error']}, {run['result_counts']}")
    return {"seconds": seconds, "rows": rows, "path": path}


def _page_ms(url: str, run: dict[str, Any]) -> tuple[list[float], list[float]]:
    """Milliseconds for pages of 100 output items: the first ones, and the last before the end."""
    ends = ask(f"{run['path']}/output_items?limit=100&order=desc")["data"][-1]["id"]
    first, last = [], []
    for _ in range(15):
        first.append(_timed(f"{run['path']}/output_items?limit=100"))
        last.append(_timed(f"{run['path']}/output_items?limit=100&after={ends}"))
    return first, last


def _timed(url: str) -> float:
    began = time.perf_counter()
    ask(url)
    return 1000 * (time.perf_counter() - began)


def _upload(url: str, rows: int) -> str:
    lines = b"".join(
        json.dumps({"item": row["item"], "sample": {"output_text": row["sample"]}}).encode() + b"\n"
        for row in map(new_row, range(rows))
    )
    head = b'--b\r\nContent-Disposition: form-data; name="%b"'
    body = head % b"purpose" + b"\r\n\r\nevals\r\n" + head % b"file" + b'; filename="rows.jsonl"\r\n\r\n' + lines
    kind = {"content-type": "multipart/form-data; boundary=b"}
    file_id: str = ask(f"{url}/v1/files", body + b"\r\n--b--\r\n", kind)["id"]
    return file_id


def ask(url: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers or {})  # noqa: S310  # our own server's address
    with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:  # noqa: S310
        return json.load(answer)


def _peak_mb(url: str) -> float:
    return float(Path(f"/proc/{pids[url]}/status").read_text().split("VmHWM:")[1].split()[0]) / 1024


pids: dict[str, int] = {}


@contextlib.contextmanager
def serving(home: Path, environment: Mapping[str, str] | None = None, args: Sequence[str] = ()) -> Iterator[str]:
    """`fairmark serve` with a home of its own; the value is its address."""
    home.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "fairmark", "serve", "--port", "0", *args]
    with _started(command, home, environment) as (url, pid):
        pids[url] = pid
        yield url


@contextlib.contextmanager
def _started(command: list[str], home: Path, environment: Mapping[str, str] | None = None) -> Iterator[tuple[str, int]]:
    """A server that tells its address in its first line, and ends with the `with`."""
    given = {**os.environ, "FAIRMARK_HOME": str(home), "PYTHONPATH": str(process.ROOT), **(environment or {})}
    with (home / "server.log").open("wb") as log:
        server = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL, text=True, env=given, cwd=home
        )
    try:
        first = server.stdout.readline() if server.stdout else ""
        if "http://" not in first:
            raise process.ProcessFailed(f"{command[-1]} did not start: {(home / 'server.log').read_text()[-200:]}")
        yield first.split()[-1], server.pid
    finally:
        server.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(30)
        server.kill()
        if server.stdout:
            server.stdout.close()
