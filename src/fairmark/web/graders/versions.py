"""What changed between two versions of a grader: line by line, its longer texts apart from the JSON around them."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple

from fairmark import jsontext

CONTEXT = 3
"""How many unchanged lines are shown around a change."""


class DiffLine(NamedTuple):
    """A line of a difference, with its number in the old text and in the new one. A gap stands for unchanged lines."""

    sign: Literal["same", "added", "removed", "gap"]
    old: int | None
    new: int | None
    text: str


class Part(NamedTuple):
    """The difference of one text: the JSON, or a text inside it."""

    title: str
    lines: list[DiffLine]

    @property
    def added(self) -> int:
        return sum(line.sign == "added" for line in self.lines)

    @property
    def removed(self) -> int:
        return sum(line.sign == "removed" for line in self.lines)


def compare(old: Any, new: Any) -> list[Part]:
    """The parts that differ, none where the versions are equal."""
    before, after = dict(_texts(old, "")), dict(_texts(new, ""))
    # Only where both have a text, or one has a long one: a new short value is told by the JSON.
    paths = [path for path in {**before, **after} if "\n" in before.get(path, "") + after.get(path, "")]
    pairs = [("JSON", _pretty(old, frozenset(paths)), _pretty(new, frozenset(paths)))]
    pairs += [(path, before.get(path, ""), after.get(path, "")) for path in paths]
    return [Part(name, list(_lines(was, is_))) for name, was, is_ in pairs if was != is_]


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield path, value
        case dict():
            for key, inner in value.items():
                yield from _texts(inner, f"{path}.{key}" if path else str(key))
        case list():
            for index, inner in enumerate(value):
                yield from _texts(inner, f"{path}[{index}]")


def _pretty(value: Any, apart: frozenset[str]) -> str:
    return jsontext.encode_pretty(_without(value, "", apart))


def _without(value: Any, path: str, apart: frozenset[str]) -> Any:
    """The value with a note in the place of each text that is compared by itself."""
    match value:
        case str() if path in apart:
            count = len(value.splitlines())
            return f"… {count} lines, compared below" if count > 1 else value
        case dict():
            return {key: _without(inner, f"{path}.{key}" if path else str(key), apart) for key, inner in value.items()}
        case list():
            return [_without(inner, f"{path}[{index}]", apart) for index, inner in enumerate(value)]
        case _:
            return value


def _lines(old: str, new: str) -> Iterator[DiffLine]:
    before, after = old.splitlines(), new.splitlines()
    seen = 0
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for group in matcher.get_grouped_opcodes(CONTEXT):
        if group[0][1] > seen:
            yield _gap(group[0][1] - seen)
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                for offset, text in enumerate(before[old_from:old_to]):
                    yield DiffLine("same", old_from + offset + 1, new_from + offset + 1, text)
                continue
            for number, text in enumerate(before[old_from:old_to], old_from + 1):
                yield DiffLine("removed", number, None, text)
            for number, text in enumerate(after[new_from:new_to], new_from + 1):
                yield DiffLine("added", None, number, text)
        seen = group[-1][2]
    if len(before) > seen:
        yield _gap(len(before) - seen)


def _gap(count: int) -> DiffLine:
    return DiffLine("gap", None, None, f"{count} unchanged line{'' if count == 1 else 's'}")
