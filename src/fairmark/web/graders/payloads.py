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
from fairmark.evals.sampling import Sampled
from fairmark.evals.source import find_file, open_source
from fairmark.judgement import Judgement
from fairmark.parse import read
from fairmark.refusals import invalid, not_found, wrong_type
from fairmark.registry.functions import FunctionCheck, acheck_function
from fairmark.registry.keeping import functions_in
from fairmark.result import Result
from fairmark.serving.grading import Rewards, known_grader
from fairmark.serving.presence import unless_gone
from fairmark.serving.results import wire_form
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
    given = await read_object(request)
    text = given.get("grader")
    if not isinstance(text, str):
        raise wrong_type("grader", "a string: the grader's JSON as it is written", text)
    rows = read_payloads(given.get("payloads"))
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
                async for each in graded:
                    results += each
                if checking:
                    await asyncio.wait(checking)
        return results, [check.result() for check in checking if check.done()]
    finally:
        for check in checking:
            check.cancel()


def read_payloads(given: Any) -> list[tuple[dict[str, Any], Any]]:
    """The payloads as rows. Raises ApiError with what is wrong with each, in `payloads`."""
    if not isinstance(given, list) or not given:
        raise wrong_type("payloads", "a list with a payload or more", given)
    if len(given) > MOST:
        raise invalid(
            f"There are {len(given)} payloads. Try at most {MOST} at once; an eval takes any number.", "payloads"
        )
    rows, wrong = [], []
    for index, each in enumerate(given):
        item, sample = each if isinstance(each, list) and len(each) == 2 else (None, None)
        values = []
        for name, value in (("item", item), ("sample", sample)):
            try:
                values.append(_read(name, value))
            except ValueError as error:
                wrong.append({"index": index, "field": name, "message": str(error)})
        rows.append(tuple(values))
    if wrong:
        count = len({each["index"] for each in wrong})
        words = "The payload cannot be read." if len(given) == 1 else f"{show.plural(count, 'payload')} cannot be read."
        raise ApiError(400, words, param="payloads", code="invalid_payload", extra={"payloads": wrong})
    return rows


def _read(name: str, given: Any) -> Any:
    """An item is the text of a JSON object; a sample is a text, or an object with one: the text of a JSON object."""
    is_json = name == "item" or isinstance(given, dict)
    text = given.get("json") if isinstance(given, dict) else given
    if not isinstance(text, str):
        raise ValueError(f"found {jsontext.describe(given)}. It takes a text.")
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
        "judgements": [] if result is None else [_judgement(each) for each in result.judgements],
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
    recent = await store.recent.of([each.seq for each in evals], RUNS_SHOWN)
    return answer(
        {
            "files": [
                {"id": each.id, "name": each.filename, "note": f"{show.size(each.bytes)}, {show.ago(each.created_at)}"}
                for each in files.data
            ],
            "evals": [
                {
                    "name": each.name or each.id,
                    "runs": [
                        {
                            "id": f"{each.id}/{run.id}",
                            "name": run.name or run.id,
                            "note": f"{show.plural(run.total or 0, 'row')}, {show.ago(run.created_at)}",
                        }
                        for run in reversed(recent[each.seq].runs)
                    ],
                }
                for each in evals
                if each.seq in recent
            ],
        }
    )


async def rows(request: Request) -> Response:
    """Rows of a file (`file`) or a run (`run`: EVAL/RUN), from number `row` on, `count` of them."""
    given = request.query_params
    first, count = _whole(given.get("row", "1"), "row", 2**31), _whole(given.get("count", "1"), "count", MOST)
    if given.get("file"):
        found = await _of_file(request, given["file"], first, count)
    else:
        found = await _of_run(request, given.get("run", ""), first, count)
    if not found:
        raise invalid(f"There is no row {first}: it has fewer.", "row")
    return answer({"rows": [{"item": item, "sample": _plain(sample)} for item, sample in found]})


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
        found = await asyncio.to_thread(read_rows)
    except InvalidData as error:
        words = str(error).removeprefix(f"{store.files.content(file.id)}: ")
        raise invalid(f"{file.filename}: {words}", "file") from None
    wrong = next((each for each in found if isinstance(each, InvalidData)), None)
    if wrong is not None:
        raise invalid(f"{file.filename}: {wrong}", "row")
    return [(each.item, each.sample) for each in found if isinstance(each, DataRow)]


async def _of_run(request: Request, named: str, first: int, count: int) -> list[tuple[Any, Any]]:
    """Its rows as they were graded: the items of its data source, and the samples there or what was sampled for it."""
    shared = state(request)
    eval_id, _, run_id = named.partition("/")
    run = await shared.store.runs.get(project(request), eval_id, run_id)
    if run is None:
        raise not_found("run", run_id)
    try:
        data_source = jsontext.decode(run.data_source)
        source = open_source(data_source, await find_file(shared.store, project(request), data_source))
        found = await asyncio.to_thread(lambda: list(islice(source.rows(), first - 1, first - 1 + count)))
    except InvalidSource:
        raise invalid("The file that this run was made from is gone, or has changed.", "run") from None
    sampled = {} if source.sampling is None else await _sampled(request, run, first - 1, first - 2 + count)
    return [(row.item, sampled.get(row.position, row.sample)) for row in found]


async def _sampled(request: Request, run: Run, first: int, last: int) -> dict[int, Any]:
    stored = await state(request).store.samples.get(run, first, last)
    return {index: Sampled.decode(body).sample for index, body in stored.items()}


def _whole(given: str, name: str, most: int) -> int:
    if not given.isascii() or not given.isdecimal() or len(given) > 10 or not 1 <= int(given) <= most:
        raise invalid(f"{name}: found {jsontext.quote(given)}. It takes a whole number from 1 to {most}.", name)
    return int(given)
