"""From a template's source to what is run. Whatever can be known to be wrong is told here."""

from collections.abc import Callable

from fairmark import jsontext
from fairmark.errors import InvalidGrader, Problem
from fairmark.text.handlebars.lexing import MOST_LEVELS, Lexer, Tag, Word, without_blanks
from fairmark.text.handlebars.rendering import (
    Body,
    Own,
    Path,
    Read,
    Rendering,
    Scope,
    condition,
    each,
    section,
    step_into,
    with_,
)

MOST_SOURCE_BYTES = 64 * 1024
MOST_PROBLEMS = 20
"""Problems of a template that are told."""
BLOCKS = ("if", "unless", "each", "with")
HELPERS = ("lookup",)


class Open:
    """A block that is not closed yet."""

    def __init__(self, tag: Tag, helper: str, is_chained: bool) -> None:
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

    def node(self) -> Callable[[Scope, Rendering], None]:
        body, inverse = self.body, self.inverse
        if self.tag.sigil == "^":
            body, inverse = inverse, body
        match self.helper:
            case "if":
                return condition(self.read, self.include_zero, body, inverse)
            case "unless":
                return condition(self.read, self.include_zero, inverse, body)
            case "with":
                return with_(self.read, body, inverse, self.tag.params)
            case "each":
                return each(self.read, body, inverse, self.tag.params)
            case _:
                return section(self.read, body, inverse, self.tag.params)


class Compiler:
    """From the source to what is run. Tells every problem that does not hide the rest of the template."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._problems: list[Problem] = []
        self._open: list[Open] = []
        self._body: Body = []
        self.names: list[str] = []

    def compile(self) -> Body:
        if len(self._source.encode("utf-8", "surrogatepass")) > MOST_SOURCE_BYTES:
            raise InvalidGrader.at("", f"the template is longer than {MOST_SOURCE_BYTES // 1024} KiB.")
        texts, tags = Lexer(self._source, self._fail).split()
        for text, tag in zip(without_blanks(texts, tags), [*tags, None], strict=True):
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

    def _unchained(self) -> Open:
        """The innermost block that its own tag began."""
        return next(block for block in reversed(self._open) if not block.is_chained)

    def _take(self, tag: Tag) -> None:
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

    def _begin(self, tag: Tag, is_chained: bool = False) -> None:
        if len(self._open) >= MOST_LEVELS:
            raise self._fail(tag.at, f"blocks are nested deeper than {MOST_LEVELS} levels.")
        if not tag.words:
            raise self._fail(tag.at, f"a block without a name. Use one of: {', '.join(BLOCKS)}.")
        head, *words = tag.words
        helper = head.source if head.source in BLOCKS else ""
        block = Open(tag, helper, is_chained)
        arguments = [word for word in words if word.key is None]
        options = [word for word in words if word.key is not None]
        if helper:
            if len(arguments) != 1:
                self._problem(tag.at, f"{helper} takes one argument, found {len(arguments)}.")
            else:
                block.read = self._reader(tag, arguments[0])
        elif words:
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

    def _turn(self, tag: Tag) -> None:
        if not self._open or self._open[-1].in_inverse:
            raise self._fail(tag.at, "an else without a block that it belongs to.")
        self._open[-1].in_inverse = True
        if tag.words:
            self._begin(tag, is_chained=True)

    def _end(self, tag: Tag) -> None:
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

    def _print(self, tag: Tag) -> None:
        if not tag.words:
            raise self._fail(tag.at, "there is nothing between the braces.")
        head, *words = tag.words
        if head.source in BLOCKS:
            self._problem(tag.at, f"{head.source} begins a block: {{{{#{head.source} …}}}} … {{{{/{head.source}}}}}.")
            return
        if words or head.source in HELPERS or head.kind == "call":
            call = head if head.kind == "call" else Word("call", tag.words, head.source)
            read = self._reader(tag, call)
        else:
            read = self._reader(tag, head, is_head=True)
        self._here.append(lambda scope, state: state.show(read(scope, state)))

    def _reader(self, tag: Tag, word: Word, is_head: bool = False) -> Read:
        """What reads the word's value. At the head of a tag even a literal is the name of a variable."""
        if word.kind == "call":
            return self._call(tag, word.value)
        if word.kind != "path" and is_head:
            word = Word("path", Path(word.source, False, 0, False, (str(word.value),)), word.source)
        if word.kind != "path":
            value = Own(word.value) if isinstance(word.value, str) else word.value
            return lambda scope, state: value
        path: Path = word.value
        self._note(path)
        return path.read

    def _call(self, tag: Tag, words: list[Word]) -> Read:
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
        return lambda scope, state: step_into(owner(scope, state), key(scope, state))

    def _note(self, path: Path) -> None:
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
