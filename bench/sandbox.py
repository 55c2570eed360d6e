"""What isolation costs: a grade by untrusted code in the warm sandbox, in a fresh process, and beside a fresh bwrap."""

import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fairmark
from bench.report import Line, Report, Required
from fairmark.sandbox.images import Images
from fairmark.settings import settings

IMAGE = "2025-05-08"
PLAIN = "def grade(sample, item):\n    return float(sample['output_text'] == item['answer'])\n"
NUMPY = "import numpy\n\ndef grade(sample, item):\n    return float(numpy.mean([1.0, 0.0]))\n"
# The look at the source sees the exec and asks for a process of its own.
STRICT = "def grade(sample, item):\n    exec('reward = 1.0')\n    return 1.0\n"
ROW: dict[str, Any] = {"item": {"answer": "Paris"}, "sample": "Paris"}


def main(quick: bool = False) -> Report:
    shrink = 20 if quick else 1
    grader = {"type": "python", "source": PLAIN}
    first_ms = 1e3 * _seconds(lambda: fairmark.grade(grader, **ROW))
    warm = _many_ms(lambda: fairmark.grade(grader, **ROW), 2000 // shrink)
    strict = _many_ms(lambda: fairmark.grade({"type": "python", "source": STRICT}), 200 // shrink)
    rows = [ROW] * (10_000 // shrink)
    rates = [len(rows) / _seconds(lambda: _all_right(fairmark.grade_many(grader, rows))) for _ in range(5)]
    fresh = _many_ms(_bubblewrap_and_python, 40 // shrink or 2)
    fresh_rate = 1e3 / statistics.median(fresh)
    lines = [
        Line(
            "python grader, warm, through grade, p50", statistics.median(warm), "ms", required=Required("at most", 1.0)
        ),
        Line("the very first grade: zygote, probe and runner", first_ms, "ms"),
        Line("strict (a process a grade), p50", statistics.median(strict), "ms", required=Required("at most", 8.0)),
        Line("grade_many, best of 5", max(rates), "rows/s", required=Required("at least", 15_000)),
        Line(
            "grade_many, median of 5",
            statistics.median(rates),
            "rows/s",
            fresh_rate,
            "a fresh bwrap python each",
            Required("at least", 300, "ratio"),
        ),
    ]
    raw: dict[str, Any] = {
        "first_ms": first_ms,
        "warm_ms": _spread(warm),
        "strict_ms": _spread(strict),
        "rows_per_s": rates,
        "fresh_bwrap_python_ms": _spread(fresh),
    }
    lines += _with_numpy(raw, 500 // shrink)
    lines += _two_hundred_graders(raw, 200 // shrink or 5)
    return Report("sandbox", f"Untrusted Python, {len(rows):,} rows of a trivial grader.", lines, raw)


def _with_numpy(raw: dict[str, Any], count: int) -> list[Line]:
    if Images(settings().data_folder).find(IMAGE) is None:
        note = f"numpy was not measured: image {IMAGE} is not installed (fairmark sandbox install)."
        return [Line("grader that imports numpy, warm, p50", float("nan"), "ms", note=note)]
    grader = {"type": "python", "source": NUMPY}
    zygote_s = _seconds(lambda: fairmark.grade(grader))
    # Another source on the zygote that is up now: what the first grade of a new grader costs.
    first_s = _seconds(lambda: fairmark.grade({"type": "python", "source": NUMPY + "\n# another\n"}))
    warm = _many_ms(lambda: fairmark.grade(grader), count)
    raw |= {"numpy_zygote_s": zygote_s, "numpy_first_s": first_s, "numpy_warm_ms": _spread(warm)}
    return [
        Line("grader that imports numpy, warm, p50", statistics.median(warm), "ms"),
        Line("its first grade, zygote up", first_s, "s", required=Required("at most", 1.0)),
        Line("its first grade, zygote to be started", zygote_s, "s"),
    ]


def _two_hundred_graders(raw: dict[str, Any], count: int) -> list[Line]:
    """Different graders one after the other: what is left of them."""

    def grade(number: int) -> None:
        _all_right([fairmark.grade({"type": "python", "source": f"{PLAIN}\n# {number}\n"}, **ROW)])

    for number in range(50):  # fill the pool of idle runners
        grade(-number - 1)
    before = _holdings()
    for number in range(count):
        grade(number)
    after = _holdings()
    raw |= {"before_many_graders": before, "after_many_graders": after}
    return [
        Line(
            f"{name} after {count} different graders",
            after[name],
            unit,
            before[name],
            "before",
            Required("at most", 1.1, "ratio"),
        )
        for name, unit in (("processes", ""), ("descriptors", ""), ("memory", "MB"))
    ]


def _holdings() -> dict[str, float]:
    """Processes below this one, open descriptors, and resident memory in MB of this process."""
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    return {
        "processes": float(_descendants(os.getpid())),
        "descriptors": float(sum(1 for _ in Path("/proc/self/fd").iterdir())),
        "memory": resident / 1e6,
    }


def _descendants(pid: int) -> int:
    children = [
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]
    return len(children) + sum(map(_descendants, children))


def _bubblewrap_and_python() -> None:
    """What many do: bubblewrap and an interpreter for each grade, with the least of isolation."""
    bubblewrap = shutil.which("bwrap")
    assert bubblewrap
    command = [
        bubblewrap,
        "--ro-bind",
        "/",
        "/",
        "--unshare-all",
        "--die-with-parent",
        sys.executable,
        "-I",
        "-S",
        "-c",
    ]
    subprocess.run(
        [*command, PLAIN + "print(grade({'output_text': 'a'}, {'answer': 'a'}))"], check=True, capture_output=True
    )


def _all_right(results: list[fairmark.Result]) -> None:
    assert all(result.reward == 1.0 for result in results)


def _seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _many_ms(work: Callable[[], Any], count: int) -> list[float]:
    work()
    return [1e3 * _seconds(work) for _ in range(count)]


def _spread(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {f"p{percent}": ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] for percent in (1, 50, 95, 99)}
