"""JSON in and out: one strict reader, one writer, and words for what a value is."""

import json
import re
from collections.abc import Iterable
from typing import Any

import msgspec

MAX_DEPTH = 200


class NotJson(ValueError):
    """The text is not JSON; the message says what is wrong and where."""


def decode(text: str | bytes) -> Any:
    """The value of a JSON text, or NotJson.

    NaN and Infinity are not JSON. A lone surrogate escape is, although UTF-8 cannot hold it: half an emoji at the
    end of a truncated answer must not make its row unreadable.
    """
    try:
        return msgspec.json.decode(text)
    except RecursionError:
        raise NotJson(_too_deep(text)) from None
    except (msgspec.MsgspecError, UnicodeError):
        return _decode_slowly(text)


_BEGINNING = re.compile(r'[ \t\n\r]*(?:[\[{"0-9-]|true|false|null)')


def may_be_json(text: str) -> bool:
    """Whether it begins as JSON does. Most texts do not, and to read one to its first mistake takes far longer."""
    return _BEGINNING.match(text) is not None


def _decode_slowly(text: str | bytes) -> Any:
    """The same by the standard library: it reads surrogates and knows line and column of what is wrong."""
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        if not text.strip():
            raise NotJson("it is empty") from None
        where = f"line {error.lineno} column {error.colno}" if error.lineno > 1 else f"column {error.colno}"
        raise NotJson(f"{error.msg[:1].lower()}{error.msg[1:]} at {where}") from None
    except UnicodeDecodeError as error:
        raise NotJson(f"byte {error.start + 1} is not UTF-8") from None
    except RecursionError:
        raise NotJson(_too_deep(text)) from None
    except ValueError as error:
        if isinstance(error, NotJson):
            raise
        raise NotJson("it holds a number of more than 4300 digits") from None


_DEPTH = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]|\n', re.DOTALL)


def _too_deep(text: str | bytes) -> str:
    """Where a text of several lines is nested deeper than any should be."""
    content = text.encode("utf-8", "replace") if isinstance(text, str) else text
    depth, line = 0, 1
    for mark in _DEPTH.finditer(content):
        sign = mark[0]
        if sign in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                break
        elif sign in b"]}":
            depth -= 1
        else:
            line += sign.count(b"\n")
    return f"it is nested too deeply at line {line}" if line > 1 else "it is nested too deeply"


def members(text: bytes) -> dict[str, Any]:
    """The members of an object, each as the JSON that it is where that can be had: written again it stays the same byte
    for byte. Raises NotJson, also for what is no object."""
    try:
        return msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = decode(text)
        if not isinstance(value, dict):
            raise NotJson(f"expected an object, found {describe(value)}") from None
        return value


def elements(text: bytes) -> list[msgspec.Raw]:
    """The same for the elements of a list."""
    try:
        return msgspec.json.decode(text, type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = decode(text)
        if not isinstance(value, list):
            raise NotJson(f"expected a list, found {describe(value)}") from None
        return [msgspec.Raw(encode(element)) for element in value]


def nearest(name: str, known: Iterable[str], most: int = 1, likeness: float = 0.6) -> str:
    """` Did you mean eq?`, for the end of a message about a name that nobody knows; "" where none is like it."""
    from difflib import get_close_matches  # mistakes are rare

    near = get_close_matches(name.lower(), list(known), n=most, cutoff=likeness)
    return f" Did you mean {' or '.join(near)}?" if near else ""


def _refuse_constant(name: str) -> Any:
    raise NotJson(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    value = float(digits)
    if value in {float("inf"), float("-inf")}:
        raise NotJson(f"the number {shorten(digits)} is out of range")
    return value


def encode(value: Any) -> bytes:
    """Compact JSON in UTF-8. Where a lone surrogate forbids UTF-8 the whole is escaped to ASCII instead."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), default=plain).encode()


def write(value: Any) -> str:
    """JSON as people write it: ", " and ": " between, non-ASCII kept, NaN as null, what JSON does not know as `plain`
    has it."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=plain)
    except ValueError as error:
        if "circular" in str(error).lower():
            raise
        return json.dumps(_without_nan(value), ensure_ascii=False, default=plain)


def plain(value: Any) -> Any:
    """What JSON does not know, as what it is: a number or an array of numpy as number or list, pandas' missing values
    as null, what is JSON already, or knows itself as JSON, as its value. Anything else is its text."""
    if isinstance(value, msgspec.Raw):
        return decode(bytes(value))
    if hasattr(value, "__json__"):
        return value.__json__()
    if is_missing(value):
        return None
    if callable(getattr(value, "tolist", None)):
        simple = value.tolist()
        if type(simple) is not type(value):
            return simple
        if type(value).__name__ == "longdouble":  # Python has no number as long
            return None if value != value else float(value)
    return str(value)


_encode = msgspec.json.Encoder(enc_hook=plain).encode


def is_missing(value: Any) -> bool:
    """Whether it stands for no value, as pandas has it: NaN, NaT or NA."""
    return type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)


def _without_nan(value: Any) -> Any:
    if is_missing(value):
        return None
    if isinstance(value, dict):
        return {key: _without_nan(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(inner) for inner in value]
    return _without_nan(value.tolist()) if type(value).__name__ == "ndarray" else value


def deeper_than(value: Any, levels: int) -> bool:
    """Whether objects and lists nest deeper than this. Walks no further than that, so a cycle ends too."""
    level = [value]
    for _ in range(levels):
        inner: list[Any] = []
        for part in level:
            values = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
            inner += [value for value in values if isinstance(value, (dict, list))]
        if not inner:
            return False
        # A cycle can also grow sideways; every container counts once a level.
        level = list({id(part): part for part in inner}.values()) if len(inner) > 1 else inner
    return True


def shorten(text: str, length: int = 60) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def quote(text: str) -> str:
    """The text in quotes for a message: shortened, on one line, and free of what cannot be printed."""
    quoted = json.dumps(shorten(text), ensure_ascii=False)
    return quoted.encode("utf-8", "backslashreplace").decode()


def describe(value: Any) -> str:
    """What a value is, for a message: `a number (5)`, `an object`, `null`."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            try:
                return f"a number ({shorten(str(value), 30)})"
            except ValueError:  # more digits than Python will print
                return "a number"
        case str():
            return f"a string ({quote(value)})"
        case dict():
            return "an object"
        case list() | tuple():
            return f"a list of {len(value)}"
        case _:
            return f"a Python {type(value).__name__}"


def encode_pretty(value: Any) -> str:
    """JSON for a terminal: indented, non-ASCII kept unless it cannot be printed."""
    text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, indent=2, default=str)
    return text
