"""Pages of lists: their objects as the very bytes that were received, and the few fields that pulling looks at."""

import re
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from fairmark import jsontext, longjson
from fairmark.longjson import LONG

LONGEST_ID = 180
"""In bytes, as the name of a file: what is longer is no id that any service gives."""


def in_path(id_: str) -> str:
    """An id as a part of an address: what is in it leads nowhere else."""
    return quote(id_, safe="")


def is_id(id_: str) -> bool:
    """Whether it can be asked for, and be the name of a file. Raises nothing for half an emoji."""
    try:
        return 0 < len(quote(id_, safe="")) <= LONGEST_ID and id_ not in (".", "..")
    except UnicodeError:
        return False


class Unreadable(ValueError):
    """What came is no page of a list, or no object with an id."""


class Head(msgspec.Struct):
    """What pulling looks at in an object. Everything else in it is nobody's business here."""

    id: Any = None
    eval_id: Any = None
    created_at: Any = None
    created: Any = None
    status: Any = None
    result_counts: Any = None
    purpose: Any = None
    bytes: Any = None
    rebuilt: Any = None

    @property
    def time(self) -> float:
        """When it was made; 0 where it does not say."""
        for value in (self.created_at, self.created):
            if isinstance(value, int | float):
                return value
        return 0


class ListedObject(NamedTuple):
    """An object of a list."""

    id: str
    head: Head
    raw: bytes


class ReceivedPage(NamedTuple):
    objects: list[ListedObject]
    has_more: bool


class _Envelope(msgspec.Struct):
    data: list[msgspec.Raw]
    has_more: bool | None = None


_ENVELOPE, _HEAD = msgspec.json.Decoder(_Envelope), msgspec.json.Decoder(Head)
_NAMES = Head.__struct_fields__


def read_page(body: bytes) -> ReceivedPage:
    """Raises Unreadable."""
    try:
        if len(body) > LONG:
            raws, more = _read_long(body)
        else:
            envelope = _ENVELOPE.decode(body)
            raws, more = [bytes(raw) for raw in envelope.data], envelope.has_more
    except (msgspec.MsgspecError, RecursionError):
        raws, more = _read_slowly(body)
    objects = [read_object(raw) for raw in raws]
    # As the official client does it: without a word about more there is more until a page is empty.
    return ReceivedPage(objects, bool(objects) if more is None else more and bool(objects))


def read_object(raw: bytes) -> ListedObject:
    """Raises Unreadable."""
    head = read_head(raw)
    if not isinstance(head.id, str) or not is_id(head.id):
        raise Unreadable(f"an object has the id {jsontext.shorten(jsontext.describe(head.id), 60)}")
    return ListedObject(head.id, head, raw)


def read_head(raw: bytes) -> Head:
    """Raises Unreadable."""
    try:
        if len(raw) > LONG:
            inside = longjson.members(raw)
            return Head(**{name: _decode(jsontext.encode(inside[name])) for name in _NAMES if name in inside})
        return _HEAD.decode(raw)
    except (msgspec.MsgspecError, RecursionError, jsontext.NotJson):
        value = _decode(raw)
    if not isinstance(value, dict):
        raise Unreadable(f"found {jsontext.describe(value)} in place of an object")
    return Head(**{name: value.get(name) for name in _NAMES})


def one_line(raw: bytes) -> bytes:
    """The object as a line of a list: line breaks between its parts go, and nothing else. In strings there are none."""
    if b"\n" not in raw and b"\r" not in raw:
        return raw
    return raw.translate(None, b"\r\n")


def _decode(text: bytes) -> Any:
    try:
        return longjson.decode(text)
    except jsontext.NotJson as error:
        raise _no_json(text, error) from None


def _no_json(text: bytes, error: jsontext.NotJson) -> "Unreadable":
    start = jsontext.shorten(" ".join(text[:400].decode("utf-8", "replace").split()), 80)
    return Unreadable(f"it is no JSON ({error}): {jsontext.quote(start)}")


def _read_long(body: bytes) -> tuple[list[bytes], bool | None]:
    """The same in turns: a page may hold all rows of a hundred runs, and others need the interpreter meanwhile."""
    try:
        raws = longjson.elements(body, "data")
        told = longjson.members(body).get("has_more")
    except jsontext.NotJson as error:
        raise _no_json(body, error) from None
    if raws is None:
        raise Unreadable("found no list of data")
    more = None if told is None else jsontext.decode(jsontext.encode(told))
    return raws, more if isinstance(more, bool) else None


def _read_slowly(body: bytes) -> tuple[list[bytes], bool | None]:
    """The same for what the fast reader does not take: half an emoji is JSON, and must not cost its page."""
    value = _decode(body)
    data = value.get("data") if isinstance(value, dict) else None
    if not isinstance(data, list):
        raise Unreadable(f"found {jsontext.shorten(jsontext.describe(value), 60)} in place of a list")
    raws = _elements(body) if data else []
    if len(raws) != len(data):
        raise Unreadable("its objects cannot be told apart")
    more = value.get("has_more")
    return raws, more if isinstance(more, bool) else None


_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{\]},:]', re.DOTALL)


def _elements(body: bytes) -> list[bytes]:
    """The elements of `data`, as they stand in a body that is known to be JSON. Of two `data` the last counts."""
    depth, key, inside, begin = 0, b"", False, 0
    elements: list[bytes] = []
    last = b""
    for token in _TOKEN.finditer(body):
        sign = token[0]
        if sign == b":" and depth == 1:
            key = last
        elif sign in (b"{", b"["):
            depth += 1
            if depth == 2 and sign == b"[" and key == b'"data"':
                inside, begin, elements = True, token.end(), []
        elif sign in (b"}", b"]"):
            depth -= 1
            if depth == 1 and inside:
                elements.append(body[begin : token.start()].strip())
                inside = False
        elif sign == b"," and depth == 2 and inside:
            elements.append(body[begin : token.start()].strip())
            begin = token.end()
        last = sign
    return elements
