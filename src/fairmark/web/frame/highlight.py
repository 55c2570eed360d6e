"""Source, prompts and their variables with colours, as markup for a <pre>."""

import io
import keyword
import re
import tokenize
from collections.abc import Iterator
from functools import cache

from markupsafe import Markup, escape

_VARIABLE = re.compile(r"\{\{\{?[^{}]*\}?\}\}")
_MARK = Markup('<span class="{}">{}</span>')
# From Python 3.12 on the parts of an f-string are tokens of their own.
_FSTRING = ("FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END")
_STRINGS = {tokenize.STRING, *(getattr(tokenize, name) for name in _FSTRING if hasattr(tokenize, name))}


def template(text: str) -> Markup:
    """A prompt, its variables marked."""
    marked, at = Markup(), 0
    for variable in _VARIABLE.finditer(text):
        marked += escape(text[at : variable.start()]) + _MARK.format("h-variable", variable[0])
        at = variable.end()
    return marked + escape(text[at:])


def code(source: str, language: str) -> Markup:
    """Source in a language that the text names; of one that is not known, as it is."""
    if language in ("python", "py", "python3"):
        return python(source)
    comment = next((sign for sign, languages in _COMMENTS.items() if language in languages), None)
    if comment is None:
        return escape(source)
    marked: list[Markup] = []
    at = 0
    for token in _tokens(comment).finditer(source):
        name = token.lastgroup or ""
        if name == "word":
            if token[0] not in _KEYWORDS:
                continue
            name = "keyword"
        marked += [escape(source[at : token.start()]), _MARK.format(_CLASSES[name], token[0])]
        at = token.end()
    return Markup().join([*marked, escape(source[at:])])


_CLASSES = {"text": "j-text", "comment": "h-comment", "number": "j-number", "keyword": "h-keyword"}
_COMMENTS = {
    # One that is never closed goes to the end: looked for once, however many begin.
    r"//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)": (
        *("javascript", "js", "jsx", "typescript", "ts", "tsx", "java", "c", "cpp", "c++", "h", "cs", "csharp", "go"),
        *("rust", "rs", "kotlin", "swift", "php", "scala", "css", "scss", "json", "jsonc", "dart"),
    ),
    r"#[^\n]*": ("bash", "sh", "shell", "zsh", "yaml", "yml", "toml", "ruby", "rb", "perl", "r", "dockerfile", "make"),
    r"--[^\n]*": ("sql", "lua", "haskell", "hs"),
}
_KEYWORDS = frozenset(
    (
        "abstract and as async await begin bool boolean break case catch char class const continue def default delete "
        "do done double echo elif else elsif end enum esac export extends extern false fi final finally float fn for "
        "foreach from func function go group having if impl implements import in inner insert int interface into is "
        "join left let limit local long loop match mod mut namespace new nil not null on or order override package "
        "private protected pub public return select self set short static struct super switch then this throw throws "
        "trait true try type typedef union unless unsafe until update use using values var void when where while with "
        "yield SELECT FROM WHERE AND OR NOT NULL IN IS AS ON JOIN LEFT RIGHT INNER OUTER GROUP BY ORDER HAVING LIMIT "
        "INSERT INTO VALUES UPDATE SET DELETE CREATE TABLE INDEX DROP ALTER WITH UNION ALL DISTINCT CASE WHEN THEN "
        "ELSE END "
    ).split()
)


@cache
def _tokens(comment: str) -> re.Pattern[str]:
    text = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`"
    number = r"\b\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?\b"
    return re.compile(
        rf"(?P<comment>{comment})|(?P<text>{text})|(?P<number>{number})|(?P<word>\b[A-Za-z]+\b)", re.DOTALL
    )


def python(source: str) -> Markup:
    """Python source. What is none is shown as it is."""
    return Markup("\n").join(python_lines(source))


def python_lines(source: str) -> list[Markup]:
    """The same line by line, each whole in itself."""
    try:
        pieces = list(_python(source))
    except (tokenize.TokenError, SyntaxError, ValueError):
        pieces = [(None, source)]
    lines = [Markup()]
    for name, text in pieces:
        for index, part in enumerate(text.split("\n")):
            if index:
                lines.append(Markup())
            if part:
                lines[-1] += escape(part) if name is None else _MARK.format(name, part)
    return lines


def _python(source: str) -> Iterator[tuple[str | None, str]]:
    """The source in pieces, each with its class."""
    starts = [0]
    for line in source.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    at, before = 0, ""
    for token in tokenize.generate_tokens(io.StringIO(source, newline="\n").readline):
        name = _class(token, before)
        begin = starts[min(token.start[0], len(starts)) - 1] + token.start[1]
        end = starts[min(token.end[0], len(starts)) - 1] + token.end[1]
        if name is not None and begin >= at:
            yield None, source[at:begin]
            yield name, source[begin:end]
            at = end
        if token.type == tokenize.NAME:
            before = token.string
    yield None, source[at:]


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
