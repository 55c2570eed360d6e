"""How many rows a second the engine carries when the grader itself costs next to nothing, and what processes add."""

import statistics
import time
from collections.abc import Callable
from typing import Any

import fairmark
from bench.corpus import Writer, pairs
from bench.report import Line, Report, Required

EXACT = {
    "type": "string_check",
    "name": "exact",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "operation": "eq",
}
TWO = {
    "type": "multi",
    "name": "two",
    "graders": {"exact": EXACT, "inside": {**EXACT, "name": "inside", "operation": "ilike"}},
    "calculate_output": "0.5 * exact + 0.5 * inside",
}
METEOR = {
    "type": "text_similarity",
    "name": "meteor",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "evaluation_metric": "meteor",
}


def main(quick: bool = False) -> Report:
    shrink = 20 if quick else 1
    rows = _short_rows(300_000 // shrink)
    exact = _rates(lambda: fairmark.grade_many(EXACT, rows, workers=1), len(rows))
    two = _rates(lambda: fairmark.grade_many(TWO, rows, workers=1), len(rows))
    latency = _latency_us(20_000 // shrink, rows[0])
    texts = [{"item": {"answer": reference}, "sample": text} for text, reference in pairs(20_000 // shrink)]
    # One run before: the data of the metric is loaded and its words are known.
    fairmark.grade_many(METEOR, texts[:200], workers=1)
    one = _rates(lambda: fairmark.grade_many(METEOR, texts, workers=1), len(texts), times=3)
    all_cores = _rates(lambda: fairmark.grade_many(METEOR, texts), len(texts), times=3)
    unit = "rows/s"
    lines = [
        Line("string_check, best of 5", max(exact), unit, required=Required("at least", 150_000)),
        Line("string_check, median of 5", statistics.median(exact), unit),
        Line("multi of two string_checks, best of 5", max(two), unit),
        Line("multi of two string_checks, median of 5", statistics.median(two), unit),
        Line("one call of grade, string_check, p50", statistics.median(latency), "µs"),
        Line("meteor, 20 to 300 words, all cores, best of 3", max(all_cores), unit, max(one), "one process"),
    ]
    raw = {
        "string_check_rows_per_s": exact,
        "multi_rows_per_s": two,
        "grade_us": {f"p{p}": _percentile(latency, p) for p in (1, 50, 95, 99)},
        "meteor_one_process_rows_per_s": one,
        "meteor_all_cores_rows_per_s": all_cores,
    }
    about = f"grade_many in one process, {len(rows):,} rows of one to eight words; meteor on {len(texts):,} rows."
    return Report("engine", about, lines, raw)


def _short_rows(count: int) -> list[dict[str, Any]]:
    """Short answers, two in three of them right."""
    writer = Writer(seed=11)
    answers = [writer.text(writer.random.randint(1, 8)) for _ in range(5000)]
    rows: list[dict[str, Any]] = []
    for number in range(count):
        answer = f"{writer.random.choice(answers)} {number}"
        rows.append({"item": {"answer": answer}, "sample": answer if number % 3 else writer.random.choice(answers)})
    return rows


def _rates(work: Callable[[], list[fairmark.Result]], rows: int, times: int = 5) -> list[float]:
    """Rows a second of each run. The results are let go of outside the time that counts."""
    rates = []
    for _ in range(times):
        started = time.perf_counter()
        results = work()
        rates.append(rows / (time.perf_counter() - started))
        assert len(results) == rows
        assert all(result.status == "graded" for result in results)
        del results
    return rates


def _latency_us(calls: int, row: dict[str, Any]) -> list[float]:
    latency = []
    for _ in range(calls):
        started = time.perf_counter()
        fairmark.grade(EXACT, sample=row["sample"], item=row["item"])
        latency.append(1e6 * (time.perf_counter() - started))
    return latency


def _percentile(values: list[float], percent: int) -> float:
    return statistics.quantiles(values, n=100)[percent - 1]
