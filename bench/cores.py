"""What a second core is worth: the same server on one core and on all of them, and with one process and several.

A run of a grader that computes is worked off by `fairmark serve` that may use one core, then by one that may use all.
Requests for a grade go to a server of one process, then of as many as there are cores. Last, small requests beside a
heavy run. Each pair is measured in turns, and the best of each side counts: the machine is never quite still.
"""

import contextlib
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench import process
from bench.corpus import Writer
from bench.report import Line, Report, Required
from bench.server import EXACT, SIMILAR, serving

CORES = len(os.sched_getaffinity(0))
RUN = "/v1/fine_tuning/alpha/graders/run"
CONFIG = {"type": "custom", "item_schema": {}, "include_sample_schema": True}
WORDS = 60
ALL_CORES = Required("at least", 1.6, "ratio")
QUICK_MS = 50.0


def main(quick: bool) -> Report:
    rows, rounds, seconds = (2_000, 1, 1.0) if quick else (20_000, 3, 4.0)
    lines: list[Line] = []
    raw: dict[str, Any] = {"cores": CORES}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for metric in ("meteor", "rouge_l"):
            one, every = runs_a_second(folder / metric, metric, rows, rounds)
            raw[f"run by {metric}"] = {"one core": one, "all cores": every}
            required = ALL_CORES if metric == "meteor" else None
            lines.append(Line(f"a run by {metric}", max(every), "rows/s", max(one), "one core", required))
        for what, body, required in (
            ("graders/run by meteor", long_request(), ALL_CORES),
            ("graders/run by string_check", small_request(), None),
        ):
            one, every = requests_a_second(folder / "requests", body, seconds, rounds)
            raw[what] = {"one process": one, f"{CORES} processes": every}
            lines.append(Line(what, max(every), "requests/s", max(one), "one process", required))
        for processes in (1, CORES):
            alone, beside = latencies(folder / f"beside{processes}", rows, seconds, processes)
            raw[f"beside a run, {processes} processes"] = {"alone": alone, "beside": beside}
            work = f"p99 of graders/run beside a run by meteor, {processes} process{'es' if processes > 1 else ''}"
            lines.append(Line(work, beside["p99"], "ms", alone["p99"], "alone", Required("at most", QUICK_MS)))
    about = (
        f"fairmark serve on one core and on {CORES}, with one process and with {CORES}; texts of {WORDS} words. The"
        " load comes from the same cores, which light requests feel: they take as long to send as to answer."
    )
    return Report("cores", about, lines, raw)


def similar(metric: str) -> dict[str, Any]:
    return {**SIMILAR, "name": metric, "evaluation_metric": metric, "pass_threshold": 0.5}


def data(count: int) -> list[dict[str, Any]]:
    """Rows that differ from one another: a stretch of a long text, and the same with some words exchanged."""
    writer = Writer(seed=29)
    words = writer.text(50_000).split()
    rows = []
    for _ in range(count):
        start = writer.random.randrange(len(words) - WORDS)
        text = words[start : start + WORDS]
        other = [words[writer.random.randrange(len(words))] if writer.random.random() < 0.2 else word for word in text]
        rows.append({"item": {"answer": " ".join(text)}, "sample": {"output_text": " ".join(other)}})
    return rows


def long_request() -> dict[str, Any]:
    row = data(1)[0]
    return {"grader": similar("meteor"), "model_sample": row["sample"]["output_text"], "item": row["item"]}


def small_request() -> dict[str, Any]:
    return {"grader": EXACT, "model_sample": "Paris", "item": {"answer": "Paris"}}


def runs_a_second(folder: Path, metric: str, rows: int, rounds: int) -> tuple[list[float], list[float]]:
    """Rows a second of whole runs, on one core and on all."""
    folder.mkdir()
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in data(rows)))
    found: tuple[list[float], list[float]] = ([], [])
    with contextlib.ExitStack() as servers:
        with on_cores(1):
            one = servers.enter_context(serving(folder / "one"))
        every = servers.enter_context(serving(folder / "all"))
        for _ in range(rounds):
            for url, speeds in zip((one, every), found, strict=True):
                speeds.append(rows / run_seconds(url, metric, file))
    return found


def run_seconds(url: str, metric: str, file: Path) -> float:
    api = Api(url)
    run = api.begin(metric, api.upload(file))
    began = time.perf_counter()
    while (shown := api.get(run))["status"] in ("queued", "in_progress"):
        time.sleep(0.02)
    took = time.perf_counter() - began
    if shown["status"] != "completed" or shown["result_counts"]["errored"]:
        raise process.ProcessFailed(f"the run ended {shown['status']}: {shown['result_counts']}")
    return took


def requests_a_second(
    folder: Path, body: dict[str, Any], seconds: float, rounds: int
) -> tuple[list[float], list[float]]:
    """Of a server with one process, and of one with as many as there are cores."""
    found: tuple[list[float], list[float]] = ([], [])
    folder.mkdir(exist_ok=True)
    sent = folder / "body.json"
    sent.write_text(json.dumps(body))
    with serving(folder / "one") as one, serving(folder / "all", args=("--processes", str(CORES))) as every:
        for url in (one, every):
            load(url, sent, seconds / 4)
        for _ in range(rounds):
            for url, speeds in zip((one, every), found, strict=True):
                speeds.append(load(url, sent, seconds)["per_s"])
    return found


def load(url: str, body: Path, seconds: float) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.load", url + RUN, str(body), "--connections", "32"]
    done = subprocess.run(
        [*command, "--seconds", str(seconds)], capture_output=True, text=True, check=True, cwd=process.ROOT
    )
    told: dict[str, float] = json.loads(done.stdout)
    if told["failed"]:
        raise process.ProcessFailed(f"{told['failed']:.0f} requests failed")
    return told


def latencies(folder: Path, rows: int, seconds: float, processes: int) -> tuple[dict[str, float], dict[str, float]]:
    """Of small requests, a hundred a second at most: alone, and beside a run."""
    folder.mkdir()
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in data(10 * rows)))
    with serving(folder / "home", args=("--processes", str(processes))) as url:
        api = Api(url)
        alone = api.latencies(seconds)
        run = api.begin("meteor", api.upload(file))
        while not api.get(run)["result_counts"]["total"]:
            time.sleep(0.02)
        beside = api.latencies(seconds)
        if api.get(run)["status"] != "in_progress":
            raise process.ProcessFailed("the run ended too soon to be measured beside")
        api.post(run, {})
    return alone, beside


class Api:
    """A small client on one connection."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=120)

    def post(self, path: str, body: Any) -> Any:
        return self._ask("POST", path, json.dumps(body).encode(), "application/json")

    def get(self, path: str) -> Any:
        return self._ask("GET", path, b"", "application/json")

    def upload(self, file: Path) -> str:
        head = '--edge\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nevals\r\n'
        head += '--edge\r\nContent-Disposition: form-data; name="file"; filename="rows.jsonl"\r\n\r\n'
        body = head.encode() + file.read_bytes() + b"\r\n--edge--\r\n"
        made: str = self._ask("POST", "/v1/files", body, "multipart/form-data; boundary=edge")["id"]
        return made

    def begin(self, metric: str, file_id: str) -> str:
        """Where the new run is."""
        made = self.post("/v1/evals", {"data_source_config": CONFIG, "testing_criteria": [similar(metric)]})
        source = {"type": "jsonl", "source": {"type": "file_id", "id": file_id}}
        run = self.post(f"/v1/evals/{made['id']}/runs", {"data_source": source})
        return f"/v1/evals/{made['id']}/runs/{run['id']}"

    def latencies(self, seconds: float) -> dict[str, float]:
        took: list[float] = []
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            began = time.perf_counter()
            self.post(RUN, small_request())
            took.append(1000 * (time.perf_counter() - began))
            time.sleep(max(0.0, 0.01 - took[-1] / 1000))
        took.sort()
        return {"asked": len(took), "p50": took[len(took) // 2], "p99": took[len(took) * 99 // 100], "max": took[-1]}

    def _ask(self, method: str, path: str, body: bytes, kind: str) -> Any:
        self._connection.request(method, path, body, {"Content-Type": kind})
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise process.ProcessFailed(f"{method} {path}: {answer.status} {text[:200]!r}")
        return json.loads(text)


@contextlib.contextmanager
def on_cores(count: int) -> Iterator[None]:
    """What is started inside may use so many cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(sorted(before)[-count:]))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
