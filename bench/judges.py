"""What judge calls cost beyond waiting for the judge: ours and the peers', against a server that takes 50 ms."""

import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any, Literal, TypedDict

from bench import peers, process
from bench.judge_server import JudgeServer, stats
from bench.report import Line, Report, Required

LATENCY_S = 0.05
LIMIT_S = 300
RUNS = 5
JUDGES = [
    peers.Peer("autoevals", "LLMClassifier by eval_async with one AsyncOpenAI, 64 at once by a semaphore"),
    peers.Peer("deepeval", "evaluate() with G-Eval, steps given, max_concurrent=64, output and cache off"),
    peers.Peer("inspect-ai", "a task with model_graded_qa, max_samples and max_connections 64, display off"),
]


class Cost(TypedDict):
    """What a process tells of itself, and what the server saw of it."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    graded: int
    most_at_once: int
    requests: int


def main(quick: bool = False) -> Report:
    shrink = 20 if quick else 1
    few, many = 500 // shrink, 5000 // shrink
    runs = 1 if quick else RUNS
    raw: dict[str, Any] = {}
    lines = _few(few, runs, raw) + _many(many, 512 // shrink, runs, raw) + _cached(many, runs, raw)
    about = (
        f"score_model through grade_many, a fresh process each, one call before the time that counts, median of {runs}"
        f" runs. The judge answers after {1000 * LATENCY_S:.0f} ms; ideal is that time alone. CPU is that of who asks."
    )
    return Report("judges", about, lines, raw)


def _few(count: int, runs: int, raw: dict[str, Any]) -> list[Line]:
    at_once = 64
    work = f"{count:,} calls, {at_once} at once"
    costs = [ours(count, at_once) for _ in range(runs)]
    raw[work] = costs
    wall, cpu = _median(costs, "wall_s"), 1000 * _median(costs, "cpu_s") / count
    lines = [
        Line(f"{work}: wall", wall, "s", _ideal(count, at_once), "ideal", Required("at most", 2, "ratio")),
        Line(f"{work}: CPU a call", cpu, "ms", required=Required("at most", 1.5)),
    ]
    for peer in JUDGES:
        note = f"{peer.name}: {peer.remark}."
        try:
            cost = _peer(peer, count, at_once)
        except (process.ProcessFailed, peers.PeerUnavailable) as error:
            raw[peer.name] = {"failed": str(error)}
            lines.append(Line(f"{work}: wall", wall, "s", None, f"{peer.name}: {error}", note=note))
            continue
        raw[peer.name] = cost
        ideal = cost["wall_s"] / _ideal(count, at_once)
        note = f"{note} It took {ideal:.1f} × ideal, {cost['most_at_once']} calls at once at most."
        lines += [
            Line(f"{work}: wall", wall, "s", cost["wall_s"], peer.name, note=note),
            Line(f"{work}: CPU a call", cpu, "ms", 1000 * cost["cpu_s"] / count, peer.name),
        ]
    return lines


def _many(count: int, at_once: int, runs: int, raw: dict[str, Any]) -> list[Line]:
    work = f"{count:,} calls, {at_once} at once"
    costs = [ours(count, at_once) for _ in range(runs)]
    # A stream lets go of its results, so that what is left is what the calls themselves keep.
    fifth = [ours(count // 5, at_once, "stream") for _ in range(runs)]
    whole = [ours(count, at_once, "stream") for _ in range(runs)]
    raw[work] = {"grade_many": costs, "grade_stream": whole, "grade_stream, a fifth": fifth}
    peak, before = _median(whole, "peak_mb"), _median(fifth, "peak_mb")
    limit = Required("at most", 1.1, "ratio")
    return [
        Line(
            f"{work}: wall",
            _median(costs, "wall_s"),
            "s",
            _ideal(count, at_once),
            "ideal",
            Required("at most", 2.5, "ratio"),
        ),
        Line(f"{work}: CPU a call", 1000 * _median(costs, "cpu_s") / count, "ms"),
        Line(f"{work}: peak memory, grade_stream", peak, "MB", before, f"{count // 5:,} calls", limit),
        Line(f"{work}: peak memory, grade_many with all results", _median(costs, "peak_mb"), "MB"),
    ]


def _cached(count: int, runs: int, raw: dict[str, Any]) -> list[Line]:
    # One server for all: its address is part of what an answer is known by.
    with tempfile.TemporaryDirectory() as home, JudgeServer(1000 * LATENCY_S) as url:
        first = _ours(url, count, 512, cache=home)
        again = [_ours(url, count, 512, cache=home) for _ in range(runs)]
        asked = stats(url)["requests"] - first["requests"]
    if asked:
        raise process.ProcessFailed(f"the cached reruns asked the judge {asked} times")
    raw["cached rerun"] = {"first": first, "again": again}
    rate = count / _median(again, "wall_s")
    return [Line(f"cached rerun of {count:,}", rate, "rows/s", required=Required("at least", 20_000))]


def ours(count: int, at_once: int, way: Literal["many", "stream"] = "many") -> Cost:
    """Our own process on so many rows, without a cache. Raises ProcessFailed."""
    with JudgeServer(1000 * LATENCY_S) as url:
        return _ours(url, count, at_once, way)


def _ours(url: str, count: int, at_once: int, way: str = "many", cache: str | None = None) -> Cost:
    """`cache`: a home whose cache it uses."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            "PYTHONPATH": str(process.ROOT),
            "OPENAI_BASE_URL": f"{url}/v1",
            "OPENAI_API_KEY": "x",
            "FAIRMARK_JUDGE_CONCURRENCY": str(at_once),
            "FAIRMARK_JUDGE_CACHE": "on" if cache else "off",
            "FAIRMARK_HOME": cache or folder,
        }
        command = [sys.executable, "-m", "bench.judge_rows", str(count), way]
        return _cost(process.run(command, LIMIT_S, environment, Path(folder)), url, count)


def _peer(peer: peers.Peer, count: int, at_once: int) -> Cost:
    with JudgeServer(1000 * LATENCY_S) as url:
        run = peers.run_judge(peer, url, count, at_once, LIMIT_S)
        return _cost(run, url, count)


def _cost(run: process.Run, url: str, count: int) -> Cost:
    told = json.loads(run.stdout.splitlines()[-1])
    if told["graded"] != count:
        raise process.ProcessFailed(f"graded {told['graded']} of {count}")
    seen = stats(url)
    return {
        "wall_s": told["wall_s"],
        "cpu_s": told["cpu_s"],
        "peak_mb": told.get("peak_mb", run.peak_mb),
        "graded": told["graded"],
        "most_at_once": seen["most_at_once"],
        "requests": seen["requests"],
    }


def _ideal(count: int, at_once: int) -> float:
    """Waiting for the judge and nothing else."""
    return max(1.0, count / at_once) * LATENCY_S


def _median(costs: list[Cost], key: Literal["wall_s", "cpu_s", "peak_mb"]) -> float:
    return statistics.median(cost[key] for cost in costs)
