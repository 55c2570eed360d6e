"""Source, prompts and their variables with colours, as markup for a <pre>."""

import io
import keyword
import re
import tokenize
from collections.abc import Iterator

from markupsafe import Markup, escape

_VARIABLE = re.compile(r"\{\{\{?[^{}]*\}?\}\}")
_MARK = Markup('<span class="{}">{}</span>')
# From Python 3.12 on the parts of an f-string are tokens of their own.
_FSTRING = ("FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END")
_STRINGS = {tokenize.STRING, *(getattr(tokenize, name) for name in _FSTRING if hasattr(tokenize, name))}


def template(text: str) -> Markup:
    """A prompt, its variables marked."""
    found, at = Markup(), 0
    for variable in _VARIABLE.finditer(text):
        found += escape(text[at : variable.start()]) + _MARK.format("h-variable", variable[0])
        at = variable.end()
    return found + escape(text[at:])


def python(source: str) -> Markup:
    """Python source. What is none is shown as it is."""
    try:
        return Markup().join(_python(source))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return escape(source)


def _python(source: str) -> Iterator[Markup]:
    starts = [0]
    for line in source.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    at, before = 0, ""
    for token in tokenize.generate_tokens(io.StringIO(source, newline="\n").readline):
        name = _class(token, before)
        begin = starts[min(token.start[0], len(starts)) - 1] + token.start[1]
        end = starts[min(token.end[0], len(starts)) - 1] + token.end[1]
        if name is not None and begin >= at:
            yield escape(source[at:begin])
            yield _MARK.format(name, source[begin:end])
            at = end
        if token.type == tokenize.NAME:
            before = token.string
    yield escape(source[at:])


def _class(token: tokenize.TokenInfo, before: str) -> str | None:
    if token.type in _STRINGS:
        return "j-text"
    if token.type == tokenize.COMMENT:
        return "h-comment"
    if token.type == tokenize.NUMBER:
        return "j-number"
    if token.type == tokenize.NAME:
        if keyword.iskeyword(token.string):
            return "j-number" if token.string in ("True", "False", "None") else "h-keyword"
        return "j-name" if before in ("def", "class") else None
    return None
