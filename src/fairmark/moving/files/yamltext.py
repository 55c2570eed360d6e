"""YAML in, as JSON would have it: one document of plain values, bounded however it was written.

Bare words mean what they do in YAML 1.2, as for the tools whose files these are: `yes` and `on` are texts, and so are
dates.
"""

import re
from typing import Any

import yaml

from fairmark import jsontext
from fairmark.errors import InvalidData

MOST_BYTES = 8_000_000
MOST_VALUES = 500_000
"""What aliases stand for counts each time: ten lines of them can mean more values than any machine has room for."""
MOST_DEPTH = 100

_MERGE, _TEXT = "tag:yaml.org,2002:merge", "tag:yaml.org,2002:str"
# The one in C where there is it: twenty times as fast.
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]
    """Without YAML 1.1's own ideas of what a bare word is."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _begins in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("merge", r"<<", "<"),
):
    _begin: list[str] = ["" if sign == "\0" else sign for sign in _begins]
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})\Z"), _begin)


def _integer(loader: Any, node: yaml.ScalarNode) -> int:
    text = str(loader.construct_scalar(node))
    base = {"0o": 8, "0x": 16}.get(text[:2], 10)
    if len(text) > 1000:
        raise yaml.constructor.ConstructorError(None, None, "a number of more than 1000 digits", node.start_mark)
    return int(text, base)


_Loader.add_constructor("tag:yaml.org,2002:int", _integer)


def decode(path: str, content: bytes, last_wins: bool = False) -> Any:
    """The value of a document: objects with texts as keys, lists, texts, numbers, true, false and null.

    `last_wins`: of a key that is there twice the last counts, as for tools written in Python.
    Raises InvalidData, with the line, for what is not YAML, has a key twice, or is out of bounds.
    """
    if len(content) > MOST_BYTES:
        raise InvalidData(f"{path}: it is YAML of {len(content):,} bytes. At most {MOST_BYTES:,} are read.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidData(f"{path}: byte {error.start + 1} is not UTF-8.") from None
    try:
        _check_bounds(path, text)
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _Measure(path, last_wins).measure(node)
            return _plain(path, loader.construct_document(node))
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise InvalidData(f"{path}: {_in_words(error)}") from None
    except RecursionError:
        raise InvalidData(f"{path}: it is nested too deeply.") from None


def _check_bounds(path: str, text: str) -> None:
    """Before anything is built of it: what builds goes down as deep as the text does."""
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=_Loader)):
        if count > 2 * MOST_VALUES:
            raise InvalidData(f"{path}: it holds more than {MOST_VALUES:,} values.")
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            depth += 1
            if depth > MOST_DEPTH:
                line = f", line {event.start_mark.line + 1}" if event.start_mark else ""
                raise InvalidData(f"{path}{line}: it is nested deeper than {MOST_DEPTH} levels.")
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            depth -= 1


class _Measure:
    """How many values there are, with all that aliases stand for."""

    def __init__(self, path: str, last_wins: bool) -> None:
        self._path = path
        self._last_wins = last_wins
        self._known: dict[int, int] = {}
        self._above: set[int] = set()

    def measure(self, node: yaml.Node) -> int:
        if isinstance(node, yaml.ScalarNode):
            return 1
        known = self._known.get(id(node))
        if known is not None:
            return known
        if id(node) in self._above:
            raise self._wrong(node, "it contains itself")
        self._above.add(id(node))
        size = 1
        if isinstance(node, yaml.MappingNode):
            self._check_keys(node)
            size += sum(self.measure(key) + self.measure(value) for key, value in node.value)
        elif isinstance(node, yaml.SequenceNode):
            size += sum(self.measure(child) for child in node.value)
        if size > MOST_VALUES:
            raise self._wrong(node, f"with its aliases it stands for more than {MOST_VALUES:,} values")
        self._above.discard(id(node))
        self._known[id(node)] = size
        return size

    def _check_keys(self, node: yaml.MappingNode) -> None:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self._wrong(key, "a key has to be a text")
            if key.tag == _MERGE:
                continue
            if key.value in seen and not self._last_wins:
                raise self._wrong(key, f"the key {jsontext.quote(key.value)} is there twice")
            seen.add(key.value)
            key.tag = _TEXT  # keys are texts, whatever they look like

    def _wrong(self, node: yaml.Node, what: str) -> InvalidData:
        return InvalidData(f"{self._path}, line {node.start_mark.line + 1}: {what}.")


def _plain(path: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(path, inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(path, inner) for inner in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and value - value == 0:
        return value
    raise InvalidData(f"{path}: it holds {jsontext.describe(value)}, for which JSON has no value.")


def _in_words(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    where = f"line {mark.line + 1} column {mark.column + 1}: " if mark is not None else ""
    return f"not YAML: {where}{jsontext.shorten(str(problem), 200)}."
