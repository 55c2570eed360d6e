"""What a crash costs, and what readers cost a writer, on SQLite.

Servers are killed while they sample: what a model answered and nobody stored has to be bought again. And one task
stores samples one after the other, alone and beside many that read.
"""

import asyncio
import contextlib
import os
import random
import signal
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import process
from bench.judge_server import JudgeServer, stats
from bench.report import Line, Report, Required
from bench.server import ask, pids, serving
from fairmark.store import Store

KILLS, ROWS = 60, 3_000
LATENCY_MS = 50
BOUGHT_AGAIN = 128
READERS = 150
LIMIT_S = 900
SAMPLING = {
    "type": "completions",
    "model": "student",
    "input_messages": {"type": "template", "template": [{"role": "user", "content": "What is {{ item.a }}?"}]},
}
EXACT = {
    "type": "string_check",
    "name": "exact",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.a }}",
    "operation": "ne",
}


def main(quick: bool) -> Report:
    kills, rows, seconds, turns = (3, ROWS // 20, 0.3, 1) if quick else (KILLS, ROWS, 3.0, 5)
    with tempfile.TemporaryDirectory() as folder:
        lost = killed_while_sampling(Path(folder) / "kills", kills, rows)
        alone, beside = asyncio.run(_write_and_read(Path(folder), seconds, turns))
    lines = [
        Line(
            f"{kills} kills while {rows:,} rows are sampled: most answers bought again after one",
            max(lost),
            "answers",
            required=Required("at most", BOUGHT_AGAIN),
        ),
        Line(
            f"{kills} kills while {rows:,} rows are sampled: answers bought again after one",
            statistics.mean(lost),
            "answers",
            required=Required("at most", BOUGHT_AGAIN),
        ),
        Line(
            f"samples stored one by one beside {READERS} readers",
            statistics.median(beside),
            "writes/s",
            statistics.median(alone),
            "alone",
            Required("at least", 0.5, "ratio"),
        ),
    ]
    about = (
        f"`fairmark serve` on SQLite, killed at random moments of a run that samples a model of {LATENCY_MS}"
        f" ms, 64 at once; and one writer in a process with {READERS} tasks that list 20 runs each without a pause,"
        f" median of {turns}."
    )
    return Report("store", about, lines, {"bought_again": lost, "alone_per_s": alone, "beside_per_s": beside})


def killed_while_sampling(home: Path, kills: int, rows: int) -> list[int]:
    """How many answers of each life of a server were got and not stored when it was killed."""
    chance = random.Random(1)
    lost: list[int] = []
    began = time.monotonic()
    with JudgeServer(LATENCY_MS) as judge:
        environment = {"OPENAI_BASE_URL": f"{judge}/v1", "OPENAI_API_KEY": "none", "FAIRMARK_JUDGE_CACHE": "off"}
        answered = stored = 0
        while len(lost) < kills:
            with serving(home, environment) as url:
                if not _is_under_way(home):
                    _post(url, rows)
                enough = answered + chance.randrange(1, 2 * rows // kills)
                while stats(judge)["requests"] < enough and _is_under_way(home):
                    if time.monotonic() - began > LIMIT_S:
                        raise process.TookTooLong(f"{len(lost)} kills took longer than {LIMIT_S} s")
                    time.sleep(0.002)
                os.kill(pids[url], signal.SIGKILL)
            time.sleep(2 * LATENCY_MS / 1000)  # what was under way is answered, and paid for
            now = stats(judge)["requests"], _count(home, "SELECT count(*) FROM samples")
            lost.append(now[0] - answered - (now[1] - stored))
            answered, stored = now
        with serving(home, environment):
            while _is_under_way(home):
                if time.monotonic() - began > LIMIT_S:
                    raise process.TookTooLong(f"the last run took longer than {LIMIT_S} s")
                time.sleep(0.05)
    return lost


def _post(url: str, rows: int) -> None:
    config = {"type": "custom", "item_schema": {"type": "object"}, "include_sample_schema": True}
    made = ask(f"{url}/v1/evals", {"data_source_config": config, "testing_criteria": [EXACT]})
    content = [{"item": {"a": str(index)}} for index in range(rows)]
    source = {**SAMPLING, "source": {"type": "file_content", "content": content}}
    ask(f"{url}/v1/evals/{made['id']}/runs", {"data_source": source})


def _is_under_way(home: Path) -> bool:
    return _count(home, "SELECT count(*) FROM runs WHERE status IN ('queued', 'in_progress')") > 0


def _count(home: Path, query: str) -> int:
    with contextlib.closing(sqlite3.connect(home / "fairmark.db", timeout=30)) as database:
        found: int = database.execute(query).fetchone()[0]
    return found


async def _write_and_read(home: Path, seconds: float, turns: int) -> tuple[list[float], list[float]]:
    """Writes a second: alone, and beside the readers; in turns, so that a busy moment hits both."""
    store = await Store.open(None, home)
    try:
        made = await store.evals.create("default", "", {}, {"type": "custom"}, [])
        for _ in range(20):
            await store.runs.create("default", made.id, "", {}, b"{}", None, 1, {})
        run = await store.runs.claim()
        assert run is not None  # one of the twenty
        await store.runs.start(run)
        written = 0

        async def write() -> float:
            nonlocal written
            began, first = time.perf_counter(), written
            while time.perf_counter() < began + seconds:
                await store.samples.add(run, [(written, b"x" * 500)])
                written += 1
            return (written - first) / (time.perf_counter() - began)

        async def read() -> None:
            while True:
                await store.runs.list("default", made.id, 20)

        alone, beside = [], []
        for _ in range(turns):
            alone.append(await write())
            readers: list[asyncio.Task[Any]] = [asyncio.create_task(read()) for _ in range(READERS)]
            await asyncio.sleep(0.2)
            beside.append(await write())
            for reader in readers:
                reader.cancel()
            await asyncio.gather(*readers, return_exceptions=True)
        return alone, beside
    finally:
        await store.close()
