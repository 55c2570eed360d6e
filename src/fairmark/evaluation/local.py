"""The part of an evaluation that callables of the user do: the target, and the local evaluators."""

from collections.abc import Callable, Mapping
from typing import Any

from fairmark import jsontext
from fairmark.errors import EvaluationFailed
from fairmark.evaluation import aggregate, mapping, table
from fairmark.evaluation.calls import Calls, Outcome
from fairmark.evaluation.table import Cells
from fairmark.failures import in_words


def apply_target(target: Callable[..., Any], rows: list[Cells], notes: list[str]) -> list[Cells]:
    """The rows with the target's columns. Raises where it fails on every row; a row it fails on gets none of them."""
    names = table.columns(rows)
    if any(name.startswith(table.TARGET) for name in names):
        raise EvaluationFailed(f"data: where there is a target, no column may begin with {table.TARGET}")
    parameters = mapping.Parameters("target", target)
    paths = {name: name for name in parameters.required}
    missing = parameters.missing(paths, rows)
    if missing:
        raise EvaluationFailed(f"target: there is no column for {', '.join(missing)}. {mapping.known(names)}")
    outcomes = _call(target, paths, rows, strict=False)
    failures = _failures(outcomes)
    if len(failures) == len(rows):
        raise EvaluationFailed(f"target: it failed on every row. {failures[0]}")
    if failures:
        notes.append(f"target: {len(failures)} of {len(rows)} rows failed. {failures[0]}")
    return table.add_target(rows, _outputs(outcomes))


def argument_paths(
    callables: Mapping[str, Callable[..., Any]],
    mappings: Mapping[str, mapping.Paths],
    rows: list[Cells],
    inside: list[Cells],
) -> dict[str, mapping.Paths]:
    """Where each callable's arguments come from. Raises where one requires what is not there."""
    names, dotted = table.columns(rows), table.columns(inside)
    paths: dict[str, mapping.Paths] = {}
    lacking = []
    for label, function in callables.items():
        parameters = mapping.Parameters(f"evaluators[{jsontext.quote(label)}]", function)
        own, default = mappings.get(label), mappings.get("default", {})
        paths[label] = mapping.of_callable(parameters, own, default, names, dotted)
        missing = parameters.missing(paths[label], rows)
        if missing:
            lacking.append(f"{', '.join(missing)} of {jsontext.quote(label)}")
    if lacking:
        raise EvaluationFailed(f"evaluators: there is no column for {'; '.join(lacking)}. {mapping.known(names)}")
    return paths


def evaluate(
    label: str,
    function: Callable[..., Any],
    paths: mapping.Paths,
    rows: list[Cells],
    result_rows: list[Cells],
    notes: list[str],
    *,
    strict: bool,
) -> dict[str, Any]:
    """Adds a local evaluator's columns to the rows of the result, all of them to every row, and gives its metrics."""
    outcomes = _call(function, paths, rows, strict=strict)
    failures = _failures(outcomes)
    if failures and strict:
        cause = next(outcome for outcome in outcomes if isinstance(outcome, Exception))
        raise EvaluationFailed(f"{label}: {failures[0]}") from cause
    if failures:
        notes.append(f"{label}: {len(failures)} of {len(rows)} rows failed. {failures[0]}")
    outputs = _outputs(outcomes)
    own_notes: list[str] = []
    metrics = aggregate.metrics(function, outputs, own_notes)
    notes += [f"{label}: {note}" for note in own_notes]
    names = {name: f"outputs.{label}.{name}" for name in table.columns(outputs)}
    for cells, more in zip(result_rows, outputs, strict=True):
        cells.update((shown, more.get(name, table.NAN)) for name, shown in names.items())
    return metrics


def _call(function: Callable[..., Any], paths: mapping.Paths, rows: list[Cells], *, strict: bool) -> list[Outcome]:
    return Calls(function, lambda index: mapping.arguments(paths, rows[index]), len(rows), strict=strict).run()


def _failures(outcomes: list[Outcome]) -> list[str]:
    return [
        f"Row {number}: {in_words(outcome)}"
        for number, outcome in enumerate(outcomes, 1)
        if isinstance(outcome, Exception)
    ]


def _outputs(outcomes: list[Outcome]) -> list[Cells]:
    return [{} if isinstance(outcome, Exception) else outcome for outcome in outcomes]
