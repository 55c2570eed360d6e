"""A run's rows as a file: JSON lines as the API has them, or a table for spreadsheets. A few rows at a time."""

import csv
import io
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from fairmark import jsontext
from fairmark.evals.foreign import readable
from fairmark.serving.named import named_eval, named_run
from fairmark.serving.wire import state
from fairmark.store import Run
from fairmark.web.runs.outputs import outcome_of, said_in

LONGEST_NAME = 60
MOST_FIELDS = 100
"""How many of an item's fields get columns of their own."""
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
# Also what some spreadsheets read as these: their full-width forms, and what stands behind a line break.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


async def jsonl(request: Request) -> Response:
    """Each row's output item, one a line, byte for byte as the API gives it."""
    run = await named_run(request, with_source=False)
    return _file(run, "jsonl", "application/jsonl", _lines(request, run))


async def table(request: Request) -> Response:
    """A row's number and status, its item, its sample, and of each criterion the reward, the outcome and the error.

    The columns follow from the eval alone, so that tables of two runs fit together.
    """
    eval_, run = await named_eval(request), await named_run(request, with_source=False)
    fields = _fields(eval_.data_source_config)
    return _file(run, "csv", "text/csv; charset=utf-8", _table(request, run, eval_.criteria, fields))


def _fields(config: dict[str, Any]) -> list[str]:
    """The fields of an item that the eval's schema names."""
    match config:
        case {"schema": {"properties": {"item": {"properties": dict() as properties}}}}:
            return list(properties)[:MOST_FIELDS]
        case _:
            return []


async def _lines(request: Request, run: Run) -> AsyncIterator[bytes]:
    async for items in state(request).store.rows.stream(run):
        yield b"".join(item.body + b"\n" for item in items)


async def _table(
    request: Request, run: Run, criteria: Sequence[dict[str, Any]], fields: Sequence[str]
) -> AsyncIterator[bytes]:
    heads = [f"{criterion['name']} {what}" for criterion in criteria for what in ("reward", "outcome", "error")]
    yield _csv([["row", "status", *(f"item.{name}" for name in fields), "item", "sample", "model", *heads]])
    async for items in state(request).store.rows.stream(run):
        yield _csv(_cells(readable(item.body, criteria), criteria, fields) for item in items)


def _cells(body: dict[str, Any], criteria: Sequence[dict[str, Any]], fields: Sequence[str]) -> list[Any]:
    item, sample = body["datasource_item"], body["sample"]
    results = {result["name"]: result for result in body["results"]}
    cells = [body["datasource_item_id"], body["status"], *(item.get(name) for name in fields)]
    cells += [jsontext.write(item), said_in(sample), sample["model"]]
    for criterion in criteria:
        result = results.get(criterion["id"])
        cells += [None] * 3 if result is None else [result["score"], outcome_of(result), result["error"]]
    return cells


def _csv(rows: Iterable[Sequence[Any]]) -> bytes:
    out = io.StringIO()
    csv.writer(out).writerows([cell(value) for value in row] for row in rows)
    return out.getvalue().encode("utf-8", "replace")


def cell(value: Any) -> Any:
    """A value as a spreadsheet may have it: no text of a row may become a formula there.

    A text that a spreadsheet would take for one gets an apostrophe before it, which spreadsheets know as "this is
    text". What reads as a number, such as -1.5, is left alone.
    """
    match value:
        case None:
            return ""
        case bool() | dict() | list():
            return jsontext.write(value)
        case str() if value.startswith(_FORMULA) and not _NUMBER.fullmatch(value):
            return f"'{value}"
        case _:
            return value


def filename(run: Run, ending: str) -> str:
    """The run's name as far as every system can have it in a file's; its id where nothing is left."""
    words = re.findall(r"[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*", run.name)
    return f"{'-'.join(words)[:LONGEST_NAME].strip('-.') or run.id}.{ending}"


def _file(run: Run, ending: str, kind: str, content: AsyncIterator[bytes]) -> Response:
    headers = {
        "content-disposition": f'attachment; filename="{filename(run, ending)}"',
        # As it is: to compress hundreds of megabytes would keep everybody else waiting.
        "content-encoding": "identity",
    }
    return StreamingResponse(content, media_type=kind, headers=headers)
