"""One eval: its criteria, its runs over time, its name and metadata; and how to make the same eval elsewhere."""

import re
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.errors import ApiError
from fairmark.evals.eval_calls import MOST_METADATA, delete_eval
from fairmark.refusals import not_found
from fairmark.serving.named import named_eval
from fairmark.serving.wire import base_url, project, state
from fairmark.store import Eval, Run
from fairmark.web.evals import criteria
from fairmark.web.frame import pairs, render
from fairmark.web.frame.visit import field, redirect, visit

RUNS_SHOWN = 20
RUNS_IN_CHART = 100
LINES_IN_CHART = 8
"""The whole, and as many criteria less one as people can tell apart."""


async def show(request: Request) -> Response:
    eval_ = await named_eval(request)
    at = _page_number(request.query_params.get("page", ""))
    history = state(request).store.history
    listed = await history.page(eval_.seq, RUNS_SHOWN, (at - 1) * RUNS_SHOWN)
    charted = listed if listed.count <= RUNS_SHOWN else await history.page(eval_.seq, RUNS_IN_CHART)
    path = f"/evals/{eval_.id}"
    return render.page(
        request,
        "evals/detail.html",
        eval=eval_,
        name=eval_.name or eval_.id,
        path=path,
        criteria=await criteria.read(request, eval_),
        runs=listed.runs,
        count=listed.count,
        first=(at - 1) * RUNS_SHOWN + 1,
        previous=_address(path, at - 1) if at > 1 else "",
        next=_address(path, at + 1) if at * RUNS_SHOWN < listed.count else "",
        chart=chart(eval_, charted.runs[::-1], listed.count),
        is_cut=listed.count > len(charted.runs),
        rate=pass_rate,
        export=exported(eval_),
        curl=_curl(request, eval_),
    )


async def edit(request: Request) -> Response:
    eval_ = await named_eval(request)
    return _edit_page(request, eval_, eval_.name, pairs.shown(eval_.metadata))


async def save(request: Request) -> Response:
    eval_ = await named_eval(request)
    name, given = field(request, "name").strip(), pairs.given(request)
    try:
        metadata = pairs.read(given)
    except ApiError as error:
        return _edit_page(request, eval_, name, given, error)
    if await state(request).store.evals.update(project(request), eval_.id, name=name, metadata=metadata) is None:
        raise not_found("eval", eval_.id)
    return redirect(f"/evals/{eval_.id}", "Saved.")


async def delete(request: Request) -> Response:
    eval_ = await named_eval(request)
    await delete_eval(state(request).store, state(request).engine, project(request), eval_)
    return redirect("/evals", f"“{jsontext.shorten(eval_.name or eval_.id)}” is deleted.")


async def export(request: Request) -> Response:
    """What to send to create the same eval, as a file."""
    eval_ = await named_eval(request)
    headers = {"content-disposition": f'attachment; filename="{_file_name(eval_)}"'}
    return Response(jsontext.encode_pretty(exported(eval_)) + "\n", headers=headers, media_type="application/json")


def exported(eval_: Eval) -> dict[str, Any]:
    config = eval_.data_source_config
    if config["type"] == "custom":
        properties = config["schema"]["properties"]
        item = _as_root(properties["item"]) if "$id" not in properties["item"] else properties["item"]
        config = {"type": "custom", "item_schema": item, "include_sample_schema": "sample" in properties}
    else:
        config = {name: value for name, value in config.items() if name != "schema" and value is not None}
    graders = [{name: value for name, value in each.items() if name != "id"} for each in eval_.criteria]
    return {
        "name": eval_.name,
        "metadata": eval_.metadata,
        "data_source_config": config,
        "testing_criteria": graders,
    }


def chart(eval_: Eval, runs: list[Run], count: int) -> dict[str, Any]:
    """Pass rates of the runs that have any, the oldest first: of the whole and of each criterion.

    The runs are the last ones of `count`, and numbered among all.
    """
    numbers = {run.id: count - len(runs) + at for at, run in enumerate(runs, 1)}
    graded = [run for run in runs if pass_rate(run) is not None]
    lines = [
        {"name": "All criteria" if len(eval_.criteria) > 1 else "Pass rate", "rates": [pass_rate(r) for r in graded]}
    ]
    if len(eval_.criteria) > 1:
        for criterion in eval_.criteria[: LINES_IN_CHART - 1]:
            counts = [run.criteria_counts.get(criterion["id"], [0, 0, 0, 0]) for run in graded]
            lines.append({"name": criterion["name"], "rates": [share(each[0], each[1]) for each in counts]})
    shown = [
        {
            "name": run.name or run.id,
            "number": numbers[run.id],
            "path": f"/evals/{eval_.id}/runs/{run.id}",
            "at": run.created_at,
            "rows": run.passed + run.failed + run.errored + run.skipped,
            "errors": run.errored,
        }
        for run in graded
    ]
    return {"runs": shown, "lines": lines}


def pass_rate(run: Run) -> float | None:
    """Of the rows that were graded: an error is no failure."""
    return share(run.passed, run.failed)


def share(passed: int, failed: int) -> float | None:
    return passed / (passed + failed) if passed + failed else None


def _edit_page(request: Request, eval_: Eval, name: str, given: pairs.Pairs, error: ApiError | None = None) -> Response:
    return render.page(
        request,
        "evals/edit.html",
        200 if error is None else error.status,
        eval=eval_,
        name=name,
        pairs=given,
        most=MOST_METADATA,
        metadata_error="" if error is None else error.message,
    )


def _as_root(schema: Any) -> Any:
    """The item's schema as it was given: references in it count from its own root again."""
    if isinstance(schema, list):
        return [_as_root(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: _as_root(inner) for name, inner in schema.items()}
    match found.get("$ref"):
        case str() as to if to.startswith("#/properties/item"):
            found["$ref"] = "#" + to.removeprefix("#/properties/item")
    return found


def _curl(request: Request, eval_: Eval) -> str:
    key = '  -H "Authorization: Bearer $FAIRMARK_API_KEY" \\\n' if visit(request).session else ""
    return (
        f"curl {base_url(request)}/v1/evals \\\n"
        f"{key}"
        '  -H "Content-Type: application/json" \\\n'
        f"  --data @{_file_name(eval_)}"
    )


def _file_name(eval_: Eval) -> str:
    """Of letters that every system and every header takes."""
    words = re.sub(r"[^A-Za-z0-9]+", "-", eval_.name)[:60].strip("-").lower()
    return f"{words or eval_.id}.json"


def _page_number(given: str) -> int:
    return max(1, int(given)) if given.isascii() and given.isdecimal() and len(given) <= 6 else 1


def _address(path: str, at: int) -> str:
    return f"{path}?page={quote(str(at))}" if at > 1 else path
