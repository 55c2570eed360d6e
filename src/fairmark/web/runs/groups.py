"""For whom a run went well: by the values of a field, with intervals, and the fields first that tell most."""

import asyncio
from typing import NamedTuple

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from fairmark.evals.run_calls import columns_of
from fairmark.serving.named import named_eval, named_run
from fairmark.serving.wire import state
from fairmark.store.views.breakdown import FieldDifference, Group, differences, groups
from fairmark.store.views.choosing import OPERATIONS
from fairmark.store.views.columns import Columns
from fairmark.web.frame import render
from fairmark.web.runs import view
from fairmark.web.runs.distribution import Rate, rate, small

FIELDS_SHOWN = 8
GROUPS_SHOWN = 20


class ShownGroup(NamedTuple):
    group: Group
    rate: Rate | None
    spread: Markup
    """Of its rewards, by one criterion."""
    path: str
    """Where its rows are shown; empty where no filter can tell them."""


class Grouped(NamedTuple):
    """A run's rows, grouped."""

    fields: list[FieldDifference]
    by: str
    groups: list[ShownGroup]
    all_fields: list[str]


async def page(request: Request) -> Response:
    """The part of a run's page that tells it; without scripts, a page of its own."""
    eval_, run = await named_eval(request), await named_run(request, with_source=False)
    criteria = run.criteria or eval_.criteria
    path = f"/evals/{run.eval_id}/runs/{run.id}"
    chosen = view.read(request)._replace(at="", n="", sort="", q="")
    by, measure = request.query_params.get("by", ""), request.query_params.get("measure", "")
    measure = measure or ("1" if len(criteria) == 1 else "")
    criterion = view.index("measure", measure, len(criteria)) if measure else None
    columns = await columns_of(state(request).store, run)
    return render.page(
        request,
        "runs/groups.html",
        run=run,
        eval=eval_,
        path=path,
        chosen=chosen,
        groups_path=chosen.address(f"{path}/groups"),
        criteria=[criterion["name"] for criterion in criteria],
        measure=measure,
        grouped=await asyncio.to_thread(_grouped, columns, by, criterion, path),
        operations=list(OPERATIONS.items()),
        most=GROUPS_SHOWN,
    )


def _grouped(columns: Columns, by: str, criterion: int | None, path: str) -> Grouped:
    fields = differences(columns, criterion)
    chosen = by or (fields[0].field if fields else "")
    shown = [
        ShownGroup(group, rate(group.passed, group.failed), small(group.spread), _path(chosen, group, path))
        for group in groups(columns, chosen, criterion)
    ]
    return Grouped(fields[:FIELDS_SHOWN], chosen, shown, sorted(columns.fields))


def _path(field: str, group: Group, path: str) -> str:
    if group.is_missing:
        where: tuple[str, ...] = (view.write_where(field, "missing"),)
    elif group.low is not None and group.high is not None:
        where = (view.write_where(field, "ge", repr(group.low)), view.write_where(field, "le", repr(group.high)))
    elif group.value is not None:
        where = (view.write_where(field, "is", group.value),)
    else:
        return ""
    return view.RowChoice(where=where).address(path)
