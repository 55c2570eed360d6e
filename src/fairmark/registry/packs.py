"""Grader packs: all graders of a project as one JSON file, for keeping them in git and carrying them elsewhere."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fairmark import jsontext
from fairmark.errors import InvalidGrader, Problem
from fairmark.store import Grader, NewGrader

MOST = 1_000
"""How many graders a pack may hold."""
_FIELDS: tuple[tuple[str, type, str], ...] = (
    ("key", str, "a string"),
    ("grader", dict, "an object"),
    ("name", str, "a string"),
    ("description", str, "a string"),
    ("locked", bool, "true or false"),
)


def make_pack(graders: Iterable[Grader]) -> dict[str, Any]:
    """Without ids, versions and times: the same graders make the same file anywhere."""
    return {"object": "grader.pack", "graders": [_entry(grader) for grader in graders]}


def _entry(grader: Grader) -> dict[str, Any]:
    return {
        "key": grader.key,
        "name": grader.name,
        "description": grader.description,
        "locked": grader.locked,
        "grader": grader.grader,
    }


def read_pack(pack: Mapping[str, Any]) -> list[NewGrader]:
    """Raises InvalidGrader with all that is wrong with its shape."""
    entries = pack.get("graders")
    if not isinstance(entries, list) or len(entries) > MOST:
        mistake = "missing" if entries is None else f"found {jsontext.describe(entries)}"
        message = f'{mistake}. A pack is {{"graders": [{{"key": "…", "grader": {{…}}}}]}}, {MOST} at most.'
        raise InvalidGrader.at("$.graders", message)
    problems = [
        Problem(f"$.graders[{index}]{path}", message, "invalid_type")
        for index, entry in enumerate(entries)
        for path, message in _problems(entry)
    ]
    if problems:
        raise InvalidGrader(problems)
    keys = [entry["key"] for entry in entries]
    for index, key in enumerate(keys):
        if key in keys[:index]:
            raise InvalidGrader.at(f"$.graders[{index}].key", f"{jsontext.quote(key)} stands in this pack twice.")
    return [
        NewGrader(
            entry["key"],
            entry["grader"],
            entry.get("name") or entry["key"],
            entry.get("description"),
            entry.get("locked", False),
        )
        for entry in entries
    ]


def _problems(entry: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(entry, dict):
        yield "", f"found {jsontext.describe(entry)}. It takes an object with key and grader."
        return
    for field, types, wanted in _FIELDS:
        value = entry.get(field)
        if isinstance(value, types) or (value is None and field in ("name", "description")):
            continue
        if field in entry:
            yield f".{field}", f"found {jsontext.describe(value)}. It takes {wanted}."
        elif field in ("key", "grader"):
            yield f".{field}", f"missing. It takes {wanted}."
