"""One eval: its criteria, its runs over time, its name and metadata; and how to make the same eval elsewhere."""

import re
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.errors import ApiError
from fairmark.evals.criteria import grader_of
from fairmark.evals.eval_calls import MOST_METADATA, delete_eval
from fairmark.refusals import not_found
from fairmark.serving.named import named_eval
from fairmark.serving.wire import base_url, project, state
from fairmark.store import Eval
from fairmark.web.evals import criteria
from fairmark.web.evals.charting import charted, pass_rate
from fairmark.web.evals.judged import judged
from fairmark.web.frame import pairs, render
from fairmark.web.frame.visit import field, redirect, visit

RUNS_SHOWN = 20
RUNS_IN_CHART = 100


async def show(request: Request) -> Response:
    eval_ = await named_eval(request)
    at = _page_number(request.query_params.get("page", ""))
    history = state(request).store.history
    listed = await history.page(eval_.seq, RUNS_SHOWN, (at - 1) * RUNS_SHOWN)
    drawn = listed if listed.count <= RUNS_SHOWN else await history.page(eval_.seq, RUNS_IN_CHART)
    path = f"/evals/{eval_.id}"
    shown = await criteria.read(request, eval_)
    return render.page(
        request,
        "evals/detail.html",
        eval=eval_,
        name=eval_.name or eval_.id,
        path=path,
        criteria=list(zip(shown, await judged(request, [each.spec for each in shown]), strict=True)),
        runs=listed.runs,
        count=listed.count,
        first=(at - 1) * RUNS_SHOWN + 1,
        previous=_address(path, at - 1) if at > 1 else "",
        next=_address(path, at + 1) if at * RUNS_SHOWN < listed.count else "",
        chart=charted(eval_, drawn.runs[::-1]),
        is_cut=listed.count > len(drawn.runs),
        rate=pass_rate,
        export=exported(eval_),
        curl=_curl(request, eval_),
    )


async def edit(request: Request) -> Response:
    eval_ = await named_eval(request)
    return _edit_page(request, eval_, eval_.name, pairs.shown(eval_.metadata))


async def save(request: Request) -> Response:
    eval_ = await named_eval(request)
    name, entered = field(request, "name").strip(), pairs.entered(request)
    try:
        metadata = pairs.read(entered)
    except ApiError as error:
        return _edit_page(request, eval_, name, entered, error)
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
    match config:
        case {"type": "custom", "schema": {"properties": {"item": dict() as item, **others}}}:
            item = item if "$id" in item else _as_root(item)
            config = {"type": "custom", "item_schema": item, "include_sample_schema": "sample" in others}
        case {"type": "custom", "schema": dict() as schema}:  # of one that was made elsewhere
            config = {"type": "custom", "item_schema": schema}
        case _:
            config = {name: value for name, value in config.items() if name != "schema" and value is not None}
    graders = [grader_of(criterion) for criterion in eval_.criteria]
    return {
        "name": eval_.name,
        "metadata": eval_.metadata,
        "data_source_config": config,
        "testing_criteria": graders,
    }


def _edit_page(
    request: Request, eval_: Eval, name: str, entered: pairs.Pairs, error: ApiError | None = None
) -> Response:
    return render.page(
        request,
        "evals/edit.html",
        200 if error is None else error.status,
        eval=eval_,
        name=name,
        pairs=entered,
        most=MOST_METADATA,
        metadata_error="" if error is None else error.message,
    )


def _as_root(schema: Any) -> Any:
    """The item's schema as it was given: references in it count from its own root again."""
    if isinstance(schema, list):
        return [_as_root(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {name: _as_root(inner) for name, inner in schema.items()}
    match copy.get("$ref"):
        case str() as to if to.startswith("#/properties/item"):
            copy["$ref"] = "#" + to.removeprefix("#/properties/item")
    return copy


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


def _page_number(text: str) -> int:
    return max(1, int(text)) if text.isascii() and text.isdecimal() and len(text) <= 6 else 1


def _address(path: str, at: int) -> str:
    return f"{path}?page={quote(str(at))}" if at > 1 else path
