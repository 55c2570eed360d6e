"""What the web page asks of the store about a large run: pages of its rows, a histogram, and a comparison.

On SQLite, without the server: what is measured is how the questions are asked.
"""

import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bench.report import Line, Report, Required
from fairmark import jsontext
from fairmark.store import Counts, CriterionScore, NewItem, Run, Store, View, hash_item, ids

ROWS = 200_000
ROWS_A_BATCH = 1000
PAGE_MS, SEARCH_MS, SUMMARY_MS = 50, 1000, 1500
RARE = "needle"
WORDS = "the capital of this country is a city by a river and many people live there since long ago".split()

Ask = Callable[[], Awaitable[object]]


def main(quick: bool) -> Report:
    rows, times = (ROWS // 20, 3) if quick else (ROWS, 9)
    with tempfile.TemporaryDirectory() as folder:
        lines, raw = asyncio.run(_measure(Path(folder), rows, times))
    about = (
        f"Pages of 50 rows out of {rows:,} of about 1 kB with two criteria, on SQLite, as the web page asks for them;"
        f" median of {times}. A search stops after half a second, and its page tells where to go on."
    )
    return Report("web", about, lines, raw)


async def _measure(home: Path, rows: int, times: int) -> tuple[list[Line], dict[str, Any]]:
    store = await Store.open(None, home)
    try:
        first, second = await _fill(store, rows, 1), await _fill(store, rows, 2)
        raw = {}
        lines = []
        for work, ask, most in await _questions(store, first, second):
            raw[work] = [await _timed(ask) for _ in range(times)]
            lines.append(Line(work, statistics.median(raw[work]), "ms", required=Required("at most", most)))
        return lines, raw
    finally:
        await store.close()


async def _questions(store: Store, first: Run, second: Run) -> list[tuple[str, Ask, float]]:
    def page(view: View, at: str | None = None) -> Ask:
        return lambda: store.rows.page(first, view, at)

    middle = await store.rows.page(first, View(sort=1, descending=True), "after_0.5_0")
    return [
        ("first page", page(View()), PAGE_MS),
        ("last page", page(View(), "last"), PAGE_MS),
        ("failed rows, last page", page(View(status="fail"), "last"), PAGE_MS),
        ("failed by one criterion, last page", page(View(criterion=0, outcome="fail"), "last"), PAGE_MS),
        ("by reward, first page", page(View(sort=1, descending=True)), PAGE_MS),
        ("by reward, a page in the middle", page(View(sort=1, descending=True), middle.next), PAGE_MS),
        ("by reward, last page", page(View(sort=1, descending=True), "last"), PAGE_MS),
        ("by reward, failed rows", page(View(status="fail", sort=1, descending=True)), SEARCH_MS),
        ("by reward, errors of another criterion", page(View(criterion=0, outcome="error", sort=1)), SEARCH_MS),
        ("search, a common word", page(View(text="RIVER")), PAGE_MS),
        ("search, a common word, by reward", page(View(text="RIVER", sort=1)), PAGE_MS),
        ("search, a rare word", page(View(text=RARE)), SEARCH_MS),
        ("search, the name of a field", page(View(text="datasource")), SEARCH_MS),
        ("neighbours of a row, by reward", lambda: store.rows.neighbours(first, View(sort=1), 5000), PAGE_MS),
        ("histogram", lambda: store.scores.histogram(first, 1, 40), SUMMARY_MS),
        ("comparison of two runs", lambda: store.comparison.totals(first, second, (1, 1)), SUMMARY_MS),
        ("flipped rows, first page", lambda: store.comparison.rows(first, second, (1, 1), "row"), PAGE_MS),
    ]


async def _timed(ask: Ask) -> float:
    began = time.perf_counter()
    await ask()
    return 1000 * (time.perf_counter() - began)


async def _fill(store: Store, rows: int, seed: int) -> Run:
    """A run with one criterion that says 0 or 1 and one with a score in between; one row in a hundred is an error."""
    made = await store.evals.create("default", "", {}, {}, [{"id": "exact-1"}, {"id": "similar-1"}])
    run = await store.runs.create("default", made.id, "", {}, {}, None, rows, {})
    await store.runs.start(run)
    dice = random.Random(seed)
    for at in range(0, rows, ROWS_A_BATCH):
        new = [_item(run, idx, dice, rows) for idx in range(at, min(at + ROWS_A_BATCH, rows))]
        counts = Counts()
        for each in new:
            counts.count(each.status, {})
        await store.items.add(run, new, counts)
    return run


def _item(run: Run, idx: int, dice: random.Random, rows: int) -> NewItem:
    score = round(dice.random(), 4)
    if dice.random() < 0.01:
        scores = (CriterionScore("error", 0.0), CriterionScore("pass" if score >= 0.5 else "fail", score))
        status = "error"
    else:
        passed = "pass" if score >= 0.5 else "fail"
        scores = (CriterionScore(passed, float(score >= 0.5)), CriterionScore(passed, score))
        status = passed
    item = {"question": " ".join(dice.choices(WORDS, k=60)), "answer": f"{RARE} {idx}" if idx == rows - 5 else idx}
    results = [
        {"name": name, "type": "text-similarity-grader", "score": each.score, "status": "graded", "error": None}
        for name, each in zip(("exact-1", "similar-1"), scores, strict=True)
    ]
    sample = {"output": [{"role": "assistant", "content": " ".join(dice.choices(WORDS, k=40))}], "error": None}
    body = {"id": ids.of_item(run.id, idx), "status": status, "datasource_item": item, "results": results}
    return NewItem(idx, status, jsontext.encode({**body, "sample": sample}), scores, hash_item({"n": idx}))
