"""The counters of a process, as Prometheus reads them: every line counts, and no name breaks out of its label."""

import re

import fairmark
from fairmark.judgement import Judgement, Usage
from fairmark.parse import parse
from fairmark.result import Grade, Result
from fairmark.serving.grading import note_graded
from fairmark.serving.metrics import BOUNDS_S, Metrics, by_status
from fairmark.work.counts import VALUES_AT_MOST

CHECK = parse({"type": "string_check", "input": "{{item.a}}", "reference": "b", "operation": "eq"})


def values(metrics: Metrics) -> dict[str, str]:
    """Name and labels -> value."""
    lines = metrics.render([by_status("runs", {"queued": 2, "failed": 0})]).splitlines()
    assert all(re.fullmatch(r"(# (HELP|TYPE) .+|[a-z_]+(\{.*\})? [-+0-9.e]+)", line) for line in lines)
    return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))


def test_a_request_is_counted_by_route_and_status_and_lies_in_every_bucket_above_it() -> None:
    metrics = Metrics()
    for status, seconds in ((200, 0.0005), (200, 0.005), (200, 0.02), (200, 100.0), (404, 0.02)):
        metrics.requests.add("/v1/evals", str(status))
        metrics.seconds.add(seconds, "/v1/evals")
    found = values(metrics)
    assert found['fairmark_requests_total{route="/v1/evals",status="200"}'] == "4"
    assert found['fairmark_requests_total{route="/v1/evals",status="404"}'] == "1"
    buckets = [
        int(found[f'fairmark_request_seconds_bucket{{route="/v1/evals",le="{bound}"}}'])
        for bound in (*map(str, BOUNDS_S), "+Inf")
    ]
    assert buckets == [1, 2, 2, 4, 4, 4, 4, 4, 4, 4, 5]
    assert found['fairmark_request_seconds_count{route="/v1/evals"}'] == "5"
    assert found['fairmark_request_seconds_sum{route="/v1/evals"}'] == "100.045500"


def test_rows_are_counted_by_kind_and_status() -> None:
    metrics = Metrics()
    note_graded(metrics, fairmark.grade_many(CHECK, [{"item": {"a": "b"}}, {"item": {"a": "c"}}, {"item": {}}]))
    found = values(metrics)
    assert found['fairmark_rows_graded_total{kind="string_check",status="graded"}'] == "2"
    assert found['fairmark_rows_graded_total{kind="string_check",status="error"}'] == "1"


def test_what_a_judge_took_is_counted_and_an_answer_from_the_cache_is_not() -> None:
    metrics = Metrics()
    asked, remembered = (
        Judgement("m", [], usage=Usage(10, 5, 15), cost=0.25, attempts=attempts) for attempts in (1, 0)
    )
    note_graded(metrics, [Result(CHECK, Grade(1.0, judgements=(asked, remembered)), 0.0)])
    found = values(metrics)
    assert found['fairmark_judge_tokens_total{model="m",direction="prompt"}'] == "10"
    assert found['fairmark_judge_tokens_total{model="m",direction="completion"}'] == "5"
    assert found["fairmark_judge_dollars_total"] == "0.250000"


def test_users_cannot_make_labels_without_end_nor_break_out_of_one() -> None:
    metrics = Metrics()
    for number in range(VALUES_AT_MOST + 10):
        metrics.spent(f"model-{number}", 1, 1)
    metrics.spent("model-0", 1, 1)
    found = values(metrics)
    assert sum('direction="prompt"' in name for name in found) == VALUES_AT_MOST + 1
    assert found['fairmark_judge_tokens_total{model="other",direction="prompt"}'] == "10"
    assert found['fairmark_judge_tokens_total{model="model-0",direction="prompt"}'] == "2"
    hostile = Metrics()
    hostile.spent('a"} 1\nb\\ \ud83d', 1, 1)
    assert 'fairmark_judge_tokens_total{model="a\\"} 1\\nb\\\\ \\\\ud83d",direction="prompt"}' in values(hostile)


def test_gauges_and_the_process_itself_are_told() -> None:
    metrics = Metrics()
    metrics.in_flight = 3
    found = values(metrics)
    assert (found['fairmark_runs{status="queued"}'], found['fairmark_runs{status="failed"}']) == ("2", "0")
    assert found["fairmark_requests_in_flight"] == "3"
    assert float(found["process_resident_memory_bytes"]) > 1_000_000
    assert float(found["process_cpu_seconds_total"]) > 0
