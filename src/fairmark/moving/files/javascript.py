"""What JavaScript makes of a value or a pattern, as far as Python can say it exactly; a refusal where it cannot."""

import re
from typing import Any

MOST_PATTERN_CHARS = 10_000
_SAFE = 2**53


class NotTheSame(ValueError):
    """Python has no pattern that matches the same texts. The message says which part of it has no twin."""


def text_of(value: Any) -> str | None:
    """String(value), for texts, numbers and truth values; None for all else, and for numbers it writes otherwise."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) < _SAFE else None
    if isinstance(value, float):
        if value.is_integer() and abs(value) < _SAFE:
            return str(int(value))
        return repr(value) if 1e-6 <= abs(value) < 1e16 else None
    return None


# What a class escape stands for, inside brackets; Python's own \s and \w know more letters or fewer blanks.
_SPACES = r"\t\n\x0b\x0c\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_CLASSES = {"d": "0-9", "w": "A-Za-z0-9_", "s": _SPACES}
_CONTROLS = {"t": r"\t", "n": r"\n", "r": r"\r", "f": r"\x0c", "v": r"\x0b", "0": r"\x00"}
_ANY = r"[^\n\r\u2028\u2029]"
_EDGE = {
    "b": r"(?:(?<![A-Za-z0-9_])(?=[A-Za-z0-9_])|(?<=[A-Za-z0-9_])(?![A-Za-z0-9_]))",
    "B": r"(?:(?<![A-Za-z0-9_])(?![A-Za-z0-9_])|(?<=[A-Za-z0-9_])(?=[A-Za-z0-9_]))",
}
_UNREPEATED = ("^", r"\Z", "(", "|", "(?:", "(?=", "(?!", "(?<=", "(?<!", *_EDGE.values())
_GROUP = re.compile(r"\(\?(?::|=|!|<=|<!|<([A-Za-z_]\w*)>)", re.ASCII)
_REPEAT = re.compile(r"\{(\d+)(?:(,)(\d*))?\}")


def pattern_of(source: str) -> str:
    """The Python pattern that finds what `new RegExp(source)` finds. Raises NotTheSame.

    It has to be matched against `halves` of a text, as JavaScript sees it. Nothing is matched here. What has no twin is
    refused, such as references back to groups, which are empty in one language and failures in the other.
    """
    if len(source) > MOST_PATTERN_CHARS:
        raise NotTheSame(f"it has more than {MOST_PATTERN_CHARS:,} characters")
    translated = _Translation(halves(source)).run()
    try:
        re.compile(translated)
    except (re.error, RecursionError, OverflowError) as error:
        raise NotTheSame(f"Python cannot compile it: {error}") from None
    return translated


def halves(text: str) -> str:
    """The text with two characters in place of one beyond U+FFFF."""
    return "".join(map(chr, memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")))


class _Translation:
    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._out: list[str] = []
        self._open: list[str] = []
        self._closed = ""
        self._names: set[str] = set()

    def run(self) -> str:
        while self._at < len(self._source):
            self._out.append(self._next())
        return "".join(self._out)

    def _take(self, count: int = 1) -> str:
        taken = self._source[self._at : self._at + count]
        self._at += count
        return taken

    def _peek(self) -> str:
        return self._source[self._at : self._at + 1]

    def _next(self) -> str:
        sign = self._peek()
        match sign:
            case "\\":
                return self._escape()
            case "[":
                return self._bracket()
            case "(":
                return self._group()
            case ")":
                self._closed = self._open.pop() if self._open else ""
                return self._take()
            case ".":
                self._take()
                return _ANY
            case "$":
                self._take()
                return r"\Z"
            case "*" | "+" | "?" | "{":
                return self._repeat()
            case _:
                self._take()
                # What is special in Python alone: nothing but these, and they are literal in both.
                return "\\" + sign if sign in "#&~-}] " else _written(sign)

    def _repeat(self) -> str:
        repeat = _REPEAT.match(self._source, self._at)
        if self._peek() == "{" and repeat is None:
            self._take()
            return r"\{"
        if not self._out or self._out[-1] in _UNREPEATED or self._is_after_lookbehind():
            raise NotTheSame(f"there is nothing to repeat before {self._peek()}")
        if repeat is not None and max((int(digits) for digits in repeat.group(1, 3) if digits), default=0) > 100_000:
            raise NotTheSame(f"{repeat[0]} repeats too often")
        text = self._take(len(repeat[0]) if repeat is not None else 1)
        if self._peek() == "?":
            return text + self._take()
        if self._peek() in ("+", "*") or _REPEAT.match(self._source, self._at):
            raise NotTheSame(f"{text}{self._peek()} repeats a repetition")
        return text

    def _is_after_lookbehind(self) -> bool:
        return self._out[-1] == ")" and self._closed in ("(?<=", "(?<!")

    def _group(self) -> str:
        if self._source[self._at : self._at + 2] != "(?":
            self._open.append("(")
            return self._take()
        group = _GROUP.match(self._source, self._at)
        if group is None:
            raise NotTheSame(f"{self._source[self._at : self._at + 4]} is no group of both languages")
        self._take(len(group[0]))
        self._open.append(group[0])
        if group[1] in self._names:
            raise NotTheSame(f"two groups are called {group[1]}")
        if group[1]:
            self._names.add(group[1])
        return "(" if group[1] else group[0]

    def _escape(self) -> str:
        self._take()
        sign = self._take()
        if sign in _EDGE:
            return _EDGE[sign]
        if sign.lower() in _CLASSES:
            return f"[{'^' if sign.isupper() else ''}{_CLASSES[sign.lower()]}]"
        return self._literal(sign)

    def _literal(self, sign: str) -> str:
        """What an escape stands for, inside brackets and outside."""
        if sign in _CONTROLS and not (sign == "0" and self._peek().isdigit()):
            return _CONTROLS[sign]
        for letter, digits in (("x", 2), ("u", 4)):
            if sign == letter:
                number = self._take(digits)
                if not re.fullmatch(rf"[0-9a-fA-F]{{{digits}}}", number):
                    raise NotTheSame(f"\\{letter}{number} is no character in both languages")
                return f"\\{letter}{number}"
        if sign and not sign.isalnum() and sign.isascii():
            return "\\" + sign
        raise NotTheSame(f"\\{sign} does not mean the same in Python")

    def _bracket(self) -> str:
        self._take()
        negated = self._peek() == "^"
        if negated:
            self._take()
        parts: list[str] = []
        while (sign := self._take()) != "]":
            if not sign:
                raise NotTheSame("a bracket is not closed")
            if sign == "\\":
                is_class = self._peek().lower() in _CLASSES
                # A range to or from a class is a hyphen in one language, and something else in the other.
                if is_class and (parts[-1:] == ["-"] and len(parts) > 1):
                    raise NotTheSame("a range ends in a class")
                parts.append(self._in_bracket(self._take()))
                if is_class and self._peek() == "-" and self._source[self._at + 1 : self._at + 2] != "]":
                    raise NotTheSame("a range begins with a class")
            else:
                parts.append("\\" + sign if sign in "[&~|^#" else _written(sign))
        if not parts:
            return r"[\s\S]" if negated else r"(?!)"
        return f"[{'^' if negated else ''}{''.join(parts)}]"

    def _in_bracket(self, sign: str) -> str:
        if sign == "b":
            return r"\x08"
        if sign in _CLASSES:
            return _CLASSES[sign]
        if sign.lower() in _CLASSES:
            raise NotTheSame(f"\\{sign} within brackets has no short twin")
        return self._literal(sign)


def _written(sign: str) -> str:
    """Half a character cannot stand in a text that is sent: it is written as its escape."""
    return f"\\u{ord(sign):04x}" if "\ud800" <= sign <= "\udfff" else sign
