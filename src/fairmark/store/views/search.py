"""A text that a person looks for in an output item, which is stored as JSON.

A pattern for the database finds every item that may hold the text, and some that only seem to: it sees names of fields
as well as values, and any letter in place of one with an accent. A second look, at what the item says, decides.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from fairmark import jsontext

_PATTERN_CHARACTERS = 100
"""A longer text is looked for by its beginning; the second look compares all of it."""
ESCAPE = "!"


class Needle:
    """The text to look for, without regard to upper and lower case."""

    def __init__(self, text: str) -> None:
        self._text = text.lower()
        beginning = text[:_PATTERN_CHARACTERS]
        ascii_only = f"%{''.join(map(_in_ascii, beginning))}%"
        utf_8 = f"%{''.join(map(_in_utf_8, beginning))}%"
        self.patterns = sorted({ascii_only} if _has_surrogate(beginning) else {ascii_only, utf_8})
        """For LIKE: an item that holds the text matches one of them."""

    def found_in(self, body: bytes) -> bool:
        """Whether one of the values that a person reads in this item holds the text."""
        item = jsontext.decode(body)
        return isinstance(item, dict) and any(self._text in text.lower() for text in _texts(item))


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _in_utf_8(character: str) -> str:
    if character.isascii():
        return _escaped(character)
    # The database may know upper and lower case of ASCII only: any character will do for now.
    return character if character.lower() == character.upper() else "_"


def _in_ascii(character: str) -> str:
    """As in an item with half an emoji in it, which is all in ASCII."""
    if character.isascii():
        return _escaped(character)
    units = len(character.encode("utf-16-le", "surrogatepass")) // 2
    return r"\u____" * units


def _escaped(character: str) -> str:
    in_json = msgspec.json.encode(character).decode()[1:-1]
    return "".join(f"{ESCAPE}{letter}" if letter in f"%_{ESCAPE}" else letter for letter in in_json)


def _texts(item: dict[str, Any]) -> Iterator[str]:
    """What a person reads: the row, the model's answer, and what graders and judges said. No ids, no field names.

    An item that was made elsewhere may have anything in these places.
    """
    yield from _values(item.get("datasource_item"))
    yield from _said(item.get("sample"))
    results = item.get("results")
    for result in results if isinstance(results, list) else ():
        if isinstance(result, dict):
            yield from _values([result.get("error"), result.get("warnings"), result.get("printed")])
            yield from _said(result.get("sample"))
            several = result.get("judgements")
            for judgement in several if isinstance(several, list) else ():
                yield from _said(judgement)


def _said(sample: Any) -> Iterator[str]:
    yield from _values([sample.get("output"), sample.get("error")] if isinstance(sample, dict) else sample)


def _values(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case bool() | None:
            pass
        case int() | float():
            yield jsontext.write(value)
        case dict():
            for inner in value.values():
                yield from _values(inner)
        case list():
            for inner in value:
                yield from _values(inner)
