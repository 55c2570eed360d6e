"""What users hand to commands: files, `-` for standard input, `@FILE`, or the thing itself."""

import sys
from pathlib import Path
from typing import Any

from fairmark import jsontext, references
from fairmark.errors import InvalidData, InvalidGrader, Problem
from fairmark.registry.specify import specify
from fairmark.spec import GraderSpec

BY_KEY = "key:"
"""What a grader of the registry begins with, where a file could stand too."""


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


def read_text(given: str) -> str:
    """The text itself, or with a leading @ the content of the file of that name."""
    if not given.startswith("@"):
        return given
    try:
        return read_bytes(given[1:]).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidData(f"{given[1:]}: byte {error.start + 1} is not UTF-8.") from None


def read_object(option: str, given: str) -> dict[str, Any]:
    """A JSON object, given as text or as @FILE."""
    value: dict[str, Any] = read_json(option, given, (dict,))
    return value


def read_json(option: str, given: str, types: tuple[type, ...]) -> Any:
    """A JSON value of one of these types, the first of them an object, given as text or as @FILE."""
    try:
        value = jsontext.decode(read_text(given))
    except jsontext.NotJson as error:
        raise InvalidData(f"{option}: not JSON: {error}.") from None
    if not isinstance(value, types):
        raise InvalidData(f"{option}: expected an object, found {jsontext.describe(value)}.")
    return value


def read_grader(given: str) -> GraderSpec:
    """A grader from a JSON file, from standard input (`-`), from JSON text, or by its key in the registry.

    `key:exact-match` is its newest version, `key:exact-match@2` the second. Raises with the file's name.
    """
    if given.startswith(BY_KEY):
        return specify(_reference(given.removeprefix(BY_KEY)))
    inline = given.lstrip().startswith("{")
    content = given.encode("utf-8", "surrogatepass") if inline else read_bytes(given)
    try:
        return specify(content.removeprefix(b"\xef\xbb\xbf"))
    except InvalidGrader as error:
        where = "the grader" if inline else given
        raise InvalidGrader([Problem(f"{where}: {problem.path}", *problem[1:]) for problem in error.problems]) from None


def _reference(given: str) -> dict[str, Any]:
    key, _, version = given.partition("@")
    number = int(version) if version.isascii() and version.isdecimal() and len(version) < 10 else version
    return {"type": references.TYPE, "key": key, **({"version": number} if version else {})}
