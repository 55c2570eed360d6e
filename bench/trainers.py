"""What a reward function of a grader costs a trainer, against a plain function in the trainer's own process.

1,024 completions of some 270 characters a call, rows that come one by one, code in a process of its own for each grade,
rows that loop for ever, and the reward server asked for one row at a time.
"""

import asyncio
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import aiohttp

from bench.report import Line, Report, Required
from bench.startup import FAIRMARK
from fairmark.trainers import trl, verl

ROWS = 1024
RUNS = 4
TURNS = 30
"""Of what is held against each other: on a busy machine, each has a quiet moment in some."""
THREADS = 32
DEADLINE_S = 8.0
LOOPING_ROWS = 256
STRICT_ROWS = 512
REQUESTS_AT_ONCE = 64

SOURCE = """\
import re

def grade(sample, item):
    text = sample["output_text"]
    said = re.findall(r"[a-z]+", text.lower())
    wanted = set(re.findall(r"[a-z]+", item["answer"].lower()))
    hit = sum(word in wanted for word in said)
    form = 0.2 if re.search(r"<answer>.*</answer>", text, re.DOTALL) else 0.0
    return form + 0.8 * hit / max(len(said), 1)
"""
PYTHON = {"type": "python", "name": "overlap", "source": SOURCE}
STRING = {
    "type": "string_check", "name": "exact", "operation": "ilike",
    "input": "{{ sample.output_text }}", "reference": "{{ item.answer }}",
}  # fmt: skip
MULTI = {
    "type": "multi", "name": "both", "graders": {"overlap": PYTHON, "exact": STRING},
    "calculate_output": "overlap + exact",
}  # fmt: skip
STRICT = {
    "type": "python", "name": "strict",
    "source": "def grade(sample, item):\n    scope = {}\n    exec('value = 1 + 1', scope)\n    return scope['value']\n",
}  # fmt: skip
LOOPING = {
    "type": "python", "name": "looping",
    "source": "def grade(sample, item):\n    while item['loops']:\n        pass\n    return 1.0\n",
}  # fmt: skip


def main(quick: bool = False) -> Report:
    count = ROWS // (20 if quick else 1)
    batch = completions(count)
    together, awaited, threads, executor = (
        f"multi, {count:,} {how}"
        for how in ("in one call", "rows one by one, awaited", f"rows, {THREADS} threads", "rows, an executor")
    )
    required = {f"string_check, {count:,} in one call": 0.5, f"python, {count:,} in one call": 6.0, together: None}
    functions = [trl.reward(grader) for grader in (STRING, PYTHON, MULTI)]
    with ThreadPoolExecutor(THREADS) as pool:
        work: dict[str, Callable[[], object]] = {"plain function": lambda: plain_rewards(batch)}
        work |= {name: partial(function, **batch) for name, function in zip(required, functions, strict=True)}  # type: ignore[arg-type]
        work |= {awaited: one_by_one(batch), threads: by_threads(batch), executor: by_executor(batch, pool)}
        raw: dict[str, Any] = {**in_turns(work)}
    lines = [
        Line(
            name, 1000 * raw[name], "ms", 1000 * raw["plain function"], "plain function",
            None if most is None else Required("at most", most, "ratio"),
        )
        for name, most in required.items()
    ]  # fmt: skip
    lines += [
        Line(name, 1000 * raw[name], "ms", 1000 * raw[together], "in one call", Required("at most", 3.0, "ratio"))
        for name in (awaited, threads, executor)
    ]
    lines += strict(quick, raw) + looping(quick, raw) + server(count, raw)
    about = (
        f"Reward functions of `fairmark.trainers`; by turns in one process, best of {TURNS}, the first not counted. "
        "The plain function is the python grader's own source, called for each row."
    )
    return Report("trainers", about, lines, raw)


def completions(count: int) -> dict[str, list[str]]:
    words = random.Random(7)
    known = ["the", "answer", "is", "a", "number", "of", "steps", "we", "take", "then", "paris", "therefore", "sum"]
    texts = [" ".join(words.choice(known) for _ in range(48)) + " <answer>paris</answer>" for _ in range(count)]
    return {"prompts": ["What is it?"] * count, "completions": texts, "answer": ["paris is the answer"] * count}


def plain_rewards(batch: dict[str, list[str]]) -> list[float]:
    scope: dict[str, Any] = {}
    exec(SOURCE, scope)  # noqa: S102  # our own source
    return [
        scope["grade"]({"output_text": text}, {"answer": answer})
        for text, answer in zip(batch["completions"], batch["answer"], strict=True)
    ]


def in_turns(work: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The best seconds of each, all of them by turns: whatever else the machine does, it does to all."""
    for function in work.values():
        function()
    turns = [{name: seconds(function) for name, function in work.items()} for _ in range(TURNS)]
    return {name: min(turn[name] for turn in turns) for name in work}


def best(work: Callable[[], object]) -> float:
    work()
    return min(seconds(work) for _ in range(RUNS))


def seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def one_by_one(batch: dict[str, list[str]]) -> Callable[[], object]:
    function = verl.reward(MULTI)

    async def ask() -> None:
        await asyncio.gather(*(function(**fields) for fields in fields_of(batch)))

    return lambda: asyncio.run(ask())


def by_threads(batch: dict[str, list[str]]) -> Callable[[], object]:
    """Each thread asks for a row, and then for the next that nobody has asked for."""
    function = verl.reward(MULTI, awaited=False)
    rows = fields_of(batch)

    def ask() -> None:
        left = iter(rows)

        def ask_on() -> None:
            for fields in left:
                function(**fields)

        threads = [threading.Thread(target=ask_on) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return ask


def by_executor(batch: dict[str, list[str]], pool: ThreadPoolExecutor) -> Callable[[], object]:
    """The same with a queue and a future for each row, on which one thread waits: a tenth of the time is theirs."""
    function = verl.reward(MULTI, awaited=False)
    rows = fields_of(batch)
    return lambda: list(pool.map(lambda fields: function(**fields), rows))


def fields_of(batch: dict[str, list[str]]) -> list[dict[str, Any]]:
    return [
        {"data_source": "bench", "solution_str": text, "ground_truth": answer, "extra_info": {"answer": answer}}
        for text, answer in zip(batch["completions"], batch["answer"], strict=True)
    ]


def strict(quick: bool, raw: dict[str, Any]) -> list[Line]:
    """Graders that run what they are given: a process a grade."""
    batch = completions(STRICT_ROWS // (20 if quick else 1))
    function, count = trl.reward(STRICT), len(batch["prompts"])
    function(**batch)  # type: ignore[arg-type]
    before = cpu_s()
    raw["strict"] = min(seconds(lambda: function(**batch)) for _ in range(3))  # type: ignore[arg-type]
    raw["strict, CPU"] = (cpu_s() - before) / 3
    work = "python with exec, a process a grade"
    return [
        Line(work, count / raw["strict"], "rows/s", required=Required("at least", 400)),
        # What others do on the machine does not change this one: two free cores would grade 2,000 rows / this a second.
        Line(f"{work}: CPU a row", 1000 * raw["strict, CPU"] / count, "ms", required=Required("at most", 5)),
    ]


def cpu_s() -> float:
    """What this process and all below it have used, those that have ended too."""
    spent, parents = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(") ")[2].split()
            parents[int(folder.name)] = int(fields[1])
            spent[int(folder.name)] = sum(map(int, fields[11:15]))
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(spent[pid] for pid in ours) / os.sysconf("SC_CLK_TCK")


def looping(quick: bool, raw: dict[str, Any]) -> list[Line]:
    """One row in ten never ends."""
    count, deadline_s = (20, 2.0) if quick else (LOOPING_ROWS, DEADLINE_S)
    batch: dict[str, Any] = completions(count)
    loops = [index % 10 == 0 for index in range(count)]
    function = trl.reward(LOOPING, deadline_s=deadline_s)
    rewards: list[float | None] = []
    raw["looping"] = seconds(lambda: rewards.extend(function(**batch, loops=loops)))
    work = f"{count} rows, one in ten loops for ever, {deadline_s:g} s for all"
    graded = rewards.count(1.0)
    return [
        Line(work, raw["looping"], "s", required=Required("at most", deadline_s + 2)),
        Line(f"{work}: graded", graded, "rows", required=Required("at least", loops.count(False))),
    ]


def server(count: int, raw: dict[str, Any]) -> list[Line]:
    """Requests of one row each, a new connection for each, as OpenRLHF sends them; the peer is one request of all."""
    bodies: list[dict[str, Any]] = [
        {"query": [text], "prompts": [""], "labels": [{"answer": answer}]}
        for text, answer in zip(completions(count)["completions"], completions(count)["answer"], strict=True)
    ]
    whole = {name: [body[name][0] for body in bodies] for name in bodies[0]}
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "grader.json").write_text(json.dumps(MULTI))
        process = subprocess.Popen(
            [FAIRMARK, "reward-server", "--grader", "grader.json", "--port", "0"],
            cwd=name, env={"PATH": os.environ["PATH"], "FAIRMARK_HOME": name}, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[-1] + "/get_reward"
            raw["one request"] = best(lambda: asyncio.run(post(url, [whole])))
            raw["single requests"] = best(lambda: asyncio.run(post(url, bodies)))
        finally:
            process.terminate()
            process.wait(30)
    return [
        Line(
            f"reward server, {count:,} requests of one row",
            raw["single requests"],
            "s",
            raw["one request"],
            "one request",
        )
    ]


async def post(url: str, bodies: list[dict[str, Any]]) -> None:
    gate = asyncio.Semaphore(REQUESTS_AT_ONCE)
    connector = aiohttp.TCPConnector(force_close=True, limit=REQUESTS_AT_ONCE)

    async with aiohttp.ClientSession(connector=connector, raise_for_status=True) as session:

        async def one(body: dict[str, Any]) -> None:
            async with gate, session.post(url, json=body) as answer:
                assert (await answer.json())["extra_logs"]["fairmark/error"][0] == 0.0

        await asyncio.gather(*(one(body) for body in bodies))


if __name__ == "__main__":
    sys.exit(print(json.dumps(main("--quick" in sys.argv).raw, indent=1)))
