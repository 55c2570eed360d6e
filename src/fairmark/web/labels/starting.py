"""Before the first row: who labels, what they are asked, how many rows they get."""

import re

from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.errors import ApiError
from fairmark.labelling.batches import MOST_ROWS, WantedBatch, begin
from fairmark.labelling.calls import check_other, find_labelled, key_name, read_rater
from fairmark.labelling.question import LabelQuestion, criteria_of, questions
from fairmark.labelling.standing import split_rows
from fairmark.refusals import invalid
from fairmark.serving.named import named_eval, named_run
from fairmark.serving.wire import key_id, project, state
from fairmark.store import Run
from fairmark.web.frame import render
from fairmark.web.frame.visit import field, redirect
from fairmark.web.runs.detail import path_of

ROWS = 50
"""As many as a first look takes."""
RUNS_OFFERED = 20


async def show(request: Request) -> Response:
    return await _form(request)


async def start(request: Request) -> Response:
    """The rater's batch: the one that is not finished, or a new one."""
    eval_, run = await named_eval(request), await named_run(request, with_source=False)
    store = state(request).store
    try:
        rater = read_rater({"rater": field(request, "rater")}, "")
        asked = _asked(questions(criteria_of(eval_, run)), field(request, "question"))
        other = None
        if asked.kind == "preferred" and field(request, "other"):
            _, other = await find_labelled(store, project(request), field(request, "other"))
            check_other(run, other)
        elif asked.kind == "preferred" and not asked.is_pair:
            raise invalid("To say which of two answers is better, choose another run of this eval.", "other")
        only_split = field(request, "rows") == "split"
        batch = await begin(store, run, WantedBatch(rater, asked, _count(field(request, "count")), other, only_split))
    except ApiError as error:
        if error.status not in (400, 409):
            raise
        return await _form(request, error.message)
    return redirect(f"{path_of(run)}/label/{batch.id}")


async def _form(request: Request, error: str = "") -> Response:
    eval_, run = await named_eval(request), await named_run(request, with_source=False)
    store = state(request).store
    asked = questions(criteria_of(eval_, run))
    others = [other for other in await _other_runs(request, run) if other.id != run.id]
    asked = [question for question in asked if question.kind != "preferred" or others or question.is_pair]
    labels = await store.labels.of_run(run)
    return render.page(
        request,
        "labels/start.html",
        400 if error else 200,
        eval=eval_,
        path=path_of(run),
        error=error,
        rater=field_or(request, "rater", await key_name(store, project(request), key_id(request))),
        questions=asked,
        chosen=field_or(request, "question", asked[0].key if asked else ""),
        others=others,
        other=field_or(request, "other", ""),
        count=field_or(request, "count", str(ROWS)),
        most=MOST_ROWS,
        split=sum(len(split_rows(labels, question, run_)) for question in asked for run_ in (None, *others)),
        only_split=field_or(request, "rows", "") == "split",
        raters=sorted({label.rater for label in labels}),
    )


def field_or(request: Request, name: str, otherwise: str) -> str:
    text = field(request, name) if request.method == "POST" else request.query_params.get(name, "")
    return text or otherwise


def _asked(known: list[LabelQuestion], key: str) -> LabelQuestion:
    for question in known:
        if question.key == key:
            return question
    raise invalid(f"What is asked: found {jsontext.quote(key[:40])}, and this run has no such criterion.", "question")


def _count(text: str) -> int:
    if not re.fullmatch("[0-9]{1,6}", text.strip()) or not 1 <= int(text) <= MOST_ROWS:
        raise invalid(f"How many rows: it takes a number from 1 to {MOST_ROWS}.", "count")
    return int(text)


async def _other_runs(request: Request, run: Run) -> list[Run]:
    page = await state(request).store.runs.list(project(request), run.eval_id, RUNS_OFFERED, order="desc")
    return page.data
