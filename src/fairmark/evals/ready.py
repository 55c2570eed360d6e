"""Whether a run can be worked off here: asked before it is created, and so before anything is paid for."""

from collections.abc import Iterable, Sequence

from fairmark.errors import InvalidGrader, Problem
from fairmark.evals.criteria import Criterion
from fairmark.judges.chosen import unlisted as unlisted_by_providers
from fairmark.readiness import lacks, model_remarks, models, unlisted
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
    _refuse(
        (index, problem)
        for index, criterion in enumerate(criteria)
        if criterion.spec is not None
        for problem in lacks(criterion.spec)
        if asks_models or problem.code == "image_not_installed"
    )


async def check_listed(criteria: Sequence[Criterion], sampled: str | None) -> None:
    """Raises ApiError where a model is not in the list of its provider, which is asked for it."""
    specs = {index: criterion.spec for index, criterion in enumerate(criteria) if criterion.spec is not None}
    names = {name for spec in specs.values() for _, name in models(spec)}
    wrong = await unlisted_by_providers(names if sampled is None else names | {sampled})
    if sampled in wrong:
        where = "data_source.model"
        raise invalid(f"{where}: {wrong[sampled]}", where, "model_not_found")
    _refuse((index, problem) for index, spec in specs.items() for problem in unlisted(spec, wrong))


def _refuse(problems_at: Iterable[tuple[int, Problem]]) -> None:
    """Raises ApiError where there are problems, each with the index of its criterion."""
    problems = [problem._replace(path=f"[{index}]{problem.path.removeprefix('$')}") for index, problem in problems_at]
    if problems:
        raise invalid_grader(InvalidGrader(problems), "testing_criteria")
