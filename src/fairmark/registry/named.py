"""A grader as people name it: a file, its JSON, or its key in the registry."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fairmark import jsontext, references
from fairmark.errors import InvalidData, InvalidGrader, Problem
from fairmark.registry.specify import specify
from fairmark.spec import GraderSpec

BY_KEY = "key:"
"""What a grader of the registry begins with, where a file could stand too."""


def specify_named(text: str) -> GraderSpec:
    """`key:exact-match` is its newest version, `key:exact-match@2` the second; what begins with { is JSON; the rest
    are files. Raises InvalidData, or InvalidGrader with the file's name."""
    if text.startswith(BY_KEY):
        return specify(_reference(text.removeprefix(BY_KEY)))
    if text.lstrip().startswith("{"):
        return specify_content(text.encode("utf-8", "surrogatepass"), "the grader")
    try:
        return specify_content(Path(text).read_bytes(), text)
    except OSError as error:
        raise InvalidData.unusable(text, error) from None
    except ValueError as error:
        if isinstance(error, InvalidGrader):
            raise
        raise InvalidData(f"{jsontext.quote(text)}: not a file name.") from None


def labelled(graders: Iterable[tuple[str, GraderSpec]]) -> dict[str, GraderSpec]:
    """Graders by label: its own name, else that of the file it was named by, made unique."""
    labels: dict[str, GraderSpec] = {}
    for text, spec in graders:
        is_file = text not in ("", "-") and not text.lstrip().startswith("{") and not text.startswith(BY_KEY)
        label = base = Path(text).stem if spec.name == spec.type and is_file else spec.name
        count = 1
        while label in labels:
            count += 1
            label = f"{base} ({count})"
        labels[label] = spec
    return labels


def specify_content(content: bytes, name: str) -> GraderSpec:
    """The grader in a file of that name. Raises InvalidGrader, which says it."""
    try:
        return specify(content.removeprefix(b"\xef\xbb\xbf"))
    except InvalidGrader as error:
        raise InvalidGrader([Problem(f"{name}: {problem.path}", *problem[1:]) for problem in error.problems]) from None


def _reference(text: str) -> dict[str, Any]:
    key, _, version = text.partition("@")
    number = int(version) if version.isascii() and version.isdecimal() and len(version) < 10 else version
    return {"type": references.TYPE, "key": key, **({"version": number} if version else {})}
