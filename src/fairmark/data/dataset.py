"""Rows out of a data file: JSONL, one JSON array, or CSV. JSONL and CSV are read line by line, whatever their size.

Where a user says so about a file of his own (`Told`), compressed ones, Parquet, Arrow and databases are read as well.
"""

import csv
import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from fairmark import jsontext
from fairmark.data import formats
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
    called where it lies under another name: one that ends in .csv is CSV. Without `told` it is somebody else's: plain
    JSON and CSV, and nothing that could be much larger inside than it is. `decode` reads a JSON text.
    """

    def __init__(
        self,
        path: str,
        split: Split = split_row,
        name: str | None = None,
        told: formats.Told | None = None,
        decode: Callable[[bytes], Any] = jsontext.decode,
    ) -> None:
        self.path = path
        self._decode = decode
        self._split = split if told is None or not told.columns else lambda row: split(told.renamed(row))
        self._told = told
        bare = (name or path).lower() if told is None else formats.bare_name(name or path)
        self._is_csv = bare.endswith(".csv") or (told is not None and bare.endswith((".tsv", ".tab")))
        self._separator = told.separator if told is not None else None
        if self._separator is None:
            self._separator = "\t" if bare.endswith((".tsv", ".tab")) else ","
        self._is_csv = self._is_csv or (told is not None and told.separator is not None)
        self._is_columnar = told is not None and bare.endswith(formats.COLUMNAR)
        self._share = 0.0
        self._stream: IO[bytes] | None = None
        self._size = 0

    def __iter__(self) -> Iterator[DataRow | InvalidData]:
        """The rows. One that cannot be read is given as the error it is; what concerns the whole file is raised."""
        has_rows = False
        for row in self._read():
            has_rows = True
            yield row
        if not has_rows:
            raise InvalidData(f"{self.path}: there are no rows in it.")

    def _read(self) -> Iterator[DataRow | InvalidData]:
        told = self._told
        if told is not None and told.sql is None and "://" in self.path and not Path(self.path).exists():
            raise InvalidData(f"{self.path}: a database takes the query of its rows: --sql 'select …'.")
        if told is not None and told.sql is not None:
            yield from _value_rows(formats.query_rows(self.path, told.sql), self._split, "row")
        elif self._is_columnar:
            yield from _value_rows(formats.columnar_rows(self.path, self._note_share), self._split, "row")
        elif told is None:
            with self._open() as self._stream:
                refuse_format(self.path, self._stream)
                yield from self._lines(self._stream)
        else:
            with self._open() as self._stream:
                if self.path != "-" and formats.is_columnar(self._stream):
                    self._is_columnar = True
                    yield from _value_rows(formats.columnar_rows(self.path, self._note_share), self._split, "row")
                    return
                stream = formats.unpacked(self.path, self._stream)
                try:
                    refuse_format(self.path, stream, told.encoding)
                    yield from self._lines(stream)
                except Exception as error:
                    if stream is self._stream or not formats.torn(error):
                        raise
                    raise InvalidData(f"{self.path}: its compression is broken or cut off: {error}.") from None

    def _lines(self, stream: IO[bytes]) -> Iterator[DataRow | InvalidData]:
        encoding = "utf-8" if self._told is None else self._told.encoding
        if self._is_csv:
            return _csv_rows(self.path, stream, self._split, self._separator or ",", encoding, self._told is not None)
        lines = stream if is_utf8(encoding) else _recoded(self.path, stream, encoding)
        return self._json_rows(lines)

    def _json_rows(self, stream: Iterable[bytes]) -> Iterator[DataRow | InvalidData]:
        lines = _lines(stream)
        for count, (number, line) in enumerate(lines):
            if not count and line[:1] == b"[":
                # No JSONL row begins with a bracket, so the file is one array.
                yield from self._array_rows(b"".join([line, b"\n", *(rest + b"\n" for _, rest in lines)]))
                return
            row = self._json_row(number, line)
            if self._told is not None and type(row) is InvalidData:
                row = InvalidData(f"{row}{_advice(self.path, number, str(row))}", row.row)
            yield row

    def _json_row(self, number: int, line: bytes) -> DataRow | InvalidData:
        try:
            return DataRow(number, *self._split(self._decode(line)))
        except jsontext.NotJson as error:
            return InvalidData(f"line {number}: not JSON: {error}.", number)
        except GradingFailed as error:
            return InvalidData(f"line {number}: {error}", number)

    def _array_rows(self, text: bytes) -> Iterator[DataRow | InvalidData]:
        try:
            for number, value in enumerate(self._decode(text), 1):
                try:
                    row = DataRow(number, *self._split(value))
                except GradingFailed as error:
                    yield InvalidData(f"element {number}: {error}", number)
                else:
                    yield row
        except jsontext.NotJson as error:
            raise InvalidData(f"{self.path}: not a JSON array: {error}.") from None

    def _note_share(self, share: float) -> None:
        self._share = share

    @property
    def share_read(self) -> float | None:
        """How much of the file has been read, from 0 to 1; None where nobody can know."""
        if self._is_columnar:
            return self._share or None
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
    b"SQLite f": ("a SQLite database", "ask for them: fairmark eval sqlite:///FILE --sql 'select …'"),
}
"""Files that people have rows in and that are not read, by how they begin."""


def refuse_format(path: str, stream: IO[bytes], encoding: str | None = None) -> None:
    """Raises InvalidData for what is neither JSON nor CSV, with its name and the way out.

    `encoding`: what the user says of it, where he can; a text may then begin as UTF-16 does.
    """
    peek = getattr(stream, "peek", None)
    begins = peek(8)[:8] if peek is not None else b""
    if begins.startswith((b"\xff\xfe", b"\xfe\xff")) and (encoding is None or is_utf8(encoding)):
        advice = "Save it as UTF-8." if encoding is None else "Say so: --encoding utf-16."
        raise InvalidData(f"{path}: it is encoded as UTF-16. {advice}")
    for magic, (name, advice) in _FORMATS.items():
        if begins.startswith(magic):
            raise InvalidData(f"{path}: it is {name}. Rows come as JSONL, a JSON array or CSV: {advice}.")


def is_utf8(encoding: str) -> bool:
    return encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig")


def _recoded(path: str, stream: IO[bytes], encoding: str) -> Iterator[bytes]:
    """The lines of a text in another encoding, as UTF-8."""
    try:
        text = io.TextIOWrapper(stream, encoding=encoding, newline="\n")
    except LookupError:
        raise InvalidData(f"--encoding: there is no encoding {jsontext.quote(encoding)}.") from None
    try:
        for line in text:
            yield line.encode("utf-8", "surrogatepass")
    except UnicodeError as error:
        raise InvalidData(f"{path}: it is not {encoding}: {error}.") from None
    finally:
        text.detach()


def _value_rows(values: Iterator[Any], split: Split, name: str) -> Iterator[DataRow | InvalidData]:
    for number, value in enumerate(values, 1):
        try:
            yield DataRow(number, *split(value))
        except GradingFailed as error:
            yield InvalidData(f"{name} {number}: {error}", number)


def _advice(path: str, number: int, problem: str) -> str:
    """Which option says how a line can be read, where one does."""
    if "not UTF-8" in problem:
        return " Say which encoding it is: --encoding latin-1, for instance."
    return " CSV on standard input takes --separator ','." if path == "-" and number == 1 else ""


def _lines(stream: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers; a BOM, carriage returns and blanks around are gone."""
    for number, line in enumerate(stream, 1):
        text = (line.removeprefix(BOM) if number == 1 else line).strip()
        if text:
            yield number, text


def _csv_rows(
    path: str, stream: IO[bytes], split: Split, separator: str, encoding: str, can_be_told: bool
) -> Iterator[DataRow | InvalidData]:
    """Every value is a string. A row whose number of values is not the header's is bad."""
    csv.field_size_limit(sys.maxsize)
    if is_utf8(encoding):
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
    else:
        recoded = (line.decode("utf-8", "surrogatepass") for line in _recoded(path, stream, encoding))
        yield from _csv_values(path, csv.reader(recoded, delimiter=separator), split, separator, can_be_told)
        return
    try:
        yield from _csv_values(path, csv.reader(text, delimiter=separator), split, separator, can_be_told)
    finally:  # also where nobody reads on: closing it is for whoever opened it
        text.detach()


def _csv_values(
    path: str, reader: Any, split: Split, separator: str, can_be_told: bool
) -> Iterator[DataRow | InvalidData]:
    header: list[str] | None = None
    for values in reader:
        if not values:
            continue
        if header is None:
            header = values
            twice = formats.repeated(values)
            if twice is not None:
                raise InvalidData(f"{path}: two of its columns are called {jsontext.quote(twice)}. Rename one of them.")
            for other, name in ((";", "semicolons"), ("\t", "tabs"), (",", "commas"), ("|", "bars")):
                if len(values) == 1 and other != separator and other in values[0]:
                    shown = "'\\t'" if other == "\t" else f"'{other}'"
                    advice = f"Say so: --separator {shown}." if can_be_told else "Write it with commas between."
                    raise InvalidData(f"{path}: its columns are separated by {name}. {advice}")
            continue
        number = reader.line_num
        broken = next((value for value in values if any("\udc80" <= char <= "\udcff" for char in value)), None)
        if broken is not None:
            more = " Say which encoding it is: --encoding latin-1, for instance." if can_be_told else ""
            yield InvalidData(f"line {number}: not UTF-8.{more}", number)
        elif len(values) != len(header):
            yield InvalidData(f"line {number}: it has {len(values)} values, the header has {len(header)}.", number)
        else:
            try:
                yield DataRow(number, *split(dict(zip(header, values, strict=True))))
            except GradingFailed as error:
                yield InvalidData(f"line {number}: {error}", number)
