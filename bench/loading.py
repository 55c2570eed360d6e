"""Loading an archive of many runs, and whether what was loaded pages as fast as what was made here, on SQLite."""

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bench.report import Line, Report, Required
from fairmark.evals.engine import Engine
from fairmark.evals.eval_calls import new_eval
from fairmark.evals.run_calls import new_run
from fairmark.moving.archive import Archive, part_name
from fairmark.moving.export import export
from fairmark.moving.load import load
from fairmark.registry.lookup import Registry
from fairmark.store import Run, Store, View

RUNS, ITEMS = 1_000, 200
OWN_ITEMS = 20_000
MOST_MB = 300
LOOKS_A_SIDE = 30
CRITERION = {
    "type": "string_check",
    "name": "exact",
    "id": "exact-1",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "operation": "eq",
}
LOAD = """
import asyncio, resource, sys, time
from pathlib import Path
from fairmark.moving.archive import Archive
from fairmark.moving.load import load
from fairmark.store import Store

async def main():
    store = await Store.open(None, Path(sys.argv[2]))
    began = time.perf_counter()
    report = await load(Archive.open(Path(sys.argv[1])), store, "default")
    print(time.perf_counter() - began, report.items, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    await store.close()

asyncio.run(main())
"""


def main(quick: bool) -> Report:
    runs, own_items = (20, 1_000) if quick else (RUNS, OWN_ITEMS)
    with tempfile.TemporaryDirectory() as folder:
        write_archive(Path(folder) / "archive", runs)
        first_s, items, memory_mb = loaded(Path(folder) / "archive", Path(folder) / "home")
        again_s, _, _ = loaded(Path(folder) / "archive", Path(folder) / "home")
        times = asyncio.run(_compare(Path(folder), own_items))
    lines = [
        Line(f"{runs:,} runs of {ITEMS} items loaded", items / first_s, "items/s"),
        Line("its memory", memory_mb, "MB", required=Required("at most", MOST_MB)),
        Line("the same archive again, nothing changed", again_s, "s"),
    ]
    for name, (own_ms, imported_ms) in times.items():
        required = Required("at most", 1.5, "ratio")
        lines.append(Line(f"{name}, {own_items:,} imported rows", imported_ms, "ms", own_ms, "our own", required))
    about = (
        f"An archive of {runs:,} runs with {ITEMS} output items of some 1.5 kB each, loaded in a process of its own;"
        f" and a run of {own_items:,} rows and the same run exported and loaded, by turns, medians of {LOOKS_A_SIDE}."
    )
    return Report("loading", about, lines, {"load_s": first_s, "again_s": again_s, "mb": memory_mb, "pages_ms": times})


def write_archive(folder: Path, runs: int) -> None:
    archive = Archive(folder)
    archive.save_manifest({"source": "bench"})
    eval_ = {"object": "eval", "id": "eval_1", "name": "e", "created_at": 1, "metadata": {}}
    archive.write("evals.jsonl", json.dumps({**eval_, "testing_criteria": [CRITERION]}).encode() + b"\n")
    (folder / "runs").mkdir()
    (folder / "items").mkdir()
    for number in range(runs):
        run_id = f"evalrun_{number}"
        run = {"object": "eval.run", "id": run_id, "eval_id": "eval_1", "status": "completed", "created_at": number}
        archive.path(part_name("runs", run_id, ".json")).write_text(json.dumps(run))
        with archive.path(part_name("items", run_id, ".jsonl")).open("w") as file:
            file.writelines(json.dumps(_item(run_id, row)) + "\n" for row in range(ITEMS))


def _item(run_id: str, row: int) -> dict[str, Any]:
    passed = row % 3 > 0
    return {
        "object": "eval.run.output_item",
        "id": f"outputitem_{run_id}_{row}",
        "run_id": run_id,
        "eval_id": "eval_1",
        "created_at": 1,
        "status": "pass" if passed else "fail",
        "datasource_item_id": row,
        "datasource_item": {"question": "Which is the capital? " * 20, "answer": "Paris", "n": row},
        "results": [{"name": "exact-1", "score": float(passed), "passed": passed, "sample": None}],
        "sample": {"input": [], "output": [{"role": "assistant", "content": "It is Paris, I think. " * 20}]},
    }


def loaded(archive: Path, home: Path) -> tuple[float, int, float]:
    """Seconds, items written, and the most megabytes that the process had."""
    done = subprocess.run(
        [sys.executable, "-c", LOAD, archive, home], capture_output=True, text=True, check=True, timeout=1800
    )
    seconds, items, memory = done.stdout.split()
    return float(seconds), int(items), float(memory)


async def _compare(folder: Path, rows: int) -> dict[str, tuple[float, float]]:
    """What one look takes, in milliseconds: at our own run, and at the same one loaded elsewhere."""
    own = await Store.open(None, folder / "own")
    other = await Store.open(None, folder / "other")
    try:
        run = await _own_run(own, rows)
        await export(own, "default", folder / "exported")
        await load(Archive.open(folder / "exported"), other, "default")
        imported = await other.runs.get("default", run.eval_id, run.id)
        assert imported is not None  # it was just loaded
        found = {}
        for name, look in LOOKS.items():
            own_ms, imported_ms = await _medians_ms(look, (own, run), (other, imported))
            found[name] = (own_ms, imported_ms)
        return found
    finally:
        await own.close()
        await other.close()


async def _own_run(store: Store, rows: int) -> Run:
    engine, registry = Engine(store), Registry(store.graders.find)
    config = {"type": "custom", "item_schema": {"type": "object"}}
    grader = {name: value for name, value in CRITERION.items() if name != "id"}
    eval_ = await new_eval(store, registry, "default", {"data_source_config": config, "testing_criteria": [grader]})
    content = [{"item": {"answer": "Paris", "n": row}, "sample": "Paris" if row % 3 else "Rome"} for row in range(rows)]
    source = {"type": "jsonl", "source": {"type": "file_content", "content": content}}
    run = await new_run(store, registry, engine, "default", eval_, {"data_source": source})
    await engine.start()
    try:
        while run.status in ("queued", "in_progress"):
            await asyncio.sleep(0.2)
            run = await store.runs.get("default", eval_.id, run.id) or run
    finally:
        await engine.stop()
    return run


Look = Callable[[Store, Run], Awaitable[object]]


async def _last_page(store: Store, run: Run) -> object:
    page = await store.items.list(run, 100, order="desc")
    return await store.items.list(run, 100, page.data[-1].id, "desc")


LOOKS: dict[str, Look] = {
    "two pages of 100 items": _last_page,
    "50 rows by score": lambda store, run: store.rows.page(run, View(sort=0), None, 50),
    "50 failed rows": lambda store, run: store.rows.page(run, View(status="fail"), None, 50),
    "a histogram": lambda store, run: store.scores.histogram(run, 0),
}


async def _medians_ms(look: Look, *sides: tuple[Store, Run]) -> list[float]:
    """By turns, so that what else the machine does meets all sides alike."""
    taken: list[list[float]] = [[] for _ in sides]
    for _ in range(LOOKS_A_SIDE):
        for times, (store, run) in zip(taken, sides, strict=True):
            began = time.perf_counter()
            await look(store, run)
            times.append((time.perf_counter() - began) * 1000)
    return [statistics.median(times) for times in taken]
