"""`evaluate`: a data set through graders and callables, with the arguments and the result of Azure's function.

Everything happens on this machine: nothing is uploaded, and no server is needed.
"""

import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from fairmark import jsontext
from fairmark.errors import EvaluationFailed
from fairmark.evaluation import grading, local, mapping, saving, table
from fairmark.evaluation.azure import (
    AzureOpenAIGrader,
    AzureOpenAILabelGrader,
    AzureOpenAIPythonGrader,
    AzureOpenAIScoreModelGrader,
    AzureOpenAIStringCheckGrader,
    AzureOpenAITextSimilarityGrader,
)
from fairmark.evaluation.evaluators import split
from fairmark.evaluation.outcome import Evaluated

__all__ = [
    "AzureOpenAIGrader",
    "AzureOpenAILabelGrader",
    "AzureOpenAIPythonGrader",
    "AzureOpenAIScoreModelGrader",
    "AzureOpenAIStringCheckGrader",
    "AzureOpenAITextSimilarityGrader",
    "evaluate",
]


def evaluate(
    *,
    data: str | os.PathLike[str] | Iterable[Mapping[str, Any]],
    evaluators: Mapping[str, Any],
    evaluation_name: str | None = None,
    target: Callable[..., Any] | None = None,
    evaluator_config: Mapping[str, Any] | None = None,
    azure_ai_project: Any = None,
    output_path: str | os.PathLike[str] | None = None,
    fail_on_evaluator_errors: bool = False,
    tags: Mapping[str, str] | None = None,
    progress: bool | None = None,
    **others: Any,
) -> Evaluated:
    """Rows and metrics: `{"rows": [flat dict, …], "metrics": {…}, "studio_url": None}`.

    Raises EvaluationFailed for wrong arguments, before anything runs. A row that an evaluator fails on never stops the
    others, unless `fail_on_evaluator_errors`; it has no value, or score 0 and an `error`, and there is a warning.
    `progress`: whether to show how far graders are; None: in notebooks.
    """
    _check(evaluation_name, target)
    saved = saving.place(output_path, data)
    graders, callables = split(evaluators)
    mappings = mapping.read(evaluator_config)
    notes = [*_misspelt(others), *mapping.unused(mappings, evaluators)]
    rows = table.read(data)
    mapping.check(mappings, rows, has_target=target is not None)
    if target is not None:
        rows = local.apply_target(target, rows, notes)
        mapping.check(mappings, rows, has_target=True)

    inside = table.leaves(rows)
    paths = local.argument_paths(callables, mappings, rows, inside)
    result_rows = table.shown(rows, inside, prefixed=bool(callables))
    metrics: dict[str, Any] = {}
    summary: dict[str, Any]
    strict = fail_on_evaluator_errors
    for label, function in callables.items():
        summary = local.evaluate(label, function, paths[label], rows, result_rows, notes, strict=strict)
        metrics |= {f"{label}.{name}": value for name, value in summary.items()}
    for label, grader in graders.items():
        own = mappings.get(label, mappings.get("default", {}))
        shown = (mapping.grader_row(own, row) for row in rows)
        summary = grading.grade(label, grader, shown, result_rows, notes, strict=strict, progress=progress)
        metrics |= {f"{label}.{name}": value for name, value in summary.items()}

    result = Evaluated(rows=result_rows, metrics=metrics, studio_url=None)
    if graders:
        result["oai_eval_run_ids"] = []  # there are no runs on a server; scripts that walk through them go on working
    if saved is not None:
        saving.save(result, saved)
    for note in notes:
        warnings.warn(note, stacklevel=2)
    return result


def _check(evaluation_name: Any, target: Any) -> None:
    if evaluation_name is not None and not (isinstance(evaluation_name, str) and evaluation_name.strip()):
        shown = jsontext.describe(evaluation_name)
        raise EvaluationFailed(f"evaluation_name: expected a text that is not blank, found {shown}.")
    if target is not None and not callable(target):
        raise EvaluationFailed(f"target: expected a callable, found {jsontext.describe(target)}.")


def _misspelt(others: Mapping[str, Any]) -> list[str]:
    """Azure ignores what it does not know; a name that is nearly one of ours deserves a word."""
    ours = [*(evaluate.__kwdefaults__ or {}), "data", "evaluators"]
    return [
        f"evaluate() has no argument {name}; it is ignored. Did you mean {near[0]}?"
        for name in others
        if (near := get_close_matches(name, ours, n=1, cutoff=0.75))
    ]
