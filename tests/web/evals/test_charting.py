"""Runs as lines: what is drawn of which runs, and what is not known stays a gap."""

from typing import Any

from fairmark.store import Eval, Run
from fairmark.web.evals.charting import charted, seconds_a_row

EVAL = Eval(1, "eval_1", "default", "Cities", {}, {}, [{"id": "a-1", "name": "a"}, {"id": "b-1", "name": "b"}], 0, 0)


def run(name: str, **more: Any) -> Run:
    given = {"seq": 1, "id": f"evalrun_{name}", "eval_id": "eval_1", "eval_seq": 1, "project": "default", "name": name}
    empty: dict[str, Any] = {
        "metadata": {},
        "data_source": b"",
        "model": None,
        "status": "completed",
        "error": None,
        "options": {},
    }
    counts = {"total": 4, "passed": 0, "failed": 0, "errored": 0, "skipped": 0, "criteria_counts": {}, "usage": {}}
    return Run(**{**given, **empty, "created_at": 7, **counts, "cost": None, "criteria": None, **more})


def lines(chart: dict[str, Any]) -> dict[str, dict[str, list[float | None]]]:
    return {each["name"]: {line["name"]: line["values"] for line in each["lines"]} for each in chart["measures"]}


def test_every_measure_that_is_known_is_a_line_over_the_runs_that_have_rows() -> None:
    first = run("one", passed=1, failed=3, criteria_counts={"a-1": [1, 3, 0, 0]}, cost=0.5)
    second = run("two", passed=1, errored=3, started_at=10.0, ended_at=12.0)
    chart = charted(EVAL, [first, run("waits"), second], {"evalrun_one": {"a": 0.25}})
    assert [each["name"] for each in chart["runs"]] == ["one", "two"]
    assert lines(chart) == {
        "Pass rate": {"All criteria": [0.25, 1.0], "a": [0.25, None], "b": [None, None]},
        "Mean reward": {"a": [0.25, None], "b": [None, None]},
        "Cost": {"Cost": [0.5, None]},
        "Time a row": {"Time a row": [None, 0.5]},
        "Errors": {"Rows not graded": [0.0, 0.75]},
    }


def test_what_no_run_knows_cannot_be_chosen() -> None:
    assert list(lines(charted(EVAL, [run("one", passed=1)]))) == ["Pass rate", "Errors"]
    assert charted(EVAL, [run("waits")])["measures"] == []


def test_a_run_that_has_not_ended_has_no_time_a_row() -> None:
    assert seconds_a_row(run("one", passed=2, started_at=1.0)) is None
    assert seconds_a_row(run("one", started_at=1.0, ended_at=2.0)) is None
    assert seconds_a_row(run("one", passed=4, started_at=1.0, ended_at=2.0)) == 0.25
