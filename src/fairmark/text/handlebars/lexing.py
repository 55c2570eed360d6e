"""Takes a template's source apart: texts, and the tags between them."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, NamedTuple

from fairmark import jsontext
from fairmark.errors import InvalidGrader
from fairmark.text.handlebars.rendering import Path

MOST_LEVELS = 100
"""Blocks inside blocks, `else if` counted as one, and parentheses inside parentheses."""


class Tag(NamedTuple):
    """What stands between braces."""

    at: int
    """Where it begins in the source."""
    sigil: str
    """`#`, `/`, `^`, `else`, `!` or nothing."""
    words: "list[Word]"
    params: list[str]
    """The names in `as |a b|`."""
    strip_before: bool
    strip_after: bool


class Word(NamedTuple):
    """A part of a tag; a `name=` before it is its `key`."""

    kind: Literal["path", "literal", "call"]
    value: Any
    source: str
    key: str | None = None


# What a name is made of, as in JavaScript's Handlebars; anything may stand in brackets.
_SEGMENT = r"""(?:[^\s!"#%-,./;->@\[-\^`{-~]++|\[(?:\\\]|[^\]])*+\])"""
_PATTERNS = {
    "blanks": r"\s*+",
    "end": r"(~?)\}\}",
    "end of three": r"\}(~?)\}\}",
    "end of comment": r"(~?)\}\}",
    "end of long comment": r"--(~?)\}\}",
    "word": (
        r"(?P<open>\()|(?P<close>\))|as\s++\|(?P<params>[^|{}]*+)\|"
        rf"|(?P<key>{_SEGMENT})=|(?P<string>\"(?:\\\"|[^\"])*+\"|'(?:\\'|[^'])*+')|(?P<path>@?(?:[./]|{_SEGMENT})++)"
    ),
    "segment": _SEGMENT,
    "number": r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?",
}
_CONSTANTS = {"true": True, "false": False, "null": None, "undefined": None}


@cache  # compiled where they are needed: most callers never have such a template
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(_PATTERNS[name])


class Lexer:
    """Takes the source apart: texts, and the tags between them."""

    def __init__(self, source: str, fail: Callable[[int, str], InvalidGrader]) -> None:
        self._source = source
        self._fail = fail

    def split(self) -> tuple[list[str], list[Tag]]:
        """One text more than there are tags: one stands before each, one after the last."""
        source = self._source
        texts: list[str] = []
        tags: list[Tag] = []
        text: list[str] = []
        position = 0
        while (start := source.find("{{", position)) >= 0:
            before = source[position:start]
            if before.endswith("\\") and not before.endswith("\\\\"):  # braces that are text
                text += [before[:-1], "{{"]
                position = start + 2
                continue
            # Of two backslashes one is text, and the tag is a tag.
            text.append(before.removesuffix("\\"))
            texts.append("".join(text))
            text = []
            tag, position = self._tag(start)
            tags.append(tag)
        texts.append("".join([*text, source[position:]]))
        return texts, tags

    def _tag(self, start: int) -> tuple[Tag, int]:
        source = self._source
        if source.startswith("{{{{", start):
            raise self._fail(start, "raw blocks are not supported. Braces that are text are written \\{{.")
        position = start + 2
        strip = source.startswith("~", position)
        position += strip
        if source.startswith("!", position):
            form = "end of long comment" if source.startswith("!--", position) else "end of comment"
            end = _pattern(form).search(source, position + 1)
            if end is None:
                raise self._fail(start, "this comment is not closed.")
            return Tag(start, "!", [], [], strip, bool(end[1])), end.end()
        for marks, what in ((("*", "#*"), "decorators"), ((">", "#>"), "partials")):
            if source.startswith(marks, position):
                raise self._fail(start, f"{what} are not supported.")
        sigil = source[position] if source.startswith(("#", "/", "^", "{", "&"), position) else ""
        words, params, end = self._words(start, position + len(sigil), sigil == "{")
        is_raw = sigil in ("{", "&")
        sigil = "" if is_raw else sigil
        if not sigil and not is_raw and words and words[0].source == "else":
            sigil, words = "else", words[1:]
        if sigil == "/" and (len(words) != 1 or params):
            raise self._fail(start, "a closing tag holds the name of its block and nothing else.")
        if params and sigil not in ("#", "^", "else"):
            raise self._fail(start, "as |…| stands in a tag that begins a block.")
        return Tag(start, sigil, words, params, strip, bool(end[1])), end.end()

    def _words(self, start: int, position: int, is_triple: bool) -> tuple[list[Word], list[str], re.Match[str]]:
        """The words of a tag, the names in its `as |…|`, and its end."""
        source = self._source
        closing, word = _pattern("end of three" if is_triple else "end"), _pattern("word")
        words: list[Word] = []
        params: list[str] = []
        calls: list[tuple[list[Word], str | None, int]] = []
        key: str | None = None
        while True:
            position = self._after_blanks(position)
            end = closing.match(source, position)
            if end is not None and not calls and key is None:
                return words, params, end
            token = word.match(source, position)
            if token is None:
                rest = source[position : position + 20]
                is_open = not rest or end is not None or rest.startswith("}")
                raise self._fail(start, "not closed." if is_open else f"cannot read {jsontext.quote(rest)}.")
            position = token.end()
            match token.lastgroup:
                case "key":
                    key = token["key"]
                    continue
                case "params":
                    params = token["params"].split()
                    if len(params) > 2:
                        raise self._fail(start, "as |…| gives two names at most, to the element and to its key.")
                case "open":
                    if len(calls) >= MOST_LEVELS:
                        raise self._fail(start, f"parentheses are nested deeper than {MOST_LEVELS} levels.")
                    calls.append((words, key, token.start()))
                    words = []
                case "close":
                    if not calls:
                        raise self._fail(start, "a closing parenthesis without an opening one.")
                    inner = words
                    words, key, opened = calls.pop()
                    words.append(Word("call", inner, source[opened:position], key))
                case "string":
                    text = token.group()
                    words.append(Word("literal", text[1:-1].replace("\\" + text[0], text[0]), text, key))
                case _:
                    words.append(self._word(start, token.group(), key))
            key = None

    def _after_blanks(self, position: int) -> int:
        match = _pattern("blanks").match(self._source, position)
        return match.end() if match else position

    def _word(self, start: int, text: str, key: str | None) -> Word:
        if _pattern("number").fullmatch(text):
            return Word("literal", float(text) if "." in text else int(text), text, key)
        if text in _CONSTANTS:
            return Word("literal", _CONSTANTS[text], text, key)
        return Word("path", self._path(start, text), text, key)

    def _path(self, start: int, text: str) -> Path:
        is_data = text.startswith("@")
        rest = text[is_data:]
        ups = 0
        while rest == ".." or rest.startswith("../"):
            ups += 1
            rest = rest[3:]
        is_this = rest in (".", "this") or rest.startswith(("./", "this.", "this/"))
        if is_this:
            rest = rest[2:] if rest.startswith(".") else rest[5:]
        names: list[str] = []
        position = 0
        while position < len(rest):
            match = _pattern("segment").match(rest, position)
            if match is None or match.group() == "this":
                break
            name = match.group().removeprefix("[").removesuffix("]")
            if name.startswith("__"):  # an attempt at Python's own: told now, and not left out in silence
                raise self._fail(start, f"{jsontext.quote(name)} cannot be reached: nothing that begins with __ can.")
            names.append(name)
            position = match.end()
            if rest[position : position + 1] in (".", "/") and position + 1 < len(rest):
                position += 1
        if position < len(rest) or (is_data and (is_this or not names)):
            raise self._fail(start, f"{jsontext.quote(text)} is not a path.")
        return Path(text, is_data, ups, is_this, tuple(names))


def without_blanks(texts: list[str], tags: list[Tag]) -> list[str]:
    """The texts without the lines that blocks and comments have to themselves, and without what a `~` takes away."""
    left = list(texts)
    for index, tag in enumerate(tags):
        before, after = texts[index].rstrip(" \t"), texts[index + 1].lstrip(" \t")
        # At the ends of a template a line begins or ends too; between two tags only where there is a line break.
        begins = before.endswith("\n") or (index == 0 and not before)
        ends = after.startswith(("\n", "\r\n")) or (index == len(tags) - 1 and not after)
        if tag.sigil and begins and ends:
            left[index] = left[index].rstrip(" \t")
            left[index + 1] = after.removeprefix("\r").removeprefix("\n")
        if tag.strip_before:
            left[index] = left[index].rstrip()
        if tag.strip_after:
            left[index + 1] = left[index + 1].lstrip()
    return left
