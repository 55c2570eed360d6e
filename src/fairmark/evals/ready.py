"""Whether a run can be worked off here: asked before it is created, and so before anything is paid for."""

from collections.abc import Sequence

from fairmark.errors import InvalidGrader
from fairmark.evals.criteria import Criterion
from fairmark.readiness import lacks, model_remarks
from fairmark.refusals import invalid, invalid_grader


def check_ready(criteria: Sequence[Criterion], sampled: str | None, asks_models: bool = True) -> None:
    """Raises ApiError where a model is unknown or retired, of those that are sampled or judge, or a package is missing.

    `asks_models`: False where a judge of somebody's own answers for every model.
    """
    if sampled is not None and asks_models:
        for remark in model_remarks(sampled):
            if remark.stops:
                where = "data_source.model"
                raise invalid(f"{where}: {remark.problem.message}", where, remark.problem.code)
    problems = [
        problem._replace(path=f"[{index}]{problem.path.removeprefix('$')}")
        for index, criterion in enumerate(criteria)
        if criterion.spec is not None
        for problem in lacks(criterion.spec)
        if asks_models or problem.code == "image_not_installed"
    ]
    if problems:
        raise invalid_grader(InvalidGrader(problems), "testing_criteria")
