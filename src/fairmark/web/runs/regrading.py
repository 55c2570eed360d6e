"""Grade a run again from its page: by the same criteria, or by other judges in place of those that it had."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from fairmark.errors import ApiError
from fairmark.evals.regrade import models_of, regrade
from fairmark.serving.named import named_eval, named_run
from fairmark.serving.wire import key_id, project, state
from fairmark.store import Eval, Run, shared_criteria
from fairmark.web.frame.visit import form, redirect
from fairmark.web.runs.compare import criteria_of, totals_of
from fairmark.web.runs.verdicts import agreement


class CriterionAgreement(NamedTuple):
    """How far a run and the one whose answers it grades again agree by one criterion."""

    name: str
    n: int
    """Rows that both graded."""
    share: float
    """Of them, those with the same verdict."""
    kappa: float | None
    """Beyond what chance alone would give, from -1 to 1; None where all verdicts are the same."""
    mean_difference: float
    flipped: int
    path: str
    """Where the rows are shown that flipped."""


async def start(request: Request) -> Response:
    """The run that the form asks for, or back to the page with what is wrong."""
    eval_, run = await named_eval(request), await named_run(request)
    shared, back = state(request), f"/evals/{run.eval_id}/runs/{run.id}"
    fields = form(request)
    entered = zip(fields.getlist("old"), fields.getlist("new"), strict=False)
    judges = {str(old): str(new).strip() for old, new in entered if str(new).strip() not in ("", str(old))}
    name = str(fields.get("name") or "").strip()
    body: dict[str, Any] = {**({"judges": judges} if judges else {}), **({"name": name} if name else {})}
    try:
        made = await regrade(
            shared.store, shared.registry, shared.engine, project(request), eval_, run, body, key_id(request)
        )
    except ApiError as error:
        return redirect(back, f"It cannot be graded again like this. {error.message}")
    return redirect(f"/evals/{made.eval_id}/runs/{made.id}")


def judges_of(criteria: Sequence[dict[str, Any]]) -> list[str]:
    """The models that a run's criteria ask, for the form."""
    return sorted({model for criterion in criteria for model in models_of(criterion)})


async def agreements(request: Request, eval_: Eval, old: Run, new: Run) -> list[CriterionAgreement]:
    """By the criteria that both have, as far as both have graded the same rows."""
    by_criterion = []
    compared = f"/evals/{eval_.id}/compare?a={old.id}&b={new.id}"
    first = criteria_of(eval_, old)
    for place, pair in enumerate(shared_criteria(first, criteria_of(eval_, new))):
        totals = await totals_of(request, old, new, pair)
        if not totals.n:
            continue
        agreed = agreement(totals)
        by_criterion.append(
            CriterionAgreement(
                name=first[pair[0]]["name"],
                n=totals.n,
                share=agreed.share,
                kappa=agreed.kappa,
                mean_difference=totals.mean_difference,
                flipped=totals.only_first + totals.only_second,
                path=f"{compared}&criterion={place}&change={'lost' if totals.only_first else 'gained'}#rows",
            )
        )
    return by_criterion
