"""A whole evaluation as users run it, exact match and ROUGE-L, beside a bare loop and the peers doing the same work."""

import json
import math
import statistics
import tempfile
from pathlib import Path
from typing import Any

from bench import peers, process
from bench.corpus import pairs
from bench.report import Line, Report, Required
from bench.startup import FAIRMARK

GRADERS = {
    "exact": {"type": "string_check", "operation": "eq"},
    "rouge_l": {"type": "text_similarity", "evaluation_metric": "rouge_l"},
}
TEXTS = {"input": "{{ sample.output_text }}", "reference": "{{ item.answer }}"}
# What the texts are like -> words of the shortest and the longest.
SIZES = {"5 to 35 words": (5, 35), "20 to 300 words": (20, 300)}
PEER_LIMIT_S = 600
RUNS = 3


def main(quick: bool = False) -> Report:
    count = 500 if quick else 10_000
    lines: list[Line] = []
    raw: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        graders = write_graders(folder)
        for size, (shortest, longest) in SIZES.items():
            data = folder / "data.jsonl"
            _write_rows(data, count, shortest, longest)
            numbers: dict[str, Any] = {}
            lines += _compare(size, data, count, graders, numbers)
            raw[size] = numbers
    about = f"Whole processes on {count:,} rows, CPU seconds with all children: exact match and ROUGE-L."
    return Report("evaluation", about, lines, raw)


def write_graders(folder: Path) -> list[str]:
    """The options that name the grader files, written into the folder."""
    options = []
    for name, grader in GRADERS.items():
        path = folder / f"{name}.json"
        path.write_text(json.dumps({**grader, "name": name, **TEXTS}))
        options += ["--grader", str(path)]
    return options


def _compare(size: str, data: Path, count: int, graders: list[str], raw: dict[str, Any]) -> list[Line]:
    own: list[process.Run] = []
    loop: list[process.Run] = []
    out = data.with_name("out.jsonl")
    for _ in range(RUNS):
        own.append(process.run([FAIRMARK, "eval", data, *graders, "-o", out, "--overwrite"]))
        # Once will do where it takes a minute: the shorter the run, the more a single one says by chance.
        if not loop or loop[0].wall_s < 20:
            loop.append(peers.run(peers.LOOP, data, PEER_LIMIT_S))
    scores = _scores(out)
    _check(scores, json.loads(loop[0].stdout), same_scores=True)
    raw["scores"] = scores
    raw["fairmark"] = [run.numbers() for run in own]
    raw["bare loop"] = [run.numbers() for run in loop]
    cpu = statistics.median(run.cpu_s for run in own)
    loop_cpu = statistics.median(run.cpu_s for run in loop)
    peak = max(run.peak_mb for run in own)
    together = max(run.together_mb for run in own)
    lines = [
        Line(f"{size}: CPU", cpu, "s", loop_cpu, "bare loop", Required("at most", 0.6, "ratio")),
        Line(f"{size}: memory, largest process", peak, "MB", required=Required("at most", 120)),
        Line(f"{size}: memory, all processes", together, "MB"),
    ]
    return lines + [_against(peer, size, data, count, cpu, scores, raw) for peer in peers.PEERS]


def _against(
    peer: peers.Peer, size: str, data: Path, count: int, cpu: float, scores: dict[str, float], raw: dict[str, Any]
) -> Line:
    """The line of one peer. What cannot be measured is told with its reason."""
    work = f"{size}: CPU"
    note = f"{peer.name}: {peer.remark}." if peer.remark else ""
    tenth = data.with_name("tenth.jsonl")
    with data.open() as whole:
        tenth.write_text("".join(line for line, _ in zip(whole, range(count // 10), strict=False)))
    try:
        # A tenth first: it tells whether the whole would take too long.
        run = peers.run(peer, tenth, PEER_LIMIT_S)
        scaled = run.wall_s * 10 > PEER_LIMIT_S
        if not scaled:
            run = peers.run(peer, data, PEER_LIMIT_S)
            _check(scores, json.loads(run.stdout.splitlines()[-1]), peer.same_scores)
    except (process.ProcessFailed, peers.PeerUnavailable) as error:
        raw[peer.name] = {"failed": str(error)}
        return Line(work, cpu, "s", None, f"{peer.name}: {error}", note=note)
    factor = 10 if scaled else 1
    raw[peer.name] = run.numbers() | {"scaled_by": factor, "printed": json.loads(run.stdout.splitlines()[-1])}
    if scaled:
        note += f" {peer.name} ran on a tenth of the rows, and its seconds are times ten."
    return Line(work, cpu, "s", run.cpu_s * factor, peer.name, note=note)


def _check(ours: dict[str, float], theirs: dict[str, float], same_scores: bool) -> None:
    """Both did the same work, or there is nothing to compare."""
    for name in ("rows", "exact", "rouge_l") if same_scores else ("rows",):
        if not math.isclose(ours[name], theirs[name], rel_tol=0, abs_tol=1e-9):
            raise process.ProcessFailed(f"its {name} is {theirs[name]}, ours {ours[name]}")


def _scores(out: Path) -> dict[str, float]:
    rewards: dict[str, list[float]] = {name: [] for name in GRADERS}
    with out.open() as file:
        for line in file:
            for name, result in json.loads(line)["results"].items():
                rewards[name].append(result["reward"])
    return {"rows": len(rewards["exact"])} | {name: math.fsum(some) / len(some) for name, some in rewards.items()}


def _write_rows(path: Path, count: int, shortest: int, longest: int) -> None:
    """Answers and altered copies of them; one in ten is right to the letter."""
    with path.open("w") as file:
        for number, (text, reference) in enumerate(pairs(count, shortest=shortest, longest=longest)):
            answer = text if number % 10 == 0 else reference
            file.write(json.dumps({"item": {"answer": answer}, "sample": text}) + "\n")
