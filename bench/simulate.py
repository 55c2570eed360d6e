"""How far it goes on paper: a model of a run, fed with what is measured here, held against what is measured here.

First the costs of a row, in seconds of CPU, each by itself: what a metric takes, what it takes to frame a row for
another process, to store it, to carry it through a server, to ask a judge. Then whole runs on one core and on all of
them, which the model has to foretell. Last what nobody here can measure: many nodes, a billion rows, judges with
limits.

Others may use the machine too, and wall times tell of them. What is measured of served runs is therefore seconds of
CPU, of each process, the least of several short rounds, and from them the time that so many cores need for it. Where
one core waits for another, as while workers start, only the clock tells: the least of several rounds by it.
"""

import asyncio
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec

import fairmark
from bench import cores, judges, plots, process
from bench.report import Line, Report, Required
from bench.server import EXACT, pids, serving
from bench.simulation import Cluster, Costs, JudgeLimits, Outcome, simulate, wall_by_nodes
from fairmark.apart import Apart, in_parcels, is_worth_sending, note_pace
from fairmark.parse import parse
from fairmark.row import make_row
from fairmark.store import Counts, CriterionScore, NewItem, Store
from fairmark.store.evals.facets import fields_of
from fairmark.work import eventloop, frames

WITHIN = 0.15
ROUNDS, ROWS = 5, 4_000
NODES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 1000)
BILLION, MILLION = 10**9, 10**6
NODE_CORES = 16
ROUND_TRIP_S, BYTES_A_SECOND = 0.0005, 1.25e9
"""Between machines of one data centre: assumed, half a millisecond and ten gigabits."""
CORE_DOLLARS_AN_HOUR = 0.04
JUDGE = JudgeLimits(1.5, at_once=512, requests_a_minute=10_000, tokens_a_minute=8_000_000, tokens=600)
"""Assumed: what a provider allows a paying customer for a small model; five of them are asked."""
JUDGE_DOLLARS = 500 * 0.15e-6 + 100 * 0.6e-6
"""A grade: 500 tokens of prompt and 100 of an answer."""
CALLS = 500
PAUSE_S = 0.5
"""Between rounds, for everybody else."""
IN_TURNS = """
import asyncio, json, sys, time
import fairmark
from bench import simulate

spec, rows, rounds = json.loads(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])

async def measure():
    least = float("inf")
    for data in simulate.fresh(rows, rounds):
        began = time.process_time()
        await fairmark.agrade_many(spec, data)
        least = min(least, (time.process_time() - began) / rows)
    print(least)

asyncio.run(measure())
"""
IMAGES = Path(__file__).parents[1] / "docs" / "images"
PASSES = {**EXACT, "name": "passes", "operation": "ne"}
"""Costs next to nothing, and passes rows as the metrics do: of those that fail a run also keeps why."""
CODE = {"type": "python", "name": "code", "source": "def grade(sample, item):\n    return 1.0\n"}
STRICT = {"type": "python", "name": "strict", "source": "def grade(sample, item):\n    exec('x = 1')\n    return 1.0\n"}


def main(quick: bool) -> Report:
    rows, rounds = (ROWS // 10, 1) if quick else (ROWS, ROUNDS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        costs = measured_costs(folder, rows, rounds)
        foretold = held_against_measured(folder, costs, rows, rounds)
    answers = on_paper(costs, (1, 1000) if quick else NODES)
    if not quick:
        draw(foretold, answers)
    lines = [line for work, unit, model, measured in foretold for line in _within(work, unit, model, measured)]
    lines += [Line(work, value, unit, note=note) for work, value, unit, note in told(answers, costs)]
    raw = {
        "costs_us": {name: {part: 1e6 * value for part, value in cost.items()} for name, cost in costs.items()},
        "foretold": foretold,
        "on_paper": {
            name: {count: {"rows_per_s": o.per_second, "wall": o.wall, "busy": o.busy} for count, o in by_nodes}
            for name, by_nodes in answers.items()
        },
    }
    about = (
        f"A discrete-event model of a run against runs of {rows:,} rows here, best of {rounds} rounds: served runs in"
        " seconds of CPU of each process, for others use the machine too, the rest by the clock. Below it what the"
        " model says of clusters that nobody measured."
    )
    return Report("simulate", about, lines, raw)


def _within(work: str, unit: str, model: float, measured: float) -> Iterator[Line]:
    """As a ratio of the greater to the less, so that one bound holds for both sides."""
    yield Line(f"model: {work}", model, unit, measured, "measured")
    off = max(model / measured, measured / model)
    yield Line(f"off by: {work}", off, "×", required=Required("at most", 1 + WITHIN))


# --- what a row costs -------------------------------------------------------------------------------------------------


def measured_costs(folder: Path, rows: int, rounds: int) -> dict[str, dict[str, float]]:
    """Seconds of CPU a row, by what is graded and by who works on it."""
    grade = {
        name: grading(spec, rows, rounds)
        for name, spec in (
            ("passes", PASSES),
            ("rouge_l", cores.similar("rouge_l")),
            ("meteor", cores.similar("meteor")),
        )
    }
    grade["code"] = sandboxed(CODE, rows, rounds)
    grade["strict"] = sandboxed(STRICT, max(20, rows // 40), rounds)
    send, take = framing(fresh(256, 0)[0], rounds)
    store = storing(folder / "store", rows, rounds)
    # What a server takes for a row whose grader costs next to nothing, but for its store: reading it, making its item.
    served_s = min(cpu for _, cpu in served(folder / "carry", PASSES, rows, rounds, 1))
    carry = max(1e-6, served_s - grade["passes"] - store)
    shared = {"carry": carry, "send": sending(fresh(256, 0)[0], rounds), "take": take, "store": store}
    calls = CALLS if rounds > 1 else CALLS // 10
    return {
        **{name: {"grade": seconds, **shared} for name, seconds in grade.items()},
        "judge": {"grade": 0.0, "ask": min(asking(calls, rounds, "cpu_s")) / calls, **shared},
        "library": {"grade": grading_alone(rows, rounds), "send": send, "take": take, "start": worker_start()},
    }


def fresh(rows: int, rounds: int) -> list[list[dict[str, Any]]]:
    """Rows for each round and one before: texts that were seen are known to metrics, and cost less."""
    data = cores.data(rows * (rounds + 1))
    return [data[start : start + rows] for start in range(0, len(data), rows)]


def grading(spec: dict[str, Any], rows: int, rounds: int) -> float:
    """The least CPU that a row took on an event loop, in turns, as servers and runs grade: by a process on one core."""
    with cores.on_cores(1):
        done = process.run([sys.executable, "-c", IN_TURNS, msgspec.json.encode(spec).decode(), str(rows), str(rounds)])
    return float(done.stdout)


def grading_alone(rows: int, rounds: int) -> float:
    """The same for a synchronous caller and its workers, who need let nobody else on."""
    spec = cores.similar("meteor")
    data = iter(fresh(rows, rounds))
    fairmark.grade_many(spec, next(data), workers=1)
    return min(cpu_s(partial(fairmark.grade_many, spec, some, workers=1)) for some in data) / rows


def cpu_s(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def sandboxed(grader: dict[str, Any], rows: int, rounds: int) -> float:
    """With the CPU of the processes in the sandbox."""
    given = [{"item": {}, "sample": f"answer {number}"} for number in range(rows)]
    fairmark.grade_many(grader, given[:20])
    found = []
    for _ in range(rounds):
        before = tree_cpu(os.getpid())
        fairmark.grade_many(grader, given)
        found.append(spent(before, tree_cpu(os.getpid()), 1) / rows)
    return max(1e-6, min(found))


def framing(rows: Sequence[dict[str, Any]], rounds: int) -> tuple[float, float]:
    """What a row costs its sender and its taker, there and back."""
    spec = parse(cores.similar("meteor"))
    order = frames.pack_order(spec, list(rows))
    results = fairmark.grade_many(spec, rows, workers=1)
    answer = frames.pack_results(results)
    many = range(20)

    def sender() -> None:
        for _ in many:
            frames.pack_order(None, list(rows))
            frames.read_results(spec, answer[8:])

    def taker() -> None:
        for _ in many:
            msgspec.msgpack.decode(order[8:])
            frames.pack_results(results)

    count = len(rows) * len(many)
    return tuple(min(cpu_s(side) for _ in range(rounds)) / count for side in (sender, taker))  # type: ignore[return-value]


def sending(rows: Sequence[dict[str, Any]], rounds: int) -> float:
    """What a row costs a server that sends it to another process: with its way from thread to thread and back."""
    spec = parse(cores.similar("meteor"))
    made = [make_row(row["item"], row["sample"]) for row in rows]
    note_pace(spec, made, 200e-6 * len(rows))
    many = range(20)

    async def sent() -> None:
        for _ in many:
            assert is_worth_sending(spec, made)
            for parcel, _ in in_parcels(spec, made):
                assert await Apart("").grade_parcel(spec, parcel) is not None

    eventloop.run(sent())  # the worker starts
    return min(cpu_s(lambda: eventloop.run(sent())) for _ in range(rounds)) / (len(rows) * len(many))


def storing(folder: Path, rows: int, rounds: int) -> float:
    """What the store takes for a row, in batches as the engine writes them."""
    batch = 250

    async def written(round_: int, data: Sequence[dict[str, Any]]) -> None:
        store = await Store.open(None, folder / str(round_))
        try:
            made = await store.evals.create("default", "", {}, {}, [{"id": "c"}])
            run = await store.runs.create("default", made.id, "", {}, b"{}", None, len(data), {})
            await store.runs.start(run)
            for start in range(0, len(data), batch):
                items = [_new_item(start + at, row) for at, row in enumerate(data[start : start + batch])]
                assert await store.items.add(run, items, Counts(passed=len(items)))
        finally:
            await store.close()

    # Once without rows: opening a store is not what a row costs.
    nothing = min(cpu_s(partial(_run, written, rounds + number, ())) for number in range(rounds))
    given = fresh(rows, rounds)
    took = min(cpu_s(partial(_run, written, number, given[number])) for number in range(rounds))
    return max(1e-6, took - nothing) / rows


def _run(work: Callable[[int, Sequence[dict[str, Any]]], Any], number: int, data: Sequence[dict[str, Any]]) -> None:
    asyncio.run(work(number, data))


def _new_item(idx: int, row: dict[str, Any]) -> NewItem:
    body = msgspec.json.encode({"datasource_item": row["item"], "sample": row["sample"], "results": [{"score": 1.0}]})
    return NewItem(idx, "pass", body, (CriterionScore("pass", 1.0),), idx, fields=fields_of(row["item"]))


def asking(calls: int, rounds: int, part: Literal["wall_s", "cpu_s"]) -> list[float]:
    """What questions to a judge of 50 ms took, 64 at once."""
    return [judges.ours(calls, 64)[part] for _ in range(rounds)]


def worker_start() -> float:
    """Until a worker is at full speed: its interpreter, its imports, and what METEOR reads first."""
    begun = "import fairmark.work.worker, fairmark.run, fairmark.metrics; fairmark.metrics.meteor('a', 'b')"
    return process.run([sys.executable, "-c", begun]).cpu_s


# --- whole runs -------------------------------------------------------------------------------------------------------

Foretold = tuple[str, str, float, float]
"""What, its unit, by the model, and as it was measured."""


def held_against_measured(folder: Path, costs: dict[str, dict[str, float]], rows: int, rounds: int) -> list[Foretold]:
    found: list[Foretold] = []
    for metric in ("meteor", "rouge_l"):
        cost = cost_of(costs[metric])
        one = min(cpu for _, cpu in served(folder / f"{metric}-1", cores.similar(metric), rows, rounds, 1))
        every = min(
            cpu for _, cpu in served(folder / f"{metric}-all", cores.similar(metric), rows, rounds, cores.CORES)
        )
        for count, seconds in ((1, one), (cores.CORES, every)):
            model = simulate(cost, Cluster(1, count), rows, grain=64).per_second
            found.append((f"a served run by {metric}, {count} core{'s' * (count > 1)}", "rows/s", model, 1 / seconds))
    found.append(library_on_all_cores(costs["library"], rows, rounds))
    calls = CALLS if rounds > 1 else CALLS // 10
    wall = min(asking(calls, rounds, "wall_s"))
    limits = JudgeLimits(judges.LATENCY_S, 0.0, 64)
    model = simulate(Costs(0.0, ask=costs["judge"]["ask"]), Cluster(1, 1), calls, [limits], grain=1).seconds
    found.append((f"{calls} questions to a judge of 50 ms, 64 at once", "s", model, wall))
    return found


def cost_of(parts: Mapping[str, float]) -> Costs:
    carry, send, take, store, ask = (parts.get(name, 0.0) for name in ("carry", "send", "take", "store", "ask"))
    return Costs(parts["grade"], carry, send, take, store, ask)


def library_on_all_cores(parts: dict[str, float], rows: int, rounds: int) -> Foretold:
    """grade_many with its own pool. It begins alone, and starts workers once that pays."""
    many = 2 * rows
    spec = cores.similar("meteor")
    took = []
    for data in fresh(many, rounds)[1:]:
        began = time.perf_counter()
        for number, _ in enumerate(fairmark.grade_stream(spec, data), 1):
            if number == many:  # not its very end, when workers are stopped
                took.append(time.perf_counter() - began)
        time.sleep(PAUSE_S)
    alone_s = min(0.25, many * parts["grade"])
    left = many - round(alone_s / parts["grade"])
    cluster = Cluster(1, cores.CORES, start_s=parts["start"])
    model = alone_s + (simulate(cost_of(parts), cluster, left, grain=64).seconds if left else 0.0)
    return f"grade_stream by meteor, {cores.CORES} cores", "rows/s", many / model, many / min(took)


def served(folder: Path, grader: dict[str, Any], rows: int, rounds: int, count: int) -> list[tuple[float, float]]:
    """Seconds of wall and of CPU that a row of a whole run took, by a server on so many cores."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    with contextlib.ExitStack() as stack:
        with cores.on_cores(count):
            url = stack.enter_context(serving(folder / "home"))
        api = cores.Api(url)
        for number, data in enumerate(fresh(rows, rounds)):
            file = folder / f"rows{number}.jsonl"
            file.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in data))
            file_id = api.upload(file)
            before, began = tree_cpu(pids[url]), time.perf_counter()
            ended(api, begin(api, grader, file_id))
            took = time.perf_counter() - began, spent(before, tree_cpu(pids[url]), count)
            if number:  # the first one starts workers, and learns the grader's pace
                found.append((took[0] / rows, took[1] / rows))
            time.sleep(PAUSE_S)
    return found


def begin(api: cores.Api, grader: dict[str, Any], file_id: str) -> str:
    made = api.post("/v1/evals", {"data_source_config": cores.CONFIG, "testing_criteria": [grader]})
    source = {"type": "jsonl", "source": {"type": "file_id", "id": file_id}}
    run = api.post(f"/v1/evals/{made['id']}/runs", {"data_source": source})
    return f"/v1/evals/{made['id']}/runs/{run['id']}"


def ended(api: cores.Api, run: str) -> None:
    while (shown := api.get(run))["status"] in ("queued", "in_progress"):
        time.sleep(0.2)  # seldom: answering is work too, and no row's
    if shown["status"] != "completed" or shown["result_counts"]["errored"]:
        raise process.ProcessFailed(f"the run ended {shown['status']}: {shown['result_counts']}")


def tree_cpu(pid: int) -> dict[int, float]:
    """Seconds of CPU of a process and of all below it, with those that have ended, by process."""
    parents: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                stat = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
                parents.setdefault(int(stat[1]), []).append(int(entry.name))
                ticks[int(entry.name)] = sum(map(int, stat[11:15]))
    todo, found = [pid], {}
    while todo:
        member = todo.pop()
        found[member] = ticks.get(member, 0) / os.sysconf("SC_CLK_TCK")
        todo += parents.get(member, [])
    return found


def spent(before: Mapping[int, float], after: Mapping[int, float], count: int) -> float:
    """The least time in which so many cores can have done it: all their seconds together, or those of the process that
    had most to do. On a machine that nobody else uses that is the wall time of work that computes."""
    each = [seconds - before.get(pid, 0.0) for pid, seconds in after.items()]
    return max(sum(each) / count, max(each))


# --- on paper ---------------------------------------------------------------------------------------------------------


def on_paper(costs: dict[str, dict[str, float]], nodes: Sequence[int]) -> dict[str, list[tuple[int, Outcome]]]:
    """A billion rows on more and more nodes, by what is graded."""
    cluster = Cluster(cores=NODE_CORES, round_trip_s=ROUND_TRIP_S, bytes_a_second=BYTES_A_SECOND)
    answers = {
        name: wall_by_nodes(cost_of(costs[key]), cluster, BILLION, nodes)
        for name, key in (("meteor", "meteor"), ("python, a process a grade", "strict"))
    }
    many = replace(cluster, owners=64, writers=64)
    answers["python, a process a grade, 64 runs"] = wall_by_nodes(cost_of(costs["strict"]), many, BILLION, nodes)
    judge = cost_of(costs["judge"])
    answers["5 judges with limits"] = wall_by_nodes(judge, cluster, BILLION, nodes, [JUDGE] * 5)
    return answers


def told(
    answers: dict[str, list[tuple[int, Outcome]]], costs: dict[str, dict[str, float]]
) -> Iterator[tuple[str, float, str, str]]:
    """What the answers are, in lines: how long, where the wall is, from where on nodes do not help, and the price."""
    for name, by_nodes in answers.items():
        last = by_nodes[-1][1]
        enough = next(count for count, outcome in by_nodes if outcome.per_second >= 0.95 * last.per_second)
        note = f"{name}: the wall is {last.wall}, from {enough} nodes on; more of them do not help."
        yield f"10⁹ rows on 1,000 nodes: {name}", last.seconds / 3600, "hours", note
        yield f"nodes of {NODE_CORES} cores that are enough: {name}", enough, "nodes", ""
    for name in ("meteor", "strict"):
        yield f"a million grades by {name}", dollars(costs[name]), "dollars", ""
    yield "a million grades by a judge", dollars(costs["judge"]) + MILLION * JUDGE_DOLLARS, "dollars", ""


def dollars(cost: dict[str, float]) -> float:
    """Of cores, for a million rows."""
    return MILLION * sum(cost.values()) / 3600 * CORE_DOLLARS_AN_HOUR


def draw(foretold: Sequence[Foretold], answers: dict[str, list[tuple[int, Outcome]]]) -> None:
    IMAGES.mkdir(exist_ok=True)
    pairs = [(work, model / measured) for work, _, model, measured in foretold]
    picture = plots.ratios(pairs, "The model against what was measured", WITHIN)
    (IMAGES / "scale-model.svg").write_text(picture)
    lines = {name: [(count, outcome.per_second) for count, outcome in by_nodes] for name, by_nodes in answers.items()}
    picture = plots.lines(lines, "Rows a second by nodes of 16 cores, 10⁹ rows", "nodes", "rows/s")
    (IMAGES / "scale-nodes.svg").write_text(picture)
    busy = {name: by_nodes[-1][1].busy for name, by_nodes in answers.items()}
    picture = plots.shares(busy, "How busy each part is, on 1,000 nodes")
    (IMAGES / "scale-wall.svg").write_text(picture)
