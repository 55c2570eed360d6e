"""Rows out of files that are neither JSON nor CSV, and out of databases. What reads them is imported when needed.

Nothing here is read whole: a file of any size takes the memory of some thousand rows.
"""

import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import IO, Any
from urllib.parse import urlsplit

from fairmark import frames, jsontext
from fairmark.errors import GradingFailed, InvalidData

BATCH_ROWS = 4096
COLUMNAR = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
INSTALL = "pip install 'fairmark[data]'"
_PACKED_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Told:
    """What a user says about a data file: nothing of it is guessed."""

    separator: str | None = None
    """Between the columns of CSV; a comma without it, a tab in .tsv."""
    encoding: str = "utf-8"
    columns: Mapping[str, str] = field(default_factory=dict)
    """Field -> the column it is read from."""
    sql: str | None = None
    """The file is a database, and these are the rows."""

    def renamed(self, row: Any) -> Any:
        """The row with its fields under the names that graders use. Raises GradingFailed where one is not there."""
        if not self.columns or not isinstance(row, Mapping):
            return row
        inside = row.get("item") if isinstance(row.get("item"), Mapping) else None
        whole, item = dict(row), dict(inside or {})
        taken = {name: _taken(whole, item, name, column) for name, column in self.columns.items()}
        for column in self.columns.values():
            if whole.pop(column, None) is None:
                item.pop(column, None)
        for name, value in taken.items():
            (item if inside is not None and name != "sample" else whole)[name] = value
        return whole if inside is None else {**whole, "item": item}


def _taken(whole: Mapping[str, Any], item: Mapping[str, Any], name: str, column: str) -> Any:
    for fields in (whole, item):
        if column in fields:
            return fields[column]
    known = ", ".join(jsontext.shorten(str(key), 40) for key in [*whole, *item][:20])
    raise GradingFailed(f"{name}={column}: this row has no field {jsontext.quote(column)}. It has: {known}.")


def read_columns(options: list[str]) -> dict[str, str]:
    """`answer=expected` as {"answer": "expected"}. Raises InvalidData."""
    columns: dict[str, str] = {}
    for option in options:
        name, sign, column = option.partition("=")
        if not sign or not name or not column:
            shown = jsontext.quote(option)
            raise InvalidData(f"--map: found {shown}. It takes FIELD=COLUMN, such as answer=expected.")
        columns[name] = column
    return columns


def bare_name(name: str) -> str:
    """The name in lower case without what tells of its compression."""
    name = name.lower()
    return name.removesuffix(".gz").removesuffix(".zst")


def is_columnar(stream: IO[bytes]) -> bool:
    """Whether a file begins as Parquet and Arrow files do."""
    return isinstance(stream, io.BufferedReader) and stream.peek(6)[:6].startswith((b"PAR1", b"ARROW1"))


def unpacked(path: str, stream: IO[bytes]) -> IO[bytes]:
    """The stream, decompressed where it begins like one that is. Raises InvalidData where nothing here can."""
    begins = stream.peek(4)[:4] if isinstance(stream, io.BufferedReader) else b""
    if begins.startswith(b"\x1f\x8b"):
        import gzip

        return io.BufferedReader(gzip.GzipFile(fileobj=stream))
    if begins.startswith(b"\x28\xb5\x2f\xfd"):
        try:
            import zstandard
        except ImportError:
            raise InvalidData(f"{path}: it is compressed by zstd, which takes a package: {INSTALL}.") from None
        return io.BufferedReader(_Unzstd(stream, zstandard.ZstdDecompressor().decompressobj))
    return stream


class _Unzstd(io.RawIOBase):
    """What zstd compressed, frame after frame. The package's own reader takes a file that is cut off for one that ends
    there: rows would be lost, and nobody told."""

    def __init__(self, stream: IO[bytes], begin_frame: Callable[[], Any]) -> None:
        self._stream = stream
        self._begin_frame = begin_frame
        self._frame: Any = None
        self._packed = b""
        self._plain = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._plain:
            packed = self._packed or self._stream.read(_PACKED_BYTES)
            if not packed and self._frame is None:
                return 0
            if not packed:
                raise EOFError("it ends within a frame")
            if self._frame is None:
                self._frame = self._begin_frame()
            self._plain, self._packed = memoryview(self._frame.decompress(packed)), b""
            if self._frame.eof:
                self._packed, self._frame = self._frame.unused_data, None
        size = min(len(buffer), len(self._plain))
        buffer[:size], self._plain = self._plain[:size], self._plain[size:]
        return size


def torn(error: BaseException) -> bool:
    """Whether it says that a compressed file is cut off or broken."""
    return isinstance(error, (EOFError, OSError)) or type(error).__name__ in ("ZstdError", "error")


def columnar_rows(path: str, read: Callable[[float], None]) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet or Arrow file. `read` is told how much of it is done."""
    try:
        import pyarrow
        from pyarrow import ipc, parquet
    except ImportError:
        raise InvalidData(f"{path}: Parquet and Arrow files take a package: {INSTALL}.") from None
    try:
        with open(path, "rb") as stream:  # noqa: PTH123  # as pyarrow wants it
            if stream.read(4) == b"PAR1":
                whole = parquet.ParquetFile(path)
                batches, rows = whole.iter_batches(batch_size=BATCH_ROWS, use_threads=False), whole.metadata.num_rows
            else:
                stream.seek(0)
                batches, rows = _arrow_batches(pyarrow, ipc, path), 0
        done, is_plain = 0, None
        for batch in batches:
            if is_plain is None:
                is_plain = _is_plain(batch.schema, path)
            rows_here = batch.to_pylist()
            yield from rows_here if is_plain else map(frames.as_json, rows_here)
            done += batch.num_rows
            if rows:
                read(done / rows)
    except InvalidData:
        raise
    except (pyarrow.ArrowException, ValueError) as error:
        raise InvalidData(f"{path}: {jsontext.shorten(str(error), 200)}") from None
    except OSError as error:
        raise InvalidData.unusable(path, error) from None


def _arrow_batches(pyarrow: Any, ipc: Any, path: str) -> Iterator[Any]:
    with pyarrow.memory_map(path) as source:
        try:
            reader = ipc.open_file(source)
        except pyarrow.ArrowInvalid:
            source.seek(0)
            yield from ipc.open_stream(source)
            return
        for index in range(reader.num_record_batches):
            yield reader.get_batch(index)


_ODD = ("timestamp", "date", "time", "duration", "decimal")


def _is_plain(schema: Any, path: str) -> bool:
    """Whether all its values are as JSON has them already. Raises InvalidData for bytes, which JSON cannot have, and
    for two columns of one name, of which a row would have only one."""
    twice = repeated(schema.names)
    if twice is not None:
        raise InvalidData(f"{path}: two of its columns are called {jsontext.quote(twice)}. Rename one of them.")
    for column in schema:
        if str(column.type) in ("binary", "large_binary"):
            name = jsontext.quote(column.name)
            raise InvalidData(f"{path}: the column {name} holds bytes. Leave it out, or make a text of it.")
    return not any(kind in str(column.type) for column in schema for kind in _ODD)


def query_rows(url: str, sql: str) -> Iterator[dict[str, Any]]:
    """The rows of a query. Raises InvalidData for what the database says against it."""
    scheme = urlsplit(url).scheme
    try:
        if scheme.startswith("sqlite"):
            yield from _sqlite_rows(url.partition(":///")[2], sql)
        elif scheme == "duckdb":
            yield from _duckdb_rows(url.partition(":///")[2], sql)
        else:
            yield from _other_rows(url, sql, scheme)
    except (InvalidData, GeneratorExit):
        raise
    except Exception as error:  # each driver has errors of its own
        raise InvalidData(f"--sql: {jsontext.shorten(str(error).splitlines()[0], 300)}") from None


def _sqlite_rows(path: str, sql: str) -> Iterator[dict[str, Any]]:
    import sqlite3
    from urllib.parse import quote

    if not os.path.exists(path):  # noqa: PTH110
        raise InvalidData(f"{path}: no such file. A URL is sqlite:///rows.db, or sqlite:////absolute/rows.db.")
    with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)) as connection:
        yield from _cursor_rows(connection.execute(sql))


def _duckdb_rows(path: str, sql: str) -> Iterator[dict[str, Any]]:
    try:
        import duckdb
    except ImportError:
        raise InvalidData(f"duckdb: it takes a package: {INSTALL}.") from None
    connection = duckdb.connect(path or ":memory:", read_only=bool(path))
    with closing(connection):
        yield from _cursor_rows(connection.execute(sql))


def _other_rows(url: str, sql: str, scheme: str) -> Iterator[dict[str, Any]]:
    if not scheme or "://" not in url:
        shown = jsontext.quote(url)
        raise InvalidData(f"--sql: found {shown}. DATA is then a URL: sqlite:///rows.db, duckdb:///rows.duckdb, …")
    try:
        import sqlalchemy
    except ImportError:
        raise InvalidData(f"{scheme}: such a database takes sqlalchemy and its driver.") from None
    try:
        engine = sqlalchemy.create_engine(url)
    except ModuleNotFoundError as error:
        raise InvalidData(f"{scheme}: its driver is not installed: {error.name}.") from None
    with engine.connect().execution_options(stream_results=True) as connection:
        result = connection.execute(sqlalchemy.text(sql))
        if not result.returns_rows:
            raise InvalidData(NO_ROWS)
        yield from _named_rows(list(result.keys()), iter(lambda: result.fetchmany(BATCH_ROWS), []))


NO_ROWS = "--sql: it gives no rows. Use a SELECT."


def _cursor_rows(cursor: Any) -> Iterator[dict[str, Any]]:
    if cursor.description is None:
        raise InvalidData(NO_ROWS)
    names = [column[0] for column in cursor.description]
    return _named_rows(names, iter(lambda: cursor.fetchmany(BATCH_ROWS), []))


def _named_rows(names: list[str], batches: Iterator[Any]) -> Iterator[dict[str, Any]]:
    twice = repeated(names)
    if twice is not None:
        raise InvalidData(f"--sql: two columns are called {jsontext.quote(twice)}. Name one of them: … AS other.")
    for batch in batches:
        for row in batch:
            values = [frames.as_json(value) for value in row]
            for name, value in zip(names, values, strict=True):
                if isinstance(value, (bytes, bytearray, memoryview)):
                    raise InvalidData(f"--sql: the column {jsontext.quote(name)} holds bytes. Leave it out.")
            yield dict(zip(names, values, strict=True))


def repeated(names: Iterable[str]) -> str | None:
    """The first name that stands there a second time; None without one."""
    seen: set[str] = set()
    return next((name for name in names if name in seen or seen.add(name)), None)  # type: ignore[func-returns-value]
