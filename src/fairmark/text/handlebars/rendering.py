"""What a compiled template does for one text. It always ends: steps and output are counted."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from fairmark import jsontext
from fairmark.errors import GradingFailed

MOST_RENDERED_BYTES = 1024 * 1024
MOST_STEPS = 100_000
"""Pieces of the template gone through for one text, those in loops once a round: tenths of a second at most."""


class Own(str):
    """A text of the grader's own. What is put around a row's values is not put around it."""

    __slots__ = ()


class Data(NamedTuple):
    """What `@index` and its like read, one for every loop."""

    values: dict[str, Any]
    outer: "Data | None"


class Scope(NamedTuple):
    """What `this` is, where `../` leads, and the names that `as |name|` gave."""

    this: Any
    outer: "Scope | None"
    data: Data | None
    names: dict[str, Any]


class Rendering:
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

    def show(self, value: Any) -> None:
        text = _text(value)
        if self.around is not None and text and not isinstance(value, (Own, bool, int, float)):
            text = self.around(text)
        self.write(text)


Read = Callable[[Scope, Rendering], Any]
Body = list["str | Callable[[Scope, Rendering], None]"]


def run(body: Body, scope: Scope, state: Rendering) -> None:
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


def step_into(value: Any, name: Any) -> Any:
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


class Path(NamedTuple):
    """A variable: `../a.b`, `@index`, `this`."""

    source: str
    is_data: bool
    ups: int
    is_this: bool
    """It begins with `this` or `.`, so that no name from `as |name|` is meant."""
    names: tuple[str, ...]

    def read(self, scope: Scope, state: Rendering) -> Any:
        state.step(self.ups + len(self.names))
        names = self.names
        if self.is_data:
            value = self._data(scope, state)
            names = names[1:]
        else:
            outer: Scope | None = scope
            for _ in range(self.ups):
                outer = None if outer is None else outer.outer
            if outer is None:
                return None
            value = outer.this
            if names and not self.ups and not self.is_this and names[0] in scope.names:
                value = scope.names[names[0]]
                names = names[1:]
        for name in names:
            value = step_into(value, name)
        return value

    def _data(self, scope: Scope, state: Rendering) -> Any:
        if self.names[0] == "root":
            return state.root
        data = scope.data
        for _ in range(self.ups):
            data = None if data is None else data.outer
        return None if data is None else data.values.get(self.names[0])


def condition(read: Read, include_zero: bool, yes: Body, no: Body) -> Callable[[Scope, Rendering], None]:
    def node(scope: Scope, state: Rendering) -> None:
        value = read(scope, state)
        is_zero = isinstance(value, (int, float)) and (not value or value != value)
        holds = not _is_empty(value) and (include_zero or not is_zero)
        run(yes if holds else no, scope, state)

    return node


def with_(read: Read, body: Body, inverse: Body, params: list[str]) -> Callable[[Scope, Rendering], None]:
    def node(scope: Scope, state: Rendering) -> None:
        value = read(scope, state)
        if _is_empty(value):
            run(inverse, scope, state)
        else:
            run(body, Scope(value, scope, scope.data, _named(scope, params, value)), state)

    return node


def each(read: Read, body: Body, inverse: Body, params: list[str]) -> Callable[[Scope, Rendering], None]:
    def node(scope: Scope, state: Rendering) -> None:
        _loop(read(scope, state), body, inverse, params, scope, state)

    return node


def section(read: Read, body: Body, inverse: Body, params: list[str]) -> Callable[[Scope, Rendering], None]:
    """A block by the name of a variable: a loop over a list, a step into an object, a condition for the rest."""

    def node(scope: Scope, state: Rendering) -> None:
        value = read(scope, state)
        if value is None or value is False:
            run(inverse, scope, state)
        elif value is True:
            run(body, scope, state)
        elif isinstance(value, (list, tuple)):
            _loop(value, body, inverse, params, scope, state)
        else:
            run(body, Scope(value, scope, scope.data, scope.names), state)

    return node


def _loop(value: Any, body: Body, inverse: Body, params: list[str], scope: Scope, state: Rendering) -> None:
    # One after the other, never as a copy: how long a list is must not matter where the limit ends the loop.
    pairs: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, (list, tuple)):
        pairs = enumerate(value)
    count = 0
    for index, (key, element) in enumerate(pairs):
        count += 1
        state.step()
        data = Data({"index": index, "key": key, "first": index == 0, "last": count == len(value)}, scope.data)
        run(body, Scope(element, scope, data, _named(scope, params, element, key)), state)
    if not count:
        run(inverse, scope, state)


def _named(scope: Scope, params: list[str], *values: Any) -> dict[str, Any]:
    return {**scope.names, **dict(zip(params, values, strict=False))} if params else scope.names
