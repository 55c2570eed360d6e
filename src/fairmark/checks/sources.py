"""Where labelled rows come from: those that are sent along, or a file. Whoever adds another source adds it here: all
that is needed of one are its lines, `{"item": …, "sample": …, "label": …, "rater": …}`."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from fairmark import jsontext
from fairmark.errors import InvalidData
from fairmark.refusals import invalid, missing, wrong_type
from fairmark.store import Store
from fairmark.trust.labelled import Labelled, collect, read_lines

MOST_LINES = 50_000
MOST_BYTES = 64_000_000
_WANTED = 'It takes rows, a list of {"item": …, "sample": …, "label": …}, or file_id, a file of such lines.'


class LabelledSource(NamedTuple):
    """Labelled rows, and the same as they are kept with a check until it has ended."""

    name: str
    file_id: str | None
    labelled: Labelled
    content: bytes


async def find_labelled(store: Store, project: str, body: Mapping[str, Any], where: str = "") -> LabelledSource:
    """The rows that a body brings along or names; `where` it stands in the request. Raises ApiError."""
    rows, file_id = body.get("rows"), body.get("file_id")
    if (rows is None) == (file_id is None):
        if rows is None:
            raise missing(f"{where}rows", _WANTED)
        raise invalid(f"{where}rows and {where}file_id: take one of them.", f"{where}rows")
    if file_id is None:
        if not isinstance(rows, list):
            raise wrong_type(f"{where}rows", "a list of objects", rows)
        return await asyncio.to_thread(_read, enumerate(rows, 1), f"{where}rows", f"{where}rows", None)
    if not isinstance(file_id, str):
        raise wrong_type(f"{where}file_id", "the id of a file", file_id)
    file = await store.files.get(project, file_id)
    if file is None:
        raise invalid(
            f"{where}file_id: there is no file {jsontext.quote(file_id)}.", f"{where}file_id", "file_not_found"
        )
    if file.bytes > MOST_BYTES:
        raise invalid(
            f"{where}file_id: the file has {file.bytes:,} bytes. Labelled rows may have {MOST_BYTES:,}.",
            f"{where}file_id",
        )
    path = str(store.files.content(file.id))
    try:
        return await asyncio.to_thread(
            _read, read_lines(path, file.filename), file.filename, f"{where}file_id", file.id
        )
    except InvalidData as error:  # the file as a whole; where it lies is nobody's business
        raise invalid(str(error).replace(path, file.filename), f"{where}file_id") from None


def read_kept(content: bytes, name: str) -> Labelled:
    """The rows of `LabelledSource.content`."""
    return collect(((number, jsontext.decode(line)) for number, line in enumerate(content.splitlines(), 1)), name)


def _read(lines: Iterable[tuple[int, Any]], name: str, where: str, file_id: str | None) -> LabelledSource:
    """To be called in a thread."""
    kept: list[bytes] = []

    def noted() -> Iterator[tuple[int, Any]]:
        for number, line in lines:
            if len(kept) >= MOST_LINES:
                raise InvalidData(f"{name}: there are more than {MOST_LINES:,} lines in it, and no more are taken.")
            kept.append(jsontext.encode(line))
            yield number, line

    try:
        labelled = collect(noted(), name)
    except InvalidData as error:
        if file_id is not None:
            raise
        raise invalid(str(error), where) from None
    return LabelledSource(name, file_id, labelled, b"\n".join(kept))
