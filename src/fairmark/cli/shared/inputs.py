"""What users hand to commands: files, `-` for standard input, `@FILE`, or the thing itself."""

import sys
from pathlib import Path
from typing import Any

from fairmark import jsontext
from fairmark.errors import InvalidData
from fairmark.registry.named import specify_content, specify_named
from fairmark.spec import GraderSpec


def read_bytes(path: str) -> bytes:
    """A file's content, `-` being standard input."""
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InvalidData.unusable(path, error) from None
    except ValueError:
        raise InvalidData(f"{jsontext.quote(path)}: not a file name.") from None


def read_text(text: str) -> str:
    """The text itself, or with a leading @ the content of the file of that name."""
    if not text.startswith("@"):
        return text
    try:
        return read_bytes(text[1:]).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidData(f"{text[1:]}: byte {error.start + 1} is not UTF-8.") from None


def read_object(option: str, text: str) -> dict[str, Any]:
    """A JSON object, given as text or as @FILE."""
    value: dict[str, Any] = read_json(option, text, (dict,))
    return value


def read_json(option: str, text: str, types: tuple[type, ...]) -> Any:
    """A JSON value of one of these types, the first of them an object, given as text or as @FILE."""
    try:
        value = jsontext.decode(read_text(text))
    except jsontext.NotJson as error:
        raise InvalidData(f"{option}: not JSON: {error}.") from None
    if not isinstance(value, types):
        raise InvalidData(f"{option}: expected an object, found {jsontext.describe(value)}.")
    return value


def read_grader(text: str) -> GraderSpec:
    """A grader from a JSON file, from standard input (`-`), from JSON text, or by its key in the registry.

    `key:exact-match` is its newest version, `key:exact-match@2` the second. Raises with the file's name.
    """
    return specify_content(read_bytes(text), text) if text == "-" else specify_named(text)
