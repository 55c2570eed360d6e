"""Rows out of a data file: JSONL, one JSON array, or CSV. JSONL and CSV are read line by line, whatever their size."""

import csv
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from fairmark import jsontext
from fairmark.errors import GradingFailed, InvalidData
from fairmark.row import split_row

BOM = b"\xef\xbb\xbf"
Split = Callable[[Any], tuple[Any, Any]]


class DataRow(NamedTuple):
    """A row of a data file. `number` counts from 1: the line in JSONL and CSV, the element in an array."""

    number: int
    item: Any
    sample: Any


class DataFile:
    """A data file by its path; `-` is standard input. Iterating reads it once, from the start to the end.

    `split` makes an item and a sample of each value in the file, or raises GradingFailed. `name` is what the file is
    called where it lies under another name: one that ends in .csv is CSV.
    """

    def __init__(self, path: str, split: Split = split_row, name: str | None = None) -> None:
        self.path = path
        self._split = split
        self._is_csv = (name or path).lower().endswith(".csv")
        self._stream: IO[bytes] | None = None
        self._size = 0

    def __iter__(self) -> Iterator[DataRow | InvalidData]:
        """The rows. One that cannot be read is given as the error it is; what concerns the whole file is raised."""
        with self._open() as self._stream:
            _refuse_format(self.path, self._stream)
            found = False
            rows = (
                _csv_rows(self.path, self._stream, self._split)
                if self._is_csv
                else _rows(self.path, self._stream, self._split)
            )
            for row in rows:
                found = True
                yield row
            if not found:
                raise InvalidData(f"{self.path}: there are no rows in it.")

    @property
    def share_read(self) -> float | None:
        """How much of the file has been read, from 0 to 1; None where nobody can know."""
        if not self._size or self._stream is None:
            return None
        return 1.0 if self._stream.closed else min(1.0, self._stream.tell() / self._size)

    @contextmanager
    def _open(self) -> Iterator[IO[bytes]]:
        if self.path == "-":
            yield sys.stdin.buffer
            return
        try:
            stream = Path(self.path).open("rb")  # noqa: SIM115  # closed below; only the opening may fail like this
            self._size = os.fstat(stream.fileno()).st_size
        except OSError as error:
            raise InvalidData.unusable(self.path, error) from None
        with stream:
            yield stream


_FORMATS = {
    b"PAR1": ("a Parquet file", "pandas.read_parquet(…).to_json('rows.jsonl', orient='records', lines=True)"),
    b"PK\x03\x04": ("an Excel workbook or a zip archive", "save the sheet as CSV"),
    b"\xd0\xcf\x11\xe0": ("an old Excel workbook", "save the sheet as CSV"),
    b"\x1f\x8b": ("compressed by gzip", "gunzip it, or: gunzip -c FILE | fairmark eval - …"),
    b"\x28\xb5\x2f\xfd": ("compressed by zstd", "decompress it"),
    b"BZh": ("compressed by bzip2", "decompress it"),
}
"""Files that people have rows in and that are not read, by how they begin."""


def _refuse_format(path: str, stream: IO[bytes]) -> None:
    """Raises InvalidData for what is neither JSON nor CSV, with its name and the way out."""
    peek = getattr(stream, "peek", None)
    begins = peek(8)[:8] if peek is not None else b""
    for magic, (name, advice) in _FORMATS.items():
        if begins.startswith(magic):
            raise InvalidData(f"{path}: it is {name}. Rows come as JSONL, a JSON array or CSV: {advice}.")


def _rows(path: str, stream: IO[bytes], split: Split) -> Iterator[DataRow | InvalidData]:
    lines = _lines(stream)
    for count, (number, line) in enumerate(lines):
        if not count and line[:1] == b"[":
            # No JSONL row begins with a bracket, so the file is one array.
            yield from _array_rows(path, b"".join([line, b"\n", *(rest + b"\n" for _, rest in lines)]), split)
            return
        yield _json_row(number, line, split)


def _lines(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers; a BOM, carriage returns and blanks around are gone."""
    for number, line in enumerate(stream, 1):
        text = (line.removeprefix(BOM) if number == 1 else line).strip()
        if text:
            yield number, text


def _json_row(number: int, line: bytes, split: Split) -> DataRow | InvalidData:
    try:
        return DataRow(number, *split(jsontext.decode(line)))
    except jsontext.NotJson as error:
        return InvalidData(f"line {number}: not JSON: {error}.", number)
    except GradingFailed as error:
        return InvalidData(f"line {number}: {error}", number)


def _array_rows(path: str, text: bytes, split: Split) -> Iterator[DataRow | InvalidData]:
    try:
        values = jsontext.decode(text)
    except jsontext.NotJson as error:
        raise InvalidData(f"{path}: not a JSON array: {error}.") from None
    for number, value in enumerate(values, 1):
        try:
            yield DataRow(number, *split(value))
        except GradingFailed as error:
            yield InvalidData(f"element {number}: {error}", number)


def _csv_rows(path: str, stream: IO[bytes], split: Split) -> Iterator[DataRow | InvalidData]:
    """Every value is a string. A row whose number of values is not the header's is bad."""
    csv.field_size_limit(sys.maxsize)
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
    reader = csv.reader(text)
    header: list[str] | None = None
    for values in reader:
        if not values:
            continue
        if header is None:
            header = values
            for separator, name in ((";", "semicolons"), ("\t", "tabs")):
                if len(values) == 1 and separator in values[0]:
                    raise InvalidData(f"{path}: its columns are separated by {name}. Write it with commas between.")
            continue
        number = reader.line_num
        broken = next((value for value in values if any("\udc80" <= char <= "\udcff" for char in value)), None)
        if broken is not None:
            yield InvalidData(f"line {number}: not UTF-8.", number)
        elif len(values) != len(header):
            yield InvalidData(f"line {number}: it has {len(values)} values, the header has {len(header)}.", number)
        else:
            yield DataRow(number, *split(dict(zip(header, values, strict=True))))
    text.detach()
