"""A file's values, whatever holds them: JSONL line by line, one JSON text, YAML or CSV.

JSONL is never read as a whole: a first pass remembers where each line stands, and a second one takes it from there.
"""

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from fairmark import jsontext
from fairmark.data.dataset import BOM, refuse_format
from fairmark.errors import InvalidData
from fairmark.moving.files import yamltext

MOST_JSON_BYTES = 256_000_000
"""Of one JSON text, which has to be read as a whole; JSONL may be of any size."""
MOST_LINE_BYTES = 64_000_000
_MANY_BYTES = 64 * 1024
_PIECE_BYTES = 1_000_000


class FileEntry(NamedTuple):
    """A value in a file, as it stands there."""

    place: str
    """`line 7`, or `[6]` in an array."""
    raw: bytes
    start: int
    """Where it can be read again: its offset in a file of lines, its number in an array."""

    def value(self) -> Any:
        """Raises InvalidData where it is no JSON."""
        try:
            return jsontext.decode(self.raw)
        except jsontext.NotJson as error:
            raise InvalidData(f"not JSON: {error}") from None


class Contents(NamedTuple):
    """What a file turned out to be."""

    kind: str
    """`lines`, `list` (a JSON array), `value` (one JSON or YAML document) or `text`."""
    value: Any
    """The document, where it is one; otherwise the first entry's, which tells what the others are."""
    entries: Callable[[], Iterator[FileEntry]]
    """From the start, as often as wanted."""
    again: Callable[[FileEntry], bytes]
    """The bytes of one whose bytes were not kept."""


def look(path: Path) -> Contents:
    """Opens a file and says what it is. Raises InvalidData for what nobody could convert, and why."""
    begin = _begin(path)
    start = begin.removeprefix(BOM).lstrip()
    if start[:1] == b"[":
        return _array(path, _whole(path))
    if start[:1] == b"{":
        return _lines(path) if _is_lines(path) else _object(path)
    content = _whole_text(path)
    return Contents("text", content, lambda: iter(()), lambda entry: entry.raw)


def _begin(path: Path) -> bytes:
    """How a file begins. Raises InvalidData for what is empty, binary or compressed."""
    try:
        with path.open("rb") as file:
            refuse_format(str(path), file)
            begin = file.read(_MANY_BYTES)
    except OSError as error:
        raise InvalidData.unusable(str(path), error) from None
    if not begin.strip():
        raise InvalidData(f"{path}: it is empty.")
    if begin[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InvalidData(f"{path}: it is written in UTF-16. Save it as UTF-8.")
    if b"\0" in begin:
        raise InvalidData(f"{path}: it is binary. It takes JSONL, JSON, YAML or CSV.")
    return begin


def _is_lines(path: Path) -> bool:
    """Whether the first line is an object by itself and another one follows, or it ends in .jsonl as people name it."""
    whole = False
    for _, line in _raw_lines(path):
        if whole:
            return True
        try:
            whole = isinstance(jsontext.decode(line), dict)
        except jsontext.NotJson:
            # Half a line of JSONL, or the first line of one large object: the name decides what is told.
            return path.suffix.lower() in (".jsonl", ".ndjson")
        if not whole:
            return False
    # A line alone: an object that stands in one, unless its maker meant lines.
    return path.suffix.lower() in (".jsonl", ".ndjson")


def _lines(path: Path) -> Contents:
    def entries() -> Iterator[FileEntry]:
        for number, (start, line) in enumerate(_raw_lines(path, blank=True), 1):
            if line:
                yield FileEntry(f"line {number}", line, start)

    def again(entry: FileEntry) -> bytes:
        with path.open("rb") as file:
            file.seek(entry.start)
            return file.readline().removeprefix(BOM).strip()

    return Contents("lines", _first_value(entries()), entries, again)


def _first_value(entries: Iterable[FileEntry]) -> Any:
    """Of the first that can be read; None where none can."""
    for entry in entries:
        with contextlib.suppress(InvalidData):
            return entry.value()
    return None


def _raw_lines(path: Path, blank: bool = False) -> Iterator[tuple[int, bytes]]:
    """Lines with their offsets, without what is around them. Raises InvalidData for one that has no end."""
    with path.open("rb") as file:
        start = 0
        while line := file.readline(MOST_LINE_BYTES):
            if len(line) == MOST_LINE_BYTES and not line.endswith(b"\n"):
                raise InvalidData(f"{path}, byte {start + 1}: a line of more than {MOST_LINE_BYTES:,} bytes.")
            content = (line.removeprefix(BOM) if not start else line).strip()
            if content or blank:
                yield start, content
            start += len(line)


def _array(path: Path, content: bytes) -> Contents:
    try:
        raws = [bytes(raw) for raw in msgspec.json.decode(content, type=list[msgspec.Raw])]
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        try:
            raws = [jsontext.encode(value) for value in jsontext.decode(content)]
        except jsontext.NotJson as error:
            raise InvalidData(f"{path}: not a JSON array: {error}.") from None
    return _listed(raws, "")


def listed(raws: list[bytes], place: str) -> Contents:
    """Values that stand in a list inside of a document, such as the `data` of a page."""
    return _listed(raws, place)


def _listed(raws: list[bytes], place: str) -> Contents:
    def entries() -> Iterator[FileEntry]:
        for index, raw in enumerate(raws):
            yield FileEntry(f"{place}[{index}]", raw, index)

    return Contents("list", _first_value(entries()), entries, lambda entry: raws[entry.start])


def _object(path: Path) -> Contents:
    content = _whole(path)
    try:
        value = jsontext.decode(content)
    except jsontext.NotJson as error:
        try:  # YAML may begin with a brace as well
            value = yamltext.decode(str(path), content)
        except InvalidData:
            raise InvalidData(f"{path}: not JSON: {error}.") from None
    return Contents("value", value, lambda: iter([FileEntry("", content, 0)]), lambda entry: content)


def _whole(path: Path) -> bytes:
    size = path.stat().st_size
    if size > MOST_JSON_BYTES:
        raise InvalidData(
            f"{path}: it is one JSON text of {size:,} bytes. At most {MOST_JSON_BYTES:,} are read as a whole; JSONL, a "
            f"value a line, may be of any size: jq -c '.[]' FILE > FILE.jsonl"
        )
    return path.read_bytes().removeprefix(BOM)


def _whole_text(path: Path) -> bytes:
    """What is no JSON: YAML or CSV, of which only the beginning is read here."""
    with path.open("rb") as file:
        return file.read(yamltext.MOST_BYTES + 1).removeprefix(BOM)


def digest_of(path: Path) -> str:
    """Of all that is in it."""
    digest = hashlib.sha256()
    with opened(path) as file:
        while piece := file.read(_PIECE_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def opened(path: Path) -> BinaryIO:
    """Raises InvalidData."""
    try:
        return path.open("rb")
    except OSError as error:
        raise InvalidData.unusable(str(path), error) from None
