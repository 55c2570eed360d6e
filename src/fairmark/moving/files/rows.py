"""Rows of Langfuse, LangSmith and Braintrust. Their graders are code, or prompts that they keep: only the rows come."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairmark import jsontext
from fairmark.data.dataset import DataFile, DataRow
from fairmark.errors import InvalidData
from fairmark.moving.files.notes import FileReport
from fairmark.moving.files.reading import Contents
from fairmark.moving.files.writing import Maker

TOOLS = ("Langfuse", "LangSmith", "Braintrust", "openai/evals samples")
NO_GRADERS = "graders do not come with rows, and none were made up. Make an eval of the file, with graders of yours."


def tool_of(value: Any) -> str | None:
    """Whose row it is; None where it is nobody's that we know."""
    if not isinstance(value, dict):
        return None
    keys = value.keys()
    if ("expectedOutput" in keys or "expected_output" in keys) and "input" in keys:
        return "Langfuse"
    if "inputs" in keys and ("outputs" in keys or "dataset_id" in keys):
        return "LangSmith"
    if any(key.startswith("inputs.") for key in keys) and any(key.startswith("outputs.") for key in keys):
        return "LangSmith"
    if {"input", "expected"} <= keys:
        return "Braintrust"
    if {"input", "ideal"} <= keys:
        return "openai/evals samples"
    return None


def is_page(value: Any) -> bool:
    """A page of Langfuse's API: {"data": […], "meta": {…}}."""
    return isinstance(value, dict) and isinstance(value.get("data"), list) and "meta" in value


def tool_of_csv(content: bytes) -> str | None:
    """By the header."""
    first = content.split(b"\n", 1)[0].decode("utf-8-sig", "replace").strip()
    try:
        header = next(csv.reader(io.StringIO(first)), [])
    except csv.Error:
        return None
    return tool_of(dict.fromkeys(header, ""))


def convert(contents: Contents, maker: Maker, name: str, tool: str) -> None:
    _write(maker, name, tool, _items(contents, maker.report, tool))


def convert_csv(path: Path, maker: Maker, name: str, tool: str) -> None:
    _write(maker, name, tool, _csv_items(path, maker.report))


def _write(maker: Maker, name: str, tool: str, items: Iterator[dict[str, Any]]) -> None:
    maker.add_rows("", f"{Path(name).stem or 'rows'}.jsonl", ({"item": item} for item in items))
    if not maker.report.made["rows"]:
        raise InvalidData("no row in it could be read")
    maker.report.note("told", "", f"{tool}: {NO_GRADERS}")


def _items(contents: Contents, report: FileReport, tool: str) -> Iterator[dict[str, Any]]:
    for entry in contents.entries():
        try:
            item = entry.value()
        except InvalidData as error:
            report.note("problem", entry.place, str(error))
            continue
        if tool_of(item) != tool:
            known = sorted(item) if isinstance(item, dict) else jsontext.describe(item)
            report.note("problem", entry.place, f"no row of {tool}, as those before it are: found {known}")
            continue
        yield item


def _csv_items(path: Path, report: FileReport) -> Iterator[dict[str, Any]]:
    for row in DataFile(str(path), split=lambda value: (value, None), name="rows.csv"):
        if isinstance(row, DataRow):
            yield {name: _cell(text) for name, text in row.item.items()}
        else:
            report.note("problem", "", str(row))


def _cell(text: str) -> Any:
    """An object or a list where the cell holds one in JSON; otherwise the text as it is."""
    if text[:1] not in ("{", "["):
        return text
    try:
        return jsontext.decode(text)
    except jsontext.NotJson:
        return text
