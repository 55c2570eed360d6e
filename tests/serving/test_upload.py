"""An upload taken in as it comes: its file on disk, its fields in memory, and nothing left where it breaks off."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from fairmark.errors import ApiError
from fairmark.serving.upload import FIELD_BYTES, FIELDS_AT_MOST, Upload, base_name
from fairmark.serving.wire import ClientGone
from tests.server.client import Server


def kept(server: Server) -> list[str]:
    """The names in the server's folder of files."""
    return sorted(path.name for path in (server.home / "files").glob("*"))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\\\Windows\\\\win.ini", "win.ini"),
        ("/", "file"),
        ("..", "file"),
        ("a\tb\x00.jsonl", "ab.jsonl"),
        ("été 日本.jsonl", "été 日本.jsonl"),
        ("x" * 500, "x" * 255),
    ],
)
def test_a_filename_is_only_a_name(given: str, kept: str) -> None:
    assert base_name(given) == kept


BOUNDARY = "a-boundary"


def uploaded(path: Path, content: list[bytes], limit: int = 1000) -> Upload:
    """An upload of these pieces of a body, received to its end."""
    upload = Upload(f"multipart/form-data; boundary={BOUNDARY}", path, limit)
    pieces = iter(content)
    last = len(content)
    count = 0

    async def receive() -> dict[str, Any]:
        nonlocal count
        count += 1
        piece = next(pieces, None)
        if piece is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": piece, "more_body": count < last or piece == b""}

    asyncio.run(upload.receive(receive))
    return upload


def part(name: str, value: bytes, filename: str | None = None) -> bytes:
    named = f'name="{name}"' + (f'; filename="{filename}"' if filename is not None else "")
    return f"--{BOUNDARY}\r\nContent-Disposition: form-data; {named}\r\n\r\n".encode() + value + b"\r\n"


END = f"--{BOUNDARY}--\r\n".encode()


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_the_file_is_on_disk_and_the_fields_are_in_memory_however_small_the_pieces_are(
    tmp_path: Path, size: int
) -> None:
    body = part("purpose", b"evals") + part("file", b"line 1\r\nline 2", "../a.jsonl") + END
    upload = uploaded(tmp_path / "kept", [body[at : at + size] for at in range(0, len(body), size)])
    assert (tmp_path / "kept").read_bytes() == b"line 1\r\nline 2"
    assert (upload.fields, upload.filename, upload.size) == ({"purpose": "evals"}, "a.jsonl", 14)
    asyncio.run(upload.discard())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (part("file", b"x", "a"), "The upload is cut off: its last boundary is missing."),
        (part("file", b"x" * 1001, "a") + END, "The file is longer than 0 MB."),
        (part("file", b"x") + END, "file: it takes a file, with a filename."),
        (part("file", b"x", "a") + part("file", b"y", "b") + END, "file: given twice. An upload holds one file."),
        (part("purpose", b"x" * (FIELD_BYTES + 1)) + END, "purpose: longer than 64 kB."),
        (
            b"".join(part(f"a{number}", b"1") for number in range(FIELDS_AT_MOST + 1)) + END,
            "The upload has more than 32 fields.",
        ),
        (b"nothing of the kind", None),
    ],
)
def test_what_is_wrong_with_a_form_is_told_and_nothing_is_left(
    tmp_path: Path, body: bytes, message: str | None
) -> None:
    with pytest.raises(ApiError) as refused:
        uploaded(tmp_path / "kept", [body])
    assert message in (None, str(refused.value))
    assert list(tmp_path.iterdir()) == []


def test_whoever_goes_away_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ClientGone):
        uploaded(tmp_path / "kept", [part("file", b"x", "a")[:60], b""])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content_type", ["", "application/json", "multipart/form-data"])
def test_only_a_form_with_a_boundary_is_an_upload(tmp_path: Path, content_type: str) -> None:
    with pytest.raises(ApiError, match="A file is uploaded as multipart/form-data with a boundary"):
        Upload(content_type, tmp_path / "kept", 1)
