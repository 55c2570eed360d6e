"""From any file to an archive: what it is, by what is in it, and who converts it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from fairmark import jsontext
from fairmark.errors import InvalidData
from fairmark.moving.archive import FORMAT, MANIFEST, Archive
from fairmark.moving.files import (
    apidump,
    dashboard,
    evals_registry,
    promptfoo_config,
    promptfoo_results,
    reading,
    rows,
    yamltext,
)
from fairmark.moving.files.drafts import Accepted
from fairmark.moving.files.notes import FileReport
from fairmark.moving.files.reading import Contents, listed
from fairmark.moving.files.writing import Maker

TAKES = (
    "It takes a dashboard export (eval_items_*.jsonl), objects of the API, a config or results of promptfoo, the "
    "registry of openai/evals, or rows of Langfuse, LangSmith or Braintrust."
)


class Converter(NamedTuple):
    format: str
    convert: Callable[[Maker, str], None]


def convert(
    path: Path,
    archive: Archive,
    name: str | None = None,
    created_at: int | None = None,
    accept: Accepted | None = None,
) -> FileReport:
    """Makes an archive of a file, or of a folder that is a registry of openai/evals; says what came of it.

    `created_at` is the time of what has none of its own; without it, the file's. Ids come from the content alone.
    `accept`: drafts are made criteria like others.
    Raises InvalidData where nothing can be made of it; then `archive` has no manifest and is none. Raises OSError where
    the archive cannot be written.
    """
    if not path.exists():
        raise InvalidData(f"{path}: no such file.")
    if not path.is_dir() and not path.is_file():
        raise InvalidData(f"{path}: it is no plain file. Files are read twice: save it first.")
    converter = _of_folder(path) if path.is_dir() else _of_file(path)
    report = FileReport(converter.format, accepts_drafts=accept is not None)
    is_registry = converter.format == evals_registry.FORMAT
    source = evals_registry.FORMAT if is_registry else reading.digest_of(path)
    maker = Maker(archive, report, source, int(path.stat().st_mtime) if created_at is None else created_at, accept)
    try:
        converter.convert(maker, name or path.stem)
    except InvalidData as error:
        text = str(error)
        raise InvalidData(text if text.startswith(str(path)) else f"{path}: {text.rstrip('.')}.") from None
    maker.finish({"source": {"type": "file", "format": converter.format, "name": path.name, "digest": source}})
    return report


def _of_folder(path: Path) -> Converter:
    if (path / MANIFEST).is_file():
        raise InvalidData(f"{path}: it is an archive already. Load it: fairmark import load {path}")
    if not evals_registry.EvalsRegistry(path).files:
        raise InvalidData(f"{path}: a folder without evals/*.yaml in it. {TAKES}")
    return Converter(evals_registry.FORMAT, lambda maker, name: evals_registry.convert(path, maker))


def _of_file(path: Path) -> Converter:
    """Raises InvalidData for what is nothing we know."""
    contents = reading.look(path)
    if contents.kind == "text":
        tool = rows.tool_of_csv(contents.value)
        if tool is not None:
            return Converter(f"{tool} rows", lambda maker, name: rows.convert_csv(path, maker, name, tool))
        try:
            value = yamltext.decode(str(path), contents.value)
        except InvalidData:
            value = yamltext.decode(str(path), contents.value, last_wins=True)
            if not evals_registry.is_registry(value):
                raise
        return _of_document(path, value)
    if contents.kind == "value" and not apidump.is_object(contents.value):
        return _of_document(path, contents.value)
    return _of_entries(path, contents)


def _of_document(path: Path, value: Any) -> Converter:
    if isinstance(value, dict) and value.get("format") == FORMAT:
        raise InvalidData(f"{path}: it belongs to an archive. Load that: fairmark import load {path.parent}")
    if promptfoo_results.is_document(value):
        return Converter(
            promptfoo_results.FORMAT, lambda maker, name: promptfoo_results.convert_document(value, maker, name)
        )
    if evals_registry.is_registry(value):
        return Converter(evals_registry.FORMAT, lambda maker, name: evals_registry.convert(path, maker))
    if promptfoo_config.is_config(value):

        def config(maker: Maker, name: str) -> None:
            described = value.get("description")
            is_named = name != path.stem or not isinstance(described, str) or not described
            promptfoo_config.convert(value, maker, name if is_named else described)

        return Converter(promptfoo_config.FORMAT, config)
    if rows.is_page(value):
        return _of_entries(path, listed([jsontext.encode(row) for row in value["data"]], "data"))
    if isinstance(value, dict) and (rows.tool_of(value) or dashboard.is_row(value) or promptfoo_results.is_row(value)):
        return _of_entries(path, listed([jsontext.encode(value)], ""))
    if isinstance(value, list):
        return _of_entries(path, listed([jsontext.encode(row) for row in value], ""))
    raise _unknown(path, value)


def _of_entries(path: Path, contents: Contents) -> Converter:
    """Many values, of which the first that can be read says what they are."""
    first = contents.value
    if apidump.is_object(first):
        return Converter(apidump.FORMAT, lambda maker, name: apidump.convert(contents, maker, name))
    if dashboard.is_row(first):
        return Converter(dashboard.FORMAT, lambda maker, name: dashboard.convert(contents, maker, name))
    if promptfoo_results.is_row(first):
        return Converter(promptfoo_results.FORMAT, lambda maker, name: promptfoo_results.convert(contents, maker, name))
    if (tool := rows.tool_of(first)) is not None:
        return Converter(f"{tool} rows", lambda maker, name: rows.convert(contents, maker, name, tool))
    raise _unknown(path, first)


def _unknown(path: Path, value: Any) -> InvalidData:
    instead = jsontext.describe(value)
    if isinstance(value, dict):
        keys = ", ".join(jsontext.shorten(str(key), 30) for key in list(value)[:8])
        instead = f"an object with {keys or 'nothing in it'}"
    elif value is None:
        instead = "nothing that can be read"
    return InvalidData(f"{path}: not recognised: found {instead}. {TAKES}")
