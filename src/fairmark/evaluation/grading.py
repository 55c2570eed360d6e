"""The part of an evaluation that graders do: their columns, their pass rate."""

from collections.abc import Iterable, Iterator
from typing import Any

from fairmark import jsontext
from fairmark.data.tally import GraderTally
from fairmark.data.warnings import Counted
from fairmark.errors import EvaluationFailed
from fairmark.evaluation.aggregate import FAIL, PASS
from fairmark.evaluation.evaluators import PYTHON, BrokenSource, Grader
from fairmark.evaluation.table import Cells
from fairmark.notebook import watched
from fairmark.result import Result
from fairmark.run import grade_stream

NAME_LIMIT = 50
"""A `_result` column exists only while its name is shorter than this."""


def grade(
    label: str,
    grader: Grader,
    rows: Iterable[Any],
    result_rows: list[Cells],
    notes: list[str],
    *,
    strict: bool,
    progress: bool | None = None,
) -> dict[str, float]:
    """Adds a grader's columns to the rows of the result, and gives its metrics.

    That is the pass rate among the rows that were graded, 0 where none was. Without a threshold nothing passes or
    fails; then it is the mean score.
    """
    tally, warned = GraderTally(), Counted()
    failures: list[str] = []
    names = {name: f"outputs.{label}.{name}" for name in ("passed", "score", "sample", "type", "error")}
    result_name = f"outputs.{label}.{label}_result"
    graded_rows = watched(_graded(grader, rows, tally, warned), result_rows, progress)
    for number, (cells, graded) in enumerate(zip(result_rows, graded_rows, strict=True), 1):
        if graded["error"] is not None:
            failures.append(f"Row {number}: {graded['error']}")
            if strict:
                raise EvaluationFailed(f"{label}: {failures[0]}")
        cells.update((names[name], value) for name, value in graded.items())
        if len(result_name) < NAME_LIMIT:
            cells[result_name] = {True: PASS, False: FAIL, None: None}[graded["passed"]]
    if failures:
        notes.append(f"{label}: {len(failures)} of {len(result_rows)} rows could not be graded. {failures[0]}")
    if not isinstance(grader, BrokenSource):
        notes += [f"{label}: {text}" for text in (*grader.all_warnings, *warned.told(len(result_rows)))]
    if isinstance(grader, BrokenSource) or grader.threshold is not None:
        return {"pass_rate": tally.pass_rate or 0.0}
    return {} if tally.mean is None else {"score": tally.mean}


def _graded(grader: Grader, rows: Iterable[Any], tally: GraderTally, warned: Counted) -> Iterator[Cells]:
    """The columns of each row, without their prefix. A row without a grade does not pass, and tells why in `error`."""
    if isinstance(grader, BrokenSource):
        for _ in rows:
            yield {"passed": False, "score": 0.0, "sample": None, "type": PYTHON, "error": grader.error}
        return
    for result in grade_stream(grader, rows):
        error = result.error or result.skipped
        warned.add(result.row_warnings)
        if error is None:
            tally.add(result)
        yield {
            "passed": result.passed if error is None else False,
            "score": result.reward,
            "sample": _sample(result),
            "type": result.type,
            "error": error,
        }


def _sample(result: Result) -> dict[str, Any] | None:
    """What judges said, in Azure's shape: reasons and verdict are JSON text in `content`. None without judges."""
    if not result.judgements:
        return None
    first = result.judgements[0]
    return {
        "model": first.name,
        "input": list(first.messages),
        "output": [
            {
                "role": "assistant",
                "content": jsontext.write(dict(judgement.value)) if judgement.value else judgement.output,
            }
            for judgement in result.judgements
        ],
        "finish_reason": first.finish_reason,
        "usage": first.usage.dump(),
    }
