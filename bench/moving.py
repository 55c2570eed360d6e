"""Reading a hosted service into an archive: how long, in how much memory, and what a second reading costs.

The service is the tests' double, in a process of its own on loopback. Its peer is a bare client that asks for the same
pages, four at a time, and throws them away: what reading costs beyond asking.
"""

import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import aiohttp

from bench import process
from bench.report import Line, Report, Required
from bench.startup import FAIRMARK

EVALS, RUNS, ITEMS = 10, 100, 200
MOST_MB = 300.0
LIMIT_S = 1800.0
ROOT = Path(__file__).parents[1]


def main(quick: bool = False) -> Report:
    runs = RUNS // 20 if quick else RUNS
    with tempfile.TemporaryDirectory() as name, _service(runs) as (base_url, key):
        command: list[str | Path] = [FAIRMARK, "import", "openai", "--only", "evals", "--pull-only", "--json"]
        command += ["--base-url", base_url, "--archive", Path(name) / "archive"]
        first = process.run(command, LIMIT_S, env={"OPENAI_API_KEY": key})
        asked = _requests(base_url)
        again = process.run(command, LIMIT_S, env={"OPENAI_API_KEY": key})
        asked_again = _requests(base_url) - asked
        size_mb = sum(path.stat().st_size for path in Path(name).rglob("*") if path.is_file()) / 1e6
        needed, seconds = asyncio.run(_bare(base_url, key))
        counts = json.loads(first.stdout)["counts"]
    total = EVALS * runs
    assert (counts["runs"], counts["items"]) == (total, total * ITEMS), counts
    work = f"{total:,} runs, {total * ITEMS:,} items"
    lines = [
        Line(f"{work}: time", first.wall_s, "s", seconds, "bare client"),
        Line(f"{work}: objects", (total + total * ITEMS) / first.wall_s, "objects/s"),
        Line(f"{work}: CPU", first.cpu_s, "s"),
        Line(f"{work}: memory", first.peak_mb, "MB", required=Required("at most", MOST_MB)),
        Line(f"{work}: archive", size_mb, "MB"),
        Line(f"{work}: second time", again.wall_s, "s", first.wall_s, "first time"),
        Line(f"{work}: requests", asked, "requests", needed, "bare client"),
        # The list of evals, a list of runs for each (a page a hundred), the models.
        Line(
            f"{work}: requests of the second time",
            asked_again,
            "requests",
            asked,
            "first time",
            Required("at most", 2 + EVALS * -(-runs // 100)),
        ),
    ]
    raw = {
        "first": first.numbers(),
        "again": again.numbers(),
        "bare_s": seconds,
        "requests": [asked, asked_again],
        "mb": size_mb,
    }
    return Report("moving", "fairmark import openai --only evals, against a double on loopback.", lines, raw)


@contextlib.contextmanager
def _service(runs: int) -> Iterator[tuple[str, str]]:
    """(its base URL, its key)"""
    words = [sys.executable, "-m", "tests.hosted", "--evals", str(EVALS), "--runs", str(runs), "--items", str(ITEMS)]
    words += ["--item-bytes", "2000", "--files", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT) as double:
        try:
            assert double.stdout is not None
            yield double.stdout.readline().strip(), double.stdout.readline().strip()
        finally:
            double.terminate()


def _requests(base_url: str) -> int:
    with urllib.request.urlopen(f"{base_url.removesuffix('/v1')}/requests", timeout=30) as answer:  # noqa: S310
        count: int = json.loads(answer.read())["requests"]
    return count


async def _bare(base_url: str, key: str) -> tuple[int, float]:
    """(how many requests it takes, in how many seconds)"""
    requests, room = 0, asyncio.Semaphore(4)

    async def walk(path: str) -> list[str]:
        nonlocal requests
        ids: list[str] = []
        while True:
            query = {"limit": "100", "order": "asc", **({"after": ids[-1]} if ids else {})}
            async with room, session.get(f"{base_url}/{path}", params=query) as answer:
                page: dict[str, Any] = json.loads(await answer.read())
            requests += 1
            ids += [entry["id"] for entry in page["data"]]
            if not page["has_more"]:
                return ids

    async def walk_eval(eval_id: str) -> None:
        runs = await walk(f"evals/{eval_id}/runs")
        await asyncio.gather(*(walk(f"evals/{eval_id}/runs/{run}/output_items") for run in runs))

    started = perf_counter()
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {key}"}) as session:
        await asyncio.gather(*(walk_eval(eval_id) for eval_id in await walk("evals")))
    return requests, perf_counter() - started
