"""Long JSON in turns: no call of it keeps the interpreter for longer than a few milliseconds.

A decoder that reads 60 MB at once keeps every other thread waiting meanwhile, whichever thread it is called in: an
event loop too. So a long text is cut at the borders of its values, and the pieces are read one after the other. To be
called in a thread.
"""

import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import msgspec

from fairmark import jsontext
from fairmark.jsontext import NotJson

LONG = 500_000
"""Bytes of a text that is worth the trouble."""
PIECE = 128_000
MANY = 1_000
MOST_MEMBERS = 200_000
"""Of a long object: they are gone through one by one."""
_WINDOW = 256_000
_GUESSES = 8

_SPACE = re.compile(rb"[ \t\n\r]*+")
_SCALAR = re.compile(rb'[^,\[\]{}":\s]++')
_IN_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_NO_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
_CLOSERS = re.compile(rb"[\]}\s]*+$")
_OPENING = re.compile(rb'[\[{]\s*+(?:"[^"\\]{0,40}+")?+|"|')
_COLON, _QUOTE, _BACKSLASH, _LIST, _OBJECT = b':"\\[{'

_Mode = Literal["values", "rows", "raws", "checked", "nothing"]
"""What is made of what is read: all of it, LongLists of long lists, the elements of a list as the JSON that they are,
nothing although it is looked through for mistakes, or only where it ends."""


class _Span(NamedTuple):
    begin: int
    end: int


class LongList:
    """The elements of a long list, read again whenever they are looked through: a million rows in memory would be a
    burden for whoever collects garbage."""

    def __init__(self, text: bytes, pieces: list[_Span], count: int) -> None:
        self._text = text
        self._pieces = pieces
        self._count = count

    def __len__(self) -> int:
        return self._count

    @property
    def size(self) -> int:
        """In bytes."""
        return self._pieces[-1].end - self._pieces[0].begin

    def __iter__(self) -> Iterator[Any]:
        """Raises NotJson."""
        for piece in self._pieces:
            if piece.end - piece.begin <= 2 * LONG:
                yield from _elements(self._text, piece)
            else:
                yield _Reader(self._text, "values").value(piece.begin, 0)[0]

    def __json__(self) -> msgspec.Raw:
        """As it was written."""
        inside = memoryview(self._text)[self._pieces[0].begin : self._pieces[-1].end]
        return msgspec.Raw(b"".join((b"[", inside, b"]")))


def decode(text: bytes, *, rows: bool = False) -> Any:
    """The value, as `jsontext.decode` gives it. Raises NotJson. `rows`: long lists of many elements are LongLists."""
    if len(text) <= LONG:
        return jsontext.decode(text)
    return _whole(_Reader(text, "rows" if rows else "values"))


def whole(value: Any) -> Any:
    """The same value, every LongList in it read."""
    if type(value) is dict:
        return {name: whole(inner) for name, inner in value.items()}
    if type(value) is list:
        return [whole(inner) for inner in value]
    return list(value) if type(value) is LongList else value


def members(text: bytes, *, checked: bool = False) -> dict[str, Any]:
    """As `jsontext.members`: those of an object, each as the JSON that it is where that can be had. `checked`: it is
    looked through for mistakes."""
    if len(text) <= LONG:
        return jsontext.members(text)
    reader = _Reader(text, "checked" if checked else "nothing")
    begin = reader.past_space(0)
    if text[begin : begin + 1] != b"{":
        raise NotJson(f"expected an object, found {jsontext.describe(decode(text))}")
    whole = memoryview(text)
    inside = {name: msgspec.Raw(whole[value.begin : value.end]) for name, value, _ in reader.members(begin, 0)}
    _check_end(reader)
    return inside


def raws(text: bytes) -> list[msgspec.Raw]:
    """As `jsontext.elements`: those of a list, each as the JSON that it is. Raises NotJson."""
    if len(text) <= LONG:
        return jsontext.elements(text)
    reader = _Reader(text, "raws")
    begin = reader.past_space(0)
    if text[begin : begin + 1] != b"[":
        raise NotJson(f"expected a list, found {jsontext.describe(decode(text))}")
    pieces = _Pieces(reader, begin, 0)
    for _ in pieces:
        pass
    _check_end(reader)
    return pieces.values


def elements(text: bytes, name: str) -> list[bytes] | None:
    """The elements of the list that is this member of an object, each as it stands there; None where it is no list.
    Raises NotJson."""
    reader = _Reader(text, "nothing")
    begin = reader.past_space(0)
    if text[begin : begin + 1] != b"{":
        return None
    spans = {member: value for member, value, _ in reader.members(begin, 0)}
    _check_end(reader)
    at = spans[name].begin if name in spans else begin
    if text[at : at + 1] != b"[":
        return None
    at = reader.past_space(at + 1)
    listed: list[bytes] = []
    while text[at : at + 1] != b"]":
        _, after = reader.value(at, 1)
        listed.append(text[at:after])
        at = reader.past_space(after)
        if text[at : at + 1] == b",":
            at = reader.past_space(at + 1)
            if text[at : at + 1] == b"]":
                raise _malformed("a value", at)
        elif text[at : at + 1] != b"]":
            raise _malformed("a comma or the end of the list", at)
    return listed


def _whole(reader: "_Reader") -> Any:
    value, reader.at = reader.value(reader.past_space(0), 0)
    _check_end(reader)
    return value


def _check_end(reader: "_Reader") -> None:
    after = reader.past_space(reader.at)
    if after < len(reader.text):
        raise _malformed("the end", after)


class _Reader:
    """Goes through a text once, from the front."""

    def __init__(self, text: bytes, mode: _Mode) -> None:
        self.text = text
        self.end = len(text)
        self.mode = mode
        self.at = 0
        """Behind the last member, or the last piece."""

    def value(self, at: int, level: int) -> tuple[Any, int]:
        """The value that begins here, and where it ends."""
        after = self.past_short(at)
        if after is not None:
            return self._of_short(_Span(at, after)), after
        if level >= jsontext.MAX_DEPTH:
            raise _too_deep(at + 1)
        if self.text[at] == _OBJECT:
            made = {name: value for name, _, value in self.members(at, level)}
            return made, self.at
        pieces = _Pieces(self, at, level)
        spans = list(pieces)
        if self.mode == "rows" and pieces.count >= MANY:
            return LongList(self.text, spans, pieces.count), self.at
        return (pieces.few(spans) if self.mode == "rows" else pieces.values), self.at

    def _of_short(self, span: _Span) -> Any:
        if self.mode in ("values", "rows"):
            return _short(self.text, span)
        if self.mode != "nothing":
            _raw_elements(self.text, span)
        return None

    def members(self, at: int, level: int) -> Iterator[tuple[str, _Span, Any]]:
        """The names, where their values stand, and what they are."""
        text = self.text
        at = self.past_space(at + 1)
        count = 0
        while text[at : at + 1] == b'"':
            count += 1
            if count > MOST_MEMBERS:
                raise NotJson(f"it has an object of more than {MOST_MEMBERS} names, up to byte {at}")
            after = self._past_string(at)
            name = _short(text, _Span(at, after))
            at = self.past_space(after)
            if text[at : at + 1] != b":":
                raise _malformed("a colon", at)
            begin = self.past_space(at + 1)
            value, after = self.value(begin, level + 1)
            yield name, _Span(begin, after), value
            at = self.past_space(after)
            if text[at : at + 1] == b"}":
                self.at = at + 1
                return
            if text[at : at + 1] != b",":
                raise _malformed("a comma or the end of the object", at)
            at = self.past_space(at + 1)
        raise _malformed("a name in quotes", at)

    def past_space(self, at: int) -> int:
        while True:
            match = _SPACE.match(self.text, at, at + _WINDOW)
            after = at if match is None else match.end()
            if after < at + _WINDOW:
                return after
            at = after

    def past_short(self, at: int) -> int | None:
        """The end of the value that begins here; None for a list or an object that is long."""
        if at >= self.end:
            raise _malformed("a value", at)
        first = self.text[at]
        if first == _QUOTE:
            return self._past_string(at)
        if first in (_OBJECT, _LIST):
            return self._past_brackets(at)
        match = _SCALAR.match(self.text, at, at + _WINDOW)
        if match is None:
            raise _malformed("a value", at)
        return match.end()

    def _past_brackets(self, at: int) -> int | None:
        """Whether brackets fit one another is not looked at: who reads the piece does."""
        text, end = self.text, min(self.end, at + LONG)
        depth = 0
        while at < end:
            sign = text[at]
            if sign == _QUOTE:
                at = self._past_string(at)
            elif sign in b"[{":
                depth += 1
                at += 1
                if depth > jsontext.MAX_DEPTH:
                    raise _too_deep(at)
            elif sign in b"]}":  # else the window ended here
                depth -= 1
                at += 1
                if not depth:
                    return at
            match = _NO_BRACKET.match(text, at, at + _WINDOW)
            at = at if match is None else match.end()
        if at >= self.end:
            raise _malformed("a closing bracket", self.end)
        return None

    def _past_string(self, at: int) -> int:
        text, end = self.text, self.end
        close = text.find(b'"', at + 1)
        if close > 0 and text[close - 1] != _BACKSLASH:
            return close + 1
        at += 1
        while at < end:
            match = _IN_STRING.match(text, at, at + _WINDOW)
            after = at if match is None else match.end()
            if after < end and text[after] == _QUOTE:
                return after + 1
            if after == at:
                break
            at = after
        raise _malformed("the end of a string", end)


class _Pieces:
    """Cuts a long list into pieces of many elements, or of a single one that is long."""

    def __init__(self, reader: _Reader, at: int, level: int) -> None:
        self._reader = reader
        self._at = reader.past_space(at + 1)
        self._level = level
        self._guesses = _GUESSES
        self._border = self._find_border()
        self.count = 0
        self.values: list[Any] = []
        self._long_ones: dict[int, Any] = {}

    def few(self, pieces: list[_Span]) -> list[Any]:
        """The elements of a list that is long because of some of them."""
        values: list[Any] = []
        for piece in pieces:
            is_long = piece.begin in self._long_ones
            values += [self._long_ones[piece.begin]] if is_long else _elements(self._reader.text, piece)
        return values

    def __iter__(self) -> Iterator[_Span]:
        reader = self._reader
        text = reader.text
        while True:
            piece = self._guessed() or self._walked() or self._long()
            yield piece
            at = reader.past_space(piece.end)
            if text[at : at + 1] == b"]":
                reader.at = at + 1
                return
            if text[at : at + 1] != b",":
                raise _malformed("a comma or the end of the list", at)
            self._at = reader.past_space(at + 1)

    def _find_border(self) -> "re.Pattern[bytes]":
        """What stands between elements like the first, if they are all alike: how it ends, and how it begins."""
        text, begin = self._reader.text, self._at
        after = self._reader.past_short(begin)
        opening = _OPENING.match(text, begin)
        closers = None if after is None else _CLOSERS.search(text, max(begin + 1, after - 200), after)
        closed = b"" if closers is None else b"".join(closers[0].split())
        if after is not None and text[begin] == _QUOTE:
            closed = b'"'
        space = rb"\s*+"
        signs = space.join(re.escape(bytes([sign])) for sign in closed)
        opened = space.join(re.escape(part) for part in (opening[0] if opening else b"").split(maxsplit=1))
        return re.compile(rb"(" + signs + rb")" + space + b"," + space + opened)

    def _guessed(self) -> _Span | None:
        """Up to a place that looks like a border, if what is before it turns out to be whole."""
        reader, begin = self._reader, self._at
        near = begin + PIECE
        if near >= reader.end or not self._guesses:
            return None
        for number, match in enumerate(self._border.finditer(reader.text, near, near + _WINDOW)):
            if number == self._guesses:
                break
            piece = _Span(begin, match.end(1))
            try:
                self._take(piece)
            except (NotJson, msgspec.MsgspecError, UnicodeError, RecursionError):
                continue
            return piece
        self._guesses //= 2
        return None

    def _take(self, piece: _Span) -> None:
        cut = _cut(self._reader.text, piece)
        if self._reader.mode == "values":
            elements: list[Any] = msgspec.json.decode(cut)
            self.values += elements
        else:
            elements = _raws(cut)
            if self._reader.mode == "raws":
                self.values += elements
        self.count += len(elements)

    def _walked(self) -> _Span | None:
        """Element by element, as many as make a piece; None where the first is long."""
        reader, begin = self._reader, self._at
        text = reader.text
        at, piece, count = begin, None, 0
        while (after := reader.past_short(at)) is not None:
            piece, count = _Span(begin, after), count + 1
            comma = reader.past_space(after)
            if after - begin > PIECE or text[comma : comma + 1] != b",":
                break
            at = reader.past_space(comma + 1)
        if piece is not None:
            self.count += count
            if reader.mode == "values":
                self.values += _elements(text, piece)
            elif reader.mode in ("raws", "checked"):
                found = _raw_elements(text, piece)
                self.values += found if reader.mode == "raws" else ()
        return piece

    def _long(self) -> _Span:
        inside = _Reader(self._reader.text, "checked") if self._reader.mode == "raws" else self._reader
        value, after = inside.value(self._at, self._level + 1)
        self.count += 1
        if self._reader.mode == "values":
            self.values.append(value)
        elif self._reader.mode == "raws":
            self.values.append(msgspec.Raw(self._reader.text[self._at : after]))
        elif self._reader.mode == "rows" and len(self._long_ones) < MANY:
            self._long_ones[self._at] = value
        return _Span(self._at, after)


def _cut(text: bytes, piece: _Span) -> bytes:
    """These elements as a list of their own."""
    return b"".join((b"[", memoryview(text)[piece.begin : piece.end], b"]"))


def _elements(text: bytes, piece: _Span) -> list[Any]:
    try:
        elements: list[Any] = jsontext.decode(_cut(text, piece))
    except NotJson as error:
        raise NotJson(f"{error}, counted from byte {piece.begin}") from None
    return elements


def _raws(cut: bytes) -> list[msgspec.Raw]:
    """Raises what msgspec raises. It does not look at the characters of what it passes by."""
    elements: list[msgspec.Raw] = msgspec.json.decode(cut, type=list[msgspec.Raw])
    str(cut, "utf-8")
    return elements


def _raw_elements(text: bytes, piece: _Span) -> list[msgspec.Raw]:
    cut = _cut(text, piece)
    try:
        return _raws(cut)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        # Half an emoji, say: then they are written anew.
        return [msgspec.Raw(jsontext.encode(element)) for element in _elements(text, piece)]


def _short(text: bytes, span: _Span) -> Any:
    try:
        return jsontext.decode(text[span.begin : span.end])
    except NotJson as error:
        raise NotJson(f"{error}, counted from byte {span.begin + 1}") from None


def _malformed(wanted: str, at: int) -> NotJson:
    return NotJson(f"expected {wanted} at byte {at + 1}")


def _too_deep(at: int) -> NotJson:
    return NotJson(f"it is nested too deeply at byte {at}")
