"""Test payloads: rows to try a grader on, pasted or taken from a file or an earlier run. Nothing of it is kept."""

import asyncio
import contextlib
from itertools import islice
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.data.dataset import DataFile, DataRow
from fairmark.errors import ApiError, InvalidData, InvalidSource
from fairmark.evals.regrade import row_of
from fairmark.evals.sampling import Sampled
from fairmark.evals.source import find_file, open_source
from fairmark.judgement import Judgement
from fairmark.parse import read
from fairmark.refusals import invalid, not_found, wrong_type
from fairmark.registry.functions import FunctionCheck, acheck_function
from fairmark.registry.keeping import functions_in
from fairmark.result import Result, wire_form
from fairmark.serving.grading import Rewards, known_grader
from fairmark.serving.presence import unless_gone
from fairmark.serving.wire import answer, project, read_object, state
from fairmark.store import Run
from fairmark.web.frame import render, show
from fairmark.web.frame.reasoning import steps_in

MOST = 50
"""How many payloads are tried at once."""
DEADLINE_S = 120.0
FILES_SHOWN, EVALS_SHOWN, RUNS_SHOWN = 100, 50, 5


async def run(request: Request) -> Response:
    """Grades payloads as the API would, and shows what came out. Whoever stops waiting stops the grading."""
    body = await read_object(request)
    text = body.get("grader")
    if not isinstance(text, str):
        raise wrong_type("grader", "a string: the grader's JSON as it is written", text)
    rows = read_payloads(body.get("payloads"))
    shared, owner = state(request), project(request)
    known = await known_grader(shared, owner, msgspec.Raw(text.encode("utf-8", "surrogatepass")))
    encoded = [msgspec.Raw(jsontext.encode({"item": item, "sample": sample})) for item, sample in rows]
    job = Rewards(shared, owner, known, encoded, None)
    results, checks = await unless_gone(request.receive, _graded(job, text, owner))
    shown = [_shown(index, item, sample, results) for index, (item, sample) in enumerate(rows)]
    return render.part(
        request,
        "graders/payload-results.html",
        "results",
        rows=shown,
        checks=checks,
        deadline=show.duration(DEADLINE_S),
    )


async def _graded(job: Rewards, text: str, owner: str) -> tuple[list[Result], list[FunctionCheck]]:
    """The results, in order, and the checks of the function graders among them, as far as they came in time."""
    results: list[Result] = []
    checking = [asyncio.create_task(acheck_function(source, owner)) for _, source in functions_in(read(text))]
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DEADLINE_S), contextlib.aclosing(job.results()) as graded:
                async for batch in graded:
                    results += batch
                if checking:
                    await asyncio.wait(checking)
        return results, [check.result() for check in checking if check.done()]
    finally:
        for check in checking:
            check.cancel()


def read_payloads(payloads: Any) -> list[tuple[dict[str, Any], Any]]:
    """The payloads as rows. Raises ApiError with what is wrong with each, in `payloads`."""
    if not isinstance(payloads, list) or not payloads:
        raise wrong_type("payloads", "a list with a payload or more", payloads)
    if len(payloads) > MOST:
        raise invalid(
            f"There are {len(payloads)} payloads. Try at most {MOST} at once; an eval takes any number.", "payloads"
        )
    rows, wrong = [], []
    for index, payload in enumerate(payloads):
        item, sample = payload if isinstance(payload, list) and len(payload) == 2 else (None, None)
        values = []
        for name, value in (("item", item), ("sample", sample)):
            try:
                values.append(_read(name, value))
            except ValueError as error:
                wrong.append({"index": index, "field": name, "message": str(error)})
        rows.append(tuple(values))
    if wrong:
        count = len({problem["index"] for problem in wrong})
        words = (
            "The payload cannot be read." if len(payloads) == 1 else f"{show.plural(count, 'payload')} cannot be read."
        )
        raise ApiError(400, words, param="payloads", code="invalid_payload", extra={"payloads": wrong})
    return rows


def _read(name: str, entered: Any) -> Any:
    """An item is the text of a JSON object; a sample is a text, or an object with one: the text of a JSON object."""
    is_json = name == "item" or isinstance(entered, dict)
    text = entered.get("json") if isinstance(entered, dict) else entered
    if not isinstance(text, str):
        raise ValueError(f"found {jsontext.describe(entered)}. It takes a text.")
    if not is_json:
        return text
    if name == "item" and not text.strip():
        return {}
    try:
        value = jsontext.decode(text)
    except jsontext.NotJson as error:
        raise ValueError(f"This is not JSON: {error}.") from None
    if not isinstance(value, dict):
        raise ValueError(f"It takes a JSON object, found {jsontext.describe(value)}.")
    if jsontext.deeper_than(value, jsontext.MAX_DEPTH - 1):
        raise ValueError(f"It is nested deeper than {jsontext.MAX_DEPTH} levels.")
    return value


def _shown(index: int, item: dict[str, Any], sample: Any, results: list[Result]) -> dict[str, Any]:
    """One line of the table, and what is behind it."""
    result = results[index] if index < len(results) else None
    return {
        "number": index + 1,
        "item": item,
        "sample": sample,
        "result": result,
        "wire": None if result is None else wire_form(result),
        "judgements": [] if result is None else [_judgement(judgement) for judgement in result.judgements],
        "outcome": _outcome(result),
        "sandbox": None if result is None else result.grade.flags.get("python_grader_runtime_error_details"),
    }


def _judgement(judgement: Judgement) -> dict[str, Any]:
    """A judge's side. Of a grader that asks several questions, each answer has fields of its own."""
    return {
        "asked": judgement,
        "steps": steps_in(judgement.value),
        "verdict": judgement.value.get("result"),
    }


def _outcome(result: Result | None) -> str:
    """The tone of a line: a reward without a threshold neither passes nor fails."""
    if result is None or result.status == "error":
        return "error"
    if result.status == "skipped":
        return "skip"
    return {True: "pass", False: "fail", None: ""}[result.passed]


async def sources(request: Request) -> Response:
    """Where payloads may be taken from: the newest files, and the last runs of the newest evals."""
    store = state(request).store
    files = await store.files.list(project(request), limit=FILES_SHOWN)
    evals = (await store.evals.search(project(request), "", EVALS_SHOWN, 0)).evals
    recent = await store.recent.of([eval_.seq for eval_ in evals], RUNS_SHOWN)
    return answer(
        {
            "files": [
                {"id": file.id, "name": file.filename, "note": f"{show.size(file.bytes)}, {show.ago(file.created_at)}"}
                for file in files.data
            ],
            "evals": [
                {
                    "name": eval_.name or eval_.id,
                    "runs": [
                        {
                            "id": f"{eval_.id}/{run.id}",
                            "name": run.name or run.id,
                            "note": f"{show.plural(run.total or 0, 'row')}, {show.ago(run.created_at)}",
                        }
                        for run in reversed(recent[eval_.seq].runs)
                    ],
                }
                for eval_ in evals
                if eval_.seq in recent
            ],
        }
    )


async def rows(request: Request) -> Response:
    """Rows of a file (`file`) or a run (`run`: EVAL/RUN), from number `row` on, `count` of them."""
    query = request.query_params
    first, count = _whole(query.get("row", "1"), "row", 2**31), _whole(query.get("count", "1"), "count", MOST)
    if query.get("file"):
        data_rows = await _of_file(request, query["file"], first, count)
    else:
        data_rows = await _of_run(request, query.get("run", ""), first, count)
    if not data_rows:
        raise invalid(f"There is no row {first}: it has fewer.", "row")
    return answer({"rows": [{"item": item, "sample": _plain(sample)} for item, sample in data_rows]})


def _plain(sample: Any) -> Any:
    """A sample that is nothing but a text, as that text: graders see no difference."""
    match sample:
        case {"output_text": str() as text} if len(sample) == 1:
            return text
        case _:
            return sample


async def _of_file(request: Request, file_id: str, first: int, count: int) -> list[tuple[Any, Any]]:
    store = state(request).store
    file = await store.files.get(project(request), file_id)
    if file is None:
        raise not_found("file", file_id)

    def read_rows() -> list[DataRow | InvalidData]:
        return list(
            islice(DataFile(str(store.files.content(file.id)), name=file.filename), first - 1, first - 1 + count)
        )

    try:
        data_rows = await asyncio.to_thread(read_rows)
    except InvalidData as error:
        words = str(error).removeprefix(f"{store.files.content(file.id)}: ")
        raise invalid(f"{file.filename}: {words}", "file") from None
    wrong = next((row for row in data_rows if isinstance(row, InvalidData)), None)
    if wrong is not None:
        raise invalid(f"{file.filename}: {wrong}", "row")
    return [(row.item, row.sample) for row in data_rows if isinstance(row, DataRow)]


async def _of_run(request: Request, named: str, first: int, count: int) -> list[tuple[Any, Any]]:
    """Its rows as they were graded: the items of its data source, and the samples there or what was sampled for it."""
    shared = state(request)
    eval_id, _, run_id = named.partition("/")
    run = await shared.store.runs.get(project(request), eval_id, run_id)
    if run is None:
        raise not_found("run", run_id)
    if run.imported is not None or run.rows_file is not None:  # its rows are nowhere else
        items = await shared.store.rows.chunk(run, None, first - 2)
        return [row_of(item.body)[:2] for item in items[:count]]
    try:
        data_source = jsontext.decode(run.data_source)
        source = open_source(data_source, await find_file(shared.store, project(request), data_source))
        data_rows = await asyncio.to_thread(lambda: list(islice(source.rows(), first - 1, first - 1 + count)))
    except InvalidSource:
        raise invalid("The file that this run was made from is gone, or has changed.", "run") from None
    sampled = {} if source.sampling is None else await _sampled(request, run, first - 1, first - 2 + count)
    return [(row.item, sampled.get(row.position, row.sample)) for row in data_rows]


async def _sampled(request: Request, run: Run, first: int, last: int) -> dict[int, Any]:
    stored = await state(request).store.samples.get(run, first, last)
    return {index: Sampled.decode(body).sample for index, body in stored.items()}


def _whole(text: str, name: str, most: int) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 10 or not 1 <= int(text) <= most:
        raise invalid(f"{name}: found {jsontext.quote(text)}. It takes a whole number from 1 to {most}.", name)
    return int(text)
