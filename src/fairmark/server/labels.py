"""What people say of the rows of runs: put, listed, taken back, out and in as JSONL; and the rate that follows."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from fairmark.labelling import pushed, rows, standing
from fairmark.labelling.calls import find_labelled, key_name, label_wire, put_label
from fairmark.labelling.lines import take_in
from fairmark.labelling.question import criteria_of, question_for
from fairmark.refusals import invalid, not_found
from fairmark.serving.lists import read_query
from fairmark.serving.named import named_eval, named_run
from fairmark.serving.wire import answer, key_id, page, project, read_object, state, whole_body
from fairmark.trust.labelled import KINDS

JSONL = "application/x-ndjson"


async def create(request: Request) -> Response:
    """A label that was taken back before, by its id, stays away: the answer says so."""
    store, body = state(request).store, await read_object(request)
    rater = await key_name(store, project(request), key_id(request))
    label, put = await put_label(store, project(request), body, rater)
    if label is None:
        return answer({"object": "label.deleted", "id": put.id, "deleted": True})
    return answer(label_wire(label), 201)


async def list_(request: Request) -> Response:
    store, query = state(request).store, read_query(request, limit=20, order="asc")
    run = None
    if query.params.get("run_id"):
        _, run = await find_labelled(store, project(request), query.params["run_id"])
    rater = query.params.get("rater") or None
    listed = await store.labels.list(project(request), run, rater, query.limit, query.after, query.order, query.before)
    return page([(label.id, label_wire(label)) for label in listed.data], listed.has_more)


async def retrieve(request: Request) -> Response:
    label_id = request.path_params["label_id"]
    label = await state(request).store.labels.get(project(request), label_id)
    if label is None:
        raise not_found("label", label_id)
    return answer(label_wire(label))


async def delete(request: Request) -> Response:
    label_id = request.path_params["label_id"]
    if not await state(request).store.labels.delete(project(request), label_id):
        raise not_found("label", label_id)
    return answer({"object": "label.deleted", "id": label_id, "deleted": True})


async def export(request: Request) -> Response:
    store, asked = state(request).store, request.query_params
    eval_, run = await find_labelled(store, project(request), asked.get("run_id"))
    lines = await rows.label_lines(
        store,
        eval_,
        run,
        asked.get("criterion") or None,
        _kind(request),
        asked.get("rater") or None,
        asked.get("grader") or None,
    )
    return Response(await asyncio.to_thread(rows.encode_lines, lines), media_type=JSONL)


async def import_(request: Request) -> Response:
    store, asked = state(request).store, request.query_params
    eval_, run = await find_labelled(store, project(request), asked.get("run_id"))
    rater = asked.get("rater") or await key_name(store, project(request), key_id(request))
    content = await whole_body(request.receive)
    done = await take_in(
        store,
        eval_,
        run,
        content,
        criterion=asked.get("criterion") or None,
        rater=rater,
        other_id=asked.get("other_run_id") or None,
    )
    return answer(done.dump(run))


async def corrected(request: Request) -> Response:
    store, asked = state(request).store, request.query_params
    eval_, run = await named_eval(request), await named_run(request, with_source=False)
    criterion, grader = asked.get("criterion") or None, asked.get("grader")
    if grader:
        question = question_for(criteria_of(eval_, run), criterion, "score")
        scores = await pushed.scores_of(store, run, grader)
        rate = await standing.corrected_by(store, run, question, scores, grader)
    else:
        rate = await standing.corrected(store, eval_, run, criterion, _kind(request), asked.get("rater") or None)
    return answer({**rate.dump(), "run_id": run.id, "words": rate.words})


def _kind(request: Request) -> str | None:
    kind = request.query_params.get("kind") or None
    if kind is not None and kind not in KINDS:
        raise invalid(f"kind: found {kind[:40]!r}. Use one of: {', '.join(KINDS)}.", "kind")
    return kind
