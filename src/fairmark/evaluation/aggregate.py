"""What the rows of a callable add up to: its metrics."""

import math
from collections.abc import Callable, Hashable
from typing import Any

from fairmark.evaluation.table import NAN, Cells, columns
from fairmark.failures import in_words

PASS, FAIL = "pass", "fail"


def metrics(function: Callable[..., Any], outputs: list[Cells], notes: list[str]) -> dict[str, Any]:
    """Means, the share of passes, and what the callable's own `__aggregate__` makes of it all."""
    summary: dict[str, Any] = {}
    names = columns(outputs)
    for name in names:
        if not name.endswith(("_threshold", "_result")):
            mean = _mean([cells[name] for cells in outputs if cells.get(name) is not None])
            if mean is not None:
                summary[name] = mean
    for name in names:
        values = [cells.get(name) for cells in outputs]
        if name.endswith("_result") and all(isinstance(value, Hashable) for value in values):
            summary["binary_aggregate"] = round(values.count(PASS) / len(values), 2)
    if hasattr(function, "__aggregate__"):
        summary |= _aggregated(function.__aggregate__, names, outputs, notes)
    return summary


def _mean(values: list[Any]) -> float | None:
    """The mean of numbers and truth values, NaN left out. None where there are none, or something else as well."""
    if not all(isinstance(value, (bool, int, float)) for value in values):
        return None
    try:
        numbers = [float(value) for value in values if not math.isnan(value)]
    except OverflowError:  # an integer beyond all floats
        return None
    return sum(numbers) / len(numbers) if numbers else None


def _aggregated(
    function: Callable[[list[Any]], Any], names: list[str], outputs: list[Cells], notes: list[str]
) -> dict[str, Any]:
    rows = [{name: cells.get(name, NAN) for name in names} for cells in outputs]
    try:
        returned = function([row["output"] for row in rows] if names == ["output"] else rows)
    except Exception as error:
        notes.append(f"__aggregate__ raised {in_words(error)}")
        return {}
    if not isinstance(returned, dict):
        notes.append(f"__aggregate__ returned a {type(returned).__name__}, not a dict; there are no metrics of it.")
        return {}
    return returned
