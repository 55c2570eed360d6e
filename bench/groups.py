"""For whom a large run went well: its rows grouped by a field, and filtered by field, reward and outcome, a page each.

On SQLite, and on PostgreSQL where its server is installed. Without the web server: what is measured is how the columns
of a run are read, and what is asked of them. "For the first time" is with nothing of the run in memory.
"""

import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.postgres import Postgres, binary, initialise

from bench.report import Line, Report, Required
from fairmark import jsontext
from fairmark.store import Counts, CriterionScore, NewItem, Run, Store, View, hash_item, ids
from fairmark.store.evals.facets import fields_of
from fairmark.store.views.breakdown import differences, groups
from fairmark.store.views.choosing import Choice, FieldFilter, ScoreRange, choose

ROWS = 200_000
ROWS_A_BATCH = 1000
GROUP_MS, FILTER_MS = 1000, 300
LANGUAGES = ("en", "de", "fr", "ja", "ar", "zh", "es")
WORDS = "the capital of this country is a city by a river and many people live there since long ago".split()

Ask = Callable[[], Awaitable[object]]


def main(quick: bool) -> Report:
    rows, times = (ROWS // 20, 3) if quick else (ROWS, 7)
    lines: list[Line] = []
    raw: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        places: dict[str, str | None] = {"SQLite": None}
        if _has_postgres():
            initialise(Path(folder) / "postgres")
            server = Postgres(Path(folder) / "postgres")
            server.start()
            stack.callback(server.remove)
            server.query("CREATE DATABASE groups TEMPLATE template0")
            places["PostgreSQL"] = server.url("groups")
        for database, url in places.items():
            (Path(folder) / database).mkdir()
            measured, seen = asyncio.run(_measure(url, Path(folder) / database, rows, times, database))
            lines += measured
            raw |= seen
    about = f"{rows:,} rows of about 1 kB with two criteria and six fields; median of {times}."
    return Report("groups", about, lines, raw)


def _has_postgres() -> bool:
    try:
        return bool(binary("postgres"))
    except AssertionError:
        return False


async def _measure(
    url: str | None, home: Path, rows: int, times: int, database: str
) -> tuple[list[Line], dict[str, Any]]:
    store = await Store.open(url, home)
    lines: list[Line] = []
    raw: dict[str, Any] = {}
    try:
        run = await _fill(store, rows)
        for work, ask, most in _questions(store, run):
            raw[f"{database}: {work}"] = took = [await _timed(ask) for _ in range(times)]
            name = f"{work}, {database}"
            lines.append(Line(name, statistics.median(took), "ms", required=Required("at most", most)))
    finally:
        await store.close()
    return lines, raw


def _questions(store: Store, run: Run) -> list[tuple[str, Ask, float]]:
    async def grouped() -> object:
        columns = await store.columns.of(run)
        columns.remembered.clear()
        return await asyncio.to_thread(lambda: (differences(columns), groups(columns, "metadata.language", 1)))

    async def cold() -> object:
        store.columns._kept.clear()  # noqa: SLF001  # as after a restart
        return await grouped()

    async def page(choice: Choice) -> object:
        columns = await store.columns.of(run)
        columns.remembered.clear()
        indexes = await asyncio.to_thread(choose, columns, choice)
        middle = len(indexes) // 2
        return await store.rows.at(run, indexes[middle : middle + 50])

    language, turns = FieldFilter("metadata.language", "is", "ja"), FieldFilter("turns", "gt", "20")
    range_ = ScoreRange(1, 0.25, 0.75)
    return [
        ("all fields and one broken down, for the first time", cold, GROUP_MS),
        ("all fields and one broken down", grouped, GROUP_MS),
        ("a page by one field", lambda: page(Choice(View(), (language,))), FILTER_MS),
        ("a page by field and reward", lambda: page(Choice(View(), (language,), range_)), FILTER_MS),
        (
            "a page by two fields, reward, outcome and status, sorted",
            lambda: page(Choice(View("fail", 0, "fail", sort=1, descending=True), (language, turns), range_)),
            FILTER_MS,
        ),
        ("a page by reward alone", lambda: page(Choice(View(), (), range_)), FILTER_MS),
    ]


async def _timed(ask: Ask) -> float:
    began = time.perf_counter()
    await ask()
    return 1000 * (time.perf_counter() - began)


async def _fill(store: Store, rows: int) -> Run:
    made = await store.evals.create("default", "", {}, {}, [{"id": "exact-1"}, {"id": "similar-1"}])
    run = await store.runs.create("default", made.id, "", {}, {}, None, rows, {})
    await store.runs.start(run)
    dice = random.Random(7)
    for at in range(0, rows, ROWS_A_BATCH):
        new = [_item(run, idx, dice) for idx in range(at, min(at + ROWS_A_BATCH, rows))]
        counts = Counts()
        for each in new:
            counts.count(each.status, {})
        await store.items.add(run, new, counts)
    await store.runs.finish(run, "completed")
    now = await store.runs.get("default", made.id, run.id)
    assert now is not None  # it was made just now
    return now


def _item(run: Run, idx: int, dice: random.Random) -> NewItem:
    score = round(dice.random(), 4)
    outcome = "pass" if score >= 0.5 else "fail"
    item = {
        "question": " ".join(dice.choices(WORDS, k=60)),
        "answer": f"answer {idx}",
        "turns": dice.randint(1, 40),
        "metadata": {"language": dice.choice(LANGUAGES), "hard": dice.random() < 0.3, "source": f"s{idx % 12}"},
    }
    sample = {"output": [{"role": "assistant", "content": " ".join(dice.choices(WORDS, k=40))}], "error": None}
    body = jsontext.encode({"id": ids.of_item(run.id, idx), "datasource_item": item, "results": [], "sample": sample})
    scores = (CriterionScore(outcome, float(score >= 0.5)), CriterionScore(outcome, score))
    return NewItem(idx, outcome, body, scores, hash_item(item), fields=fields_of(item))
