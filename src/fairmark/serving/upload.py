"""A multipart upload, taken in as it comes: the file goes to disk in pieces, the fields into memory. Memory is flat."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.types import Receive

from fairmark import jsontext
from fairmark.errors import ApiError
from fairmark.refusals import invalid
from fairmark.serving.wire import ClientGone
from fairmark.store.base.contents import NewContent

if TYPE_CHECKING:  # it is only there for those who check types
    from python_multipart.multipart import MultipartCallbacks

PIECE_BYTES = 1_000_000
"""What is gathered before it is written: a trip to a thread costs as much as writing some hundred kilobytes."""
FIELD_BYTES = 64_000
FIELDS_AT_MOST = 32
NAME_LENGTH = 255

T = TypeVar("T")


class Upload:
    """One upload. `path` is where its file goes; nothing is left there unless the upload ends well."""

    def __init__(self, content_type: str, path: Path, limit: int) -> None:
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary")
        if kind != b"multipart/form-data" or not boundary:
            shown = jsontext.quote(content_type) if content_type else "nothing"
            raise invalid(f"Content-Type: found {shown}. A file is uploaded as multipart/form-data with a boundary.")
        callbacks: MultipartCallbacks = {
            "on_part_begin": self._begin_part,
            "on_part_data": self._take_data,
            "on_part_end": self._end_part,
            "on_header_field": self._take_header_name,
            "on_header_value": self._take_header_value,
            "on_header_end": self._end_header,
            "on_headers_finished": self._begin_data,
            "on_end": self._end,
        }
        try:
            self._parser = MultipartParser(boundary, callbacks)
        except FormParserError as error:
            raise invalid(f"Content-Type: {error}.") from None
        self.fields: dict[str, str] = {}
        self.filename: str | None = None
        self.size = 0
        self._content = NewContent(path)
        self._limit = limit
        self._ended = False
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._header = (b"", b"")
        self._disposition = b""
        self._name = ""
        self._in_file = False
        self._field = bytearray()

    async def receive(self, receive: Receive) -> None:
        """Raises ApiError, ClientGone, or StoreUnavailable where the disk takes no more."""
        try:
            await finished(self._content.open)
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise ClientGone
                self._parse(message.get("body", b""))
                if self._waiting_bytes >= PIECE_BYTES:
                    await finished(self._write)
                if not message.get("more_body", False):
                    break
            if not self._ended:
                raise invalid("The upload is cut off: its last boundary is missing.")
            if self.filename is not None:
                await finished(self._write)
                await finished(self._content.finish)
        except BaseException:
            await self.discard()
            raise

    async def discard(self) -> None:
        await finished(self._content.discard)

    def _parse(self, data: bytes) -> None:
        try:
            self._parser.write(data)
        except FormParserError as error:
            raise invalid(f"The body is not multipart/form-data: {error}.") from None

    def _write(self) -> None:
        self._content.write(b"".join(self._waiting))
        self._waiting.clear()
        self._waiting_bytes = 0

    # What the parser finds.

    def _begin_part(self) -> None:
        self._disposition, self._name, self._in_file = b"", "", False
        self._field.clear()

    def _take_header_name(self, data: bytes, start: int, end: int) -> None:
        self._header = (self._header[0] + data[start:end], self._header[1])

    def _take_header_value(self, data: bytes, start: int, end: int) -> None:
        self._header = (self._header[0], self._header[1] + data[start:end])

    def _end_header(self) -> None:
        name, value = self._header
        if name.lower() == b"content-disposition":
            self._disposition = value
        self._header = (b"", b"")

    def _begin_data(self) -> None:
        _, options = parse_options_header(self._disposition)
        self._name = options.get(b"name", b"").decode("utf-8", "replace")
        if self._name != "file":
            return
        filename = options.get(b"filename")
        if filename is None:
            raise invalid("file: it takes a file, with a filename.", "file", "invalid_type")
        if self.filename is not None:
            raise invalid("file: given twice. An upload holds one file.", "file")
        self.filename = base_name(filename.decode("utf-8", "replace"))
        self._in_file = True

    def _take_data(self, data: bytes, start: int, end: int) -> None:
        if not self._in_file:
            if len(self._field) + end - start > FIELD_BYTES:
                raise invalid(f"{jsontext.shorten(self._name)}: longer than {FIELD_BYTES // 1000} kB.")
            self._field += data[start:end]
            return
        self.size += end - start
        if self.size > self._limit:
            message = f"The file is longer than {self._limit // 1_000_000} MB."
            raise ApiError(413, message, param="file", code="request_too_large")
        self._waiting.append(data[start:end])
        self._waiting_bytes += end - start

    def _end_part(self) -> None:
        if self._in_file:
            return
        if len(self.fields) >= FIELDS_AT_MOST:
            raise invalid(f"The upload has more than {FIELDS_AT_MOST} fields.")
        self.fields[self._name] = self._field.decode("utf-8", "replace")

    def _end(self) -> None:
        self._ended = True


def base_name(filename: str) -> str:
    """The last part of a file's name, whatever system it comes from, without what cannot be printed."""
    last = filename.replace("\\", "/").rpartition("/")[2]
    printable = "".join(char for char in last if char.isprintable()).strip()
    return printable[:NAME_LENGTH] if printable not in ("", ".", "..") else "file"


async def finished(work: Callable[[], T]) -> T:
    """What the disk does, in a thread. Whoever is cancelled meanwhile waits for its end: a file that is opened after it
    was discarded would stay."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
