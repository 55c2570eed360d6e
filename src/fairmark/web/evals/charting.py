"""Runs as lines over time: pass rates, mean rewards, cost, time and errors, of each run at its date.

Each run has the same room: they come in bursts, and by the clock a day's work would be one point.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fairmark.store import Eval, Run

LINES = 8
"""The whole, and as many criteria less one as people can tell apart."""


def charted(eval_: Eval, runs: Sequence[Run], means: Mapping[str, Mapping[str, float]] | None = None) -> dict[str, Any]:
    """The runs that have rows, the oldest first, and what can be drawn of them.

    `means`: a run's id -> the mean reward of each criterion by name, where somebody has counted it.
    """
    begun = [run for run in runs if done(run)]
    criteria = eval_.criteria[: LINES - 1]
    names = [criterion["name"] for criterion in criteria]
    rates = [_line("All criteria" if len(names) > 1 else "Pass rate", begun, pass_rate)]
    if len(names) > 1:
        rates += [_line(criterion["name"], begun, _rate_of(criterion["id"])) for criterion in criteria]
    measures = [("Pass rate", "share", rates)]
    if means is not None:
        measures.append(("Mean reward", "reward", [_line(name, begun, _mean_of(name, means)) for name in names]))
    measures += [
        ("Cost", "money", [_line("Cost", begun, lambda run: run.cost)]),
        ("Time a row", "seconds", [_line("Time a row", begun, seconds_a_row)]),
        ("Errors", "share", [_line("Rows not graded", begun, lambda run: run.errored / done(run))]),
    ]
    return {
        "runs": [
            {
                "name": run.name or run.id,
                "path": f"/evals/{eval_.id}/runs/{run.id}",
                "at": run.created_at,
                "rows": done(run),
                "errors": run.errored,
            }
            for run in begun
        ],
        "measures": [
            {"name": name, "unit": unit, "lines": lines}
            for name, unit, lines in measures
            if any(value is not None for line in lines for value in line["values"])
        ],
    }


def done(run: Run) -> int:
    return run.passed + run.failed + run.errored + run.skipped


def pass_rate(run: Run) -> float | None:
    """Of the rows that were graded: an error is no failure."""
    return share(run.passed, run.failed)


def share(passed: int, failed: int) -> float | None:
    return passed / (passed + failed) if passed + failed else None


def seconds_a_row(run: Run) -> float | None:
    """How long the run took, by its rows. They are worked on side by side: one alone may have taken longer."""
    if run.started_at is None or run.ended_at is None or not done(run):
        return None
    return (run.ended_at - run.started_at) / done(run)


def _line(name: str, runs: Sequence[Run], value: Callable[[Run], float | None]) -> dict[str, Any]:
    return {"name": name, "values": [value(run) for run in runs]}


def _rate_of(criterion_id: str) -> Callable[[Run], float | None]:
    def rate(run: Run) -> float | None:
        passed, failed, *_ = run.criteria_counts.get(criterion_id, (0, 0))
        return share(passed, failed)

    return rate


def _mean_of(name: str, means: Mapping[str, Mapping[str, float]]) -> Callable[[Run], float | None]:
    return lambda run: means.get(run.id, {}).get(name)
