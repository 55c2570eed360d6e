"""Handlebars: `{{#each turns}}{{{content}}}{{/each}}` -> text, for the prompts of judges.

A template is compiled once, when its grader is parsed. It reaches the keys of objects, the elements of lists and their
length, and nothing else: no attribute and no method of anything, and no helper but those listed here. Whatever it is
made of, rendering ends: steps and output are counted. Values are filled in as they are and never expanded again.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

from fairmark import jsontext
from fairmark.compiled import CompiledText
from fairmark.errors import GradingFailed, InvalidGrader, Problem

MOST_SOURCE_BYTES = 64 * 1024
MOST_RENDERED_BYTES = 1024 * 1024
MOST_LEVELS = 100
"""Blocks inside blocks, `else if` counted as one, and parentheses inside parentheses."""
MOST_STEPS = 100_000
"""Pieces of the template gone through for one text, those in loops once a round: tenths of a second at most."""

MOST_PROBLEMS = 20
"""Problems of a template that are told."""

BLOCKS = ("if", "unless", "each", "with")
HELPERS = ("lookup",)

_ESCAPED = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;", "`": "&#x60;", "=": "&#x3D;"}
)


class Own(str):
    """A text of the grader's own. What is put around a row's values is not put around it."""

    __slots__ = ()


class Handlebars(CompiledText):
    """A compiled template. `source` is what the user wrote."""

    __slots__ = ("_body", "escaped", "names")

    wanted = "It takes a string: a Handlebars template."

    def __init__(self, source: str) -> None:
        compiler = _Compiler(source)
        self._body = compiler.compile()
        super().__init__(source)
        self.names: frozenset[str] = frozenset(compiler.names)
        """The variables that it uses, as far as that can be known: not those inside an object it steps into."""
        self.escaped: tuple[str, ...] = tuple(dict.fromkeys(compiler.escaped))
        """The paths that stand in two braces, and so are escaped for HTML."""

    def render(self, values: Mapping[str, Any], around: Callable[[str], str] | None = None) -> str:
        """The text for these values, with something put around those that are texts, where `around` says what.

        Raises GradingFailed where a limit is reached.
        """
        state = _State(dict(values), around)
        _run(self._body, _Scope(state.root, None, None, {}), state)
        return "".join(state.out)


class _Data(NamedTuple):
    """What `@index` and its like read, one for every loop."""

    values: dict[str, Any]
    outer: "_Data | None"


class _Scope(NamedTuple):
    """What `this` is, where `../` leads, and the names that `as |name|` gave."""

    this: Any
    outer: "_Scope | None"
    data: _Data | None
    names: dict[str, Any]


class _State:
    """One rendering: what it has written, and how much it may still do."""

    __slots__ = ("_bytes", "_steps", "around", "out", "root")

    def __init__(self, root: dict[str, Any], around: Callable[[str], str] | None) -> None:
        self.root = root
        self.around = around
        self.out: list[str] = []
        self._bytes = 0
        self._steps = 0

    def step(self, count: int = 1) -> None:
        self._steps += count
        if self._steps > MOST_STEPS:
            raise GradingFailed(
                f"the template takes more than {MOST_STEPS:,} steps for this row. Does it loop inside a loop?"
            )

    def write(self, text: str) -> None:
        self._bytes += len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        if self._bytes > MOST_RENDERED_BYTES:
            raise GradingFailed("the template makes a text of more than 1 MiB of this row.")
        self.out.append(text)

    def show(self, value: Any, raw: bool) -> None:
        text = _text(value)
        if not raw:
            text = text.translate(_ESCAPED)
        if self.around is not None and text and not isinstance(value, (Own, bool, int, float)):
            text = self.around(text)
        self.write(text)


Read = Callable[[_Scope, _State], Any]
Body = list["str | Callable[[_Scope, _State], None]"]


def _run(body: Body, scope: _Scope, state: _State) -> None:
    for part in body:
        state.step()
        if isinstance(part, str):
            state.write(part)
        else:
            part(scope, state)


def _text(value: Any) -> str:
    """A value as text. Lists and objects are JSON: what JavaScript makes of them, [object Object], helps no judge."""
    if isinstance(value, str):
        return str(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    try:
        return jsontext.write(value) if isinstance(value, (dict, list, tuple)) else str(value)
    except (ValueError, TypeError, RecursionError):  # more digits than Python prints, a cycle, a depth without end
        raise GradingFailed(f"the template prints {jsontext.describe(value)} that cannot be written as text.") from None


def _step_into(value: Any, name: Any) -> Any:
    """What an object, a list or a text has under a name; None where it has nothing."""
    if isinstance(value, dict):
        return value.get(name) if isinstance(name, (str, int)) else None
    if isinstance(value, (list, tuple)):
        if name == "length":
            return len(value)
        key = str(name) if isinstance(name, (str, int)) else ""
        is_index = key.isascii() and key.isdecimal() and len(key) < 10
        return value[int(key)] if is_index and int(key) < len(value) else None
    return len(value) if isinstance(value, str) and name == "length" else None


def _is_empty(value: Any) -> bool:
    """What JavaScript's Handlebars takes for nothing: an empty object is something, and so is 0."""
    return value is None or value is False or (isinstance(value, (str, list, tuple)) and len(value) == 0)


class _Path(NamedTuple):
    """A variable: `../a.b`, `@index`, `this`."""

    source: str
    is_data: bool
    ups: int
    is_this: bool
    """It begins with `this` or `.`, so that no name from `as |name|` is meant."""
    names: tuple[str, ...]

    def read(self, scope: _Scope, state: _State) -> Any:
        state.step(self.ups + len(self.names))
        names = self.names
        if self.is_data:
            value = self._data(scope, state)
            names = names[1:]
        else:
            outer: _Scope | None = scope
            for _ in range(self.ups):
                outer = None if outer is None else outer.outer
            if outer is None:
                return None
            value = outer.this
            if names and not self.ups and not self.is_this and names[0] in scope.names:
                value = scope.names[names[0]]
                names = names[1:]
        for name in names:
            value = _step_into(value, name)
        return value

    def _data(self, scope: _Scope, state: _State) -> Any:
        if self.names[0] == "root":
            return state.root
        data = scope.data
        for _ in range(self.ups):
            data = None if data is None else data.outer
        return None if data is None else data.values.get(self.names[0])


class _Tag(NamedTuple):
    """What stands between braces."""

    at: int
    """Where it begins in the source."""
    sigil: str
    """`#`, `/`, `^`, `else`, `!` or nothing."""
    is_raw: bool
    words: "list[_Word]"
    params: list[str]
    """The names in `as |a b|`."""
    strip_before: bool
    strip_after: bool


class _Word(NamedTuple):
    """A part of a tag; a `name=` before it is its `key`."""

    kind: Literal["path", "literal", "call"]
    value: Any
    source: str
    key: str | None = None


class _Open:
    """A block that is not closed yet."""

    def __init__(self, tag: _Tag, helper: str, is_chained: bool) -> None:
        self.tag = tag
        self.helper = helper
        """if, unless, each or with; "" is a section."""
        self.is_chained = is_chained
        """Begun by an `{{else …}}`, and closed with the block that this belongs to."""
        self.read: Read = lambda scope, state: None
        self.include_zero = False
        self.body: Body = []
        self.inverse: Body = []
        self.in_inverse = False

    @property
    def here(self) -> Body:
        return self.inverse if self.in_inverse else self.body

    def node(self) -> Callable[[_Scope, _State], None]:
        body, inverse = self.body, self.inverse
        if self.tag.sigil == "^":
            body, inverse = inverse, body
        match self.helper:
            case "if":
                return _condition(self.read, self.include_zero, body, inverse)
            case "unless":
                return _condition(self.read, self.include_zero, inverse, body)
            case "with":
                return _with(self.read, body, inverse, self.tag.params)
            case "each":
                return _each(self.read, body, inverse, self.tag.params)
            case _:
                return _section(self.read, body, inverse, self.tag.params)


def _condition(read: Read, include_zero: bool, yes: Body, no: Body) -> Callable[[_Scope, _State], None]:
    def node(scope: _Scope, state: _State) -> None:
        value = read(scope, state)
        is_zero = isinstance(value, (int, float)) and (not value or value != value)
        holds = not _is_empty(value) and (include_zero or not is_zero)
        _run(yes if holds else no, scope, state)

    return node


def _with(read: Read, body: Body, inverse: Body, params: list[str]) -> Callable[[_Scope, _State], None]:
    def node(scope: _Scope, state: _State) -> None:
        value = read(scope, state)
        if _is_empty(value):
            _run(inverse, scope, state)
        else:
            _run(body, _Scope(value, scope, scope.data, _named(scope, params, value)), state)

    return node


def _each(read: Read, body: Body, inverse: Body, params: list[str]) -> Callable[[_Scope, _State], None]:
    def node(scope: _Scope, state: _State) -> None:
        _loop(read(scope, state), body, inverse, params, scope, state)

    return node


def _section(read: Read, body: Body, inverse: Body, params: list[str]) -> Callable[[_Scope, _State], None]:
    """A block by the name of a variable: a loop over a list, a step into an object, a condition for the rest."""

    def node(scope: _Scope, state: _State) -> None:
        value = read(scope, state)
        if value is None or value is False:
            _run(inverse, scope, state)
        elif value is True:
            _run(body, scope, state)
        elif isinstance(value, (list, tuple)):
            _loop(value, body, inverse, params, scope, state)
        else:
            _run(body, _Scope(value, scope, scope.data, scope.names), state)

    return node


def _loop(value: Any, body: Body, inverse: Body, params: list[str], scope: _Scope, state: _State) -> None:
    # One after the other, never as a copy: how long a list is must not matter where the limit ends the loop.
    pairs: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, (list, tuple)):
        pairs = enumerate(value)
    count = 0
    for index, (key, each) in enumerate(pairs):
        count += 1
        state.step()
        data = _Data({"index": index, "key": key, "first": index == 0, "last": count == len(value)}, scope.data)
        _run(body, _Scope(each, scope, data, _named(scope, params, each, key)), state)
    if not count:
        _run(inverse, scope, state)


def _named(scope: _Scope, params: list[str], *values: Any) -> dict[str, Any]:
    return {**scope.names, **dict(zip(params, values, strict=False))} if params else scope.names


class _Compiler:
    """From the source to what is run. Tells every problem that does not hide the rest of the template."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._problems: list[Problem] = []
        self._open: list[_Open] = []
        self._body: Body = []
        self.names: list[str] = []
        self.escaped: list[str] = []

    def compile(self) -> Body:
        if len(self._source.encode("utf-8", "surrogatepass")) > MOST_SOURCE_BYTES:
            raise InvalidGrader.at("", f"the template is longer than {MOST_SOURCE_BYTES // 1024} KiB.")
        texts, tags = _Lexer(self._source, self._fail).split()
        for text, tag in zip(_without_blanks(texts, tags), [*tags, None], strict=True):
            if text:
                self._here.append(text)
            if tag is not None:
                self._take(tag)
        if self._open:
            tag = self._open[-1].tag if not self._open[-1].is_chained else self._unchained().tag
            raise self._fail(tag.at, "this block is not closed.")
        if self._problems:
            raise InvalidGrader(self._problems)
        return self._body

    @property
    def _here(self) -> Body:
        return self._open[-1].here if self._open else self._body

    def _unchained(self) -> _Open:
        """The innermost block that its own tag began."""
        return next(block for block in reversed(self._open) if not block.is_chained)

    def _take(self, tag: _Tag) -> None:
        match tag.sigil:
            case "!":
                return
            case "#":
                self._begin(tag)
            case "/":
                self._end(tag)
            case "^" if tag.words:
                self._begin(tag)
            case "^" | "else":
                self._turn(tag)
            case _:
                self._print(tag)

    def _begin(self, tag: _Tag, is_chained: bool = False) -> None:
        if len(self._open) >= MOST_LEVELS:
            raise self._fail(tag.at, f"blocks are nested deeper than {MOST_LEVELS} levels.")
        if not tag.words:
            raise self._fail(tag.at, f"a block without a name. Use one of: {', '.join(BLOCKS)}.")
        head, *given = tag.words
        helper = head.source if head.source in BLOCKS else ""
        block = _Open(tag, helper, is_chained)
        arguments = [word for word in given if word.key is None]
        options = [word for word in given if word.key is not None]
        if helper:
            if len(arguments) != 1:
                self._problem(tag.at, f"{helper} takes one argument, found {len(arguments)}.")
            else:
                block.read = self._reader(tag, arguments[0])
        elif given:
            allowed = ", ".join(BLOCKS)
            self._problem(tag.at, f"unknown helper {jsontext.quote(head.source)}. Use one of: {allowed}.")
        else:
            block.read = self._reader(tag, head, is_head=True)
        for word in options if helper else []:
            if helper in ("if", "unless") and word.key == "includeZero":
                block.include_zero = word.value is True
            else:
                self._problem(tag.at, f"unknown option {jsontext.quote(str(word.key))} of {helper}.")
        if tag.params and helper in ("if", "unless"):
            self._problem(tag.at, f"{helper} gives nothing a name: as |…| stands with each and with.")
        self._open.append(block)

    def _turn(self, tag: _Tag) -> None:
        if not self._open or self._open[-1].in_inverse:
            raise self._fail(tag.at, "an else without a block that it belongs to.")
        self._open[-1].in_inverse = True
        if tag.words:
            self._begin(tag, is_chained=True)

    def _end(self, tag: _Tag) -> None:
        name = tag.words[0].source if tag.words else ""
        if not self._open:
            raise self._fail(tag.at, "nothing is open that this could close.")
        begun = self._unchained().tag
        if begun.words[0].source != name:
            line = self._line(begun.at)
            raise self._fail(tag.at, f"this does not close {self._quoted(begun.at)} of line {line}.")
        while True:
            block = self._open.pop()
            self._here.append(block.node())
            if not block.is_chained:
                return

    def _print(self, tag: _Tag) -> None:
        if not tag.words:
            raise self._fail(tag.at, "there is nothing between the braces.")
        head, *given = tag.words
        if head.source in BLOCKS:
            self._problem(tag.at, f"{head.source} begins a block: {{{{#{head.source} …}}}} … {{{{/{head.source}}}}}.")
            return
        if given or head.source in HELPERS or head.kind == "call":
            call = head if head.kind == "call" else _Word("call", tag.words, head.source)
            read = self._reader(tag, call)
        else:
            read = self._reader(tag, head, is_head=True)
            if not tag.is_raw and head.kind == "path":
                self.escaped.append(head.value.source)
        raw = tag.is_raw
        self._here.append(lambda scope, state: state.show(read(scope, state), raw))

    def _reader(self, tag: _Tag, word: _Word, is_head: bool = False) -> Read:
        """What reads the word's value. At the head of a tag even a literal is the name of a variable."""
        if word.kind == "call":
            return self._call(tag, word.value)
        if word.kind != "path" and is_head:
            word = _Word("path", _Path(word.source, False, 0, False, (str(word.value),)), word.source)
        if word.kind != "path":
            value = Own(word.value) if isinstance(word.value, str) else word.value
            return lambda scope, state: value
        path: _Path = word.value
        self._note(path)
        return path.read

    def _call(self, tag: _Tag, words: list[_Word]) -> Read:
        name = words[0].source if words else ""
        if name not in HELPERS:
            allowed = ", ".join(HELPERS)
            self._problem(tag.at, f"unknown helper {jsontext.quote(name)}. Use {allowed}; blocks: {', '.join(BLOCKS)}.")
            return lambda scope, state: None
        arguments = [self._reader(tag, word) for word in words[1:] if word.key is None]
        if len(arguments) != 2 or len(words) != 3:
            self._problem(tag.at, "lookup takes two arguments, an object or a list and a key.")
            return lambda scope, state: None
        owner, key = arguments
        return lambda scope, state: _step_into(owner(scope, state), key(scope, state))

    def _note(self, path: _Path) -> None:
        """Remember the variable where it is certain that the path starts at the top."""
        if path.is_data:
            self.names += path.names[1:2] if path.names[0] == "root" else ()
            return
        entered = [block for block in self._open if block.helper not in ("if", "unless") and not block.in_inverse]
        is_sure = all(block.helper and block.tag.sigil == "#" for block in entered)
        named = any(path.names[:1] == (name,) for block in entered for name in block.tag.params)
        if is_sure and path.ups == len(entered) and not named:
            self.names += path.names[:1]

    def _problem(self, at: int, message: str) -> None:
        if len(self._problems) < MOST_PROBLEMS:
            self._problems.append(Problem("", f"line {self._line(at)}: {self._quoted(at)}: {message}"))

    def _fail(self, at: int, message: str) -> InvalidGrader:
        """The problem that ends the compilation, together with those found before."""
        self._problem(at, message)
        return InvalidGrader(self._problems)

    def _line(self, at: int) -> int:
        return self._source.count("\n", 0, at) + 1

    def _quoted(self, at: int) -> str:
        end = self._source.find("}}", at)
        text = self._source[at : at + 80 if end < 0 else end + 2]
        return jsontext.shorten(" ".join(text.split()), 60) + ("}" if text.startswith("{{{") and end >= 0 else "")


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


class _Lexer:
    """Takes the source apart: texts, and the tags between them."""

    def __init__(self, source: str, fail: Callable[[int, str], InvalidGrader]) -> None:
        self._source = source
        self._fail = fail

    def split(self) -> tuple[list[str], list[_Tag]]:
        """One text more than there are tags: one stands before each, one after the last."""
        source = self._source
        texts: list[str] = []
        tags: list[_Tag] = []
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

    def _tag(self, start: int) -> tuple[_Tag, int]:
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
            return _Tag(start, "!", False, [], [], strip, bool(end[1])), end.end()
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
        return _Tag(start, sigil, is_raw, words, params, strip, bool(end[1])), end.end()

    def _words(self, start: int, position: int, is_triple: bool) -> tuple[list[_Word], list[str], re.Match[str]]:
        """The words of a tag, the names in its `as |…|`, and its end."""
        source = self._source
        closing, word = _pattern("end of three" if is_triple else "end"), _pattern("word")
        words: list[_Word] = []
        params: list[str] = []
        calls: list[tuple[list[_Word], str | None, int]] = []
        key: str | None = None
        while True:
            position = self._after_blanks(position)
            end = closing.match(source, position)
            if end is not None and not calls and key is None:
                return words, params, end
            found = word.match(source, position)
            if found is None:
                rest = source[position : position + 20]
                is_open = not rest or end is not None or rest.startswith("}")
                raise self._fail(start, "not closed." if is_open else f"cannot read {jsontext.quote(rest)}.")
            position = found.end()
            match found.lastgroup:
                case "key":
                    key = found["key"]
                    continue
                case "params":
                    params = found["params"].split()
                    if len(params) > 2:
                        raise self._fail(start, "as |…| gives two names at most, to the element and to its key.")
                case "open":
                    if len(calls) >= MOST_LEVELS:
                        raise self._fail(start, f"parentheses are nested deeper than {MOST_LEVELS} levels.")
                    calls.append((words, key, found.start()))
                    words = []
                case "close":
                    if not calls:
                        raise self._fail(start, "a closing parenthesis without an opening one.")
                    inner = words
                    words, key, opened = calls.pop()
                    words.append(_Word("call", inner, source[opened:position], key))
                case "string":
                    text = found.group()
                    words.append(_Word("literal", text[1:-1].replace("\\" + text[0], text[0]), text, key))
                case _:
                    words.append(self._word(start, found.group(), key))
            key = None

    def _after_blanks(self, position: int) -> int:
        found = _pattern("blanks").match(self._source, position)
        return found.end() if found else position

    def _word(self, start: int, text: str, key: str | None) -> _Word:
        if _pattern("number").fullmatch(text):
            return _Word("literal", float(text) if "." in text else int(text), text, key)
        if text in _CONSTANTS:
            return _Word("literal", _CONSTANTS[text], text, key)
        return _Word("path", self._path(start, text), text, key)

    def _path(self, start: int, text: str) -> _Path:
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
            found = _pattern("segment").match(rest, position)
            if found is None or found.group() == "this":
                break
            name = found.group().removeprefix("[").removesuffix("]")
            if name.startswith("__"):  # an attempt at Python's own: told now, and not left out in silence
                raise self._fail(start, f"{jsontext.quote(name)} cannot be reached: nothing that begins with __ can.")
            names.append(name)
            position = found.end()
            if rest[position : position + 1] in (".", "/") and position + 1 < len(rest):
                position += 1
        if position < len(rest) or (is_data and (is_this or not names)):
            raise self._fail(start, f"{jsontext.quote(text)} is not a path.")
        return _Path(text, is_data, ups, is_this, tuple(names))


def _without_blanks(texts: list[str], tags: list[_Tag]) -> list[str]:
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
