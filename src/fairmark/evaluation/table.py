"""The rows that are evaluated: where they come from, which columns they have, and how the result names those."""

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from fairmark import frames, jsontext
from fairmark.data.dataset import DataFile
from fairmark.data.formats import Told
from fairmark.errors import EvaluationFailed, GradingFailed, InvalidData

Cells = dict[str, Any]

NAN = float("nan")
"""A cell that a row does not have. A null stays None."""
TARGET = "__outputs."
"""Begins the columns that a target made."""
LINE_NUMBER = "line_number"


def read(data: Any) -> list[Cells]:
    """The rows of a file, or of a list of dicts, whole: `item` and `sample` are columns here as others are."""
    try:
        framed = frames.rows_of(data)
    except InvalidData as error:
        raise EvaluationFailed(str(error)) from None
    if isinstance(data, (str, os.PathLike)):
        rows = list(_from_file(os.fspath(data)))
    elif framed is not None:
        rows = list(_from_list(framed))
    elif isinstance(data, Iterable) and not isinstance(data, (Mapping, bytes)):
        rows = list(_from_list(data))
    else:
        raise EvaluationFailed(
            f"data: expected a path, a list of objects or a data frame, found {jsontext.describe(data)}."
        )
    if not rows:
        raise EvaluationFailed("data: there are no rows in it.")
    return rows


def _from_file(path: str) -> Iterator[Cells]:
    try:
        # DataFile takes "-" for standard input; here it is a file like any other.
        for row in DataFile(os.path.join(".", path) if path == "-" else path, split=_whole, told=Told()):  # noqa: PTH118
            if isinstance(row, InvalidData):
                raise EvaluationFailed(f"data: {path}: {row}")
            yield row.item
    except InvalidData as error:
        raise EvaluationFailed(f"data: {error}") from error


def _from_list(values: Iterable[Any]) -> Iterator[Cells]:
    for number, value in enumerate(values, 1):
        try:
            row = dict(_whole(value)[0])
        except GradingFailed as error:
            raise EvaluationFailed(f"data: element {number}: {error}") from None
        strange = next((name for name in row if not isinstance(name, str)), None)
        if strange is not None:
            described = jsontext.describe(strange)
            raise EvaluationFailed(f"data: element {number}: a column's name is a string, found {described}.")
        yield row


def _whole(value: Any) -> tuple[Any, None]:
    if not isinstance(value, Mapping):
        raise GradingFailed(f"row: expected an object, found {jsontext.describe(value)}.")
    return value, None


def add_target(rows: list[Cells], made: list[Cells]) -> list[Cells]:
    """The rows with what the target made of them; nothing is added to a row where it failed."""
    return [
        {**row, LINE_NUMBER: row.get(LINE_NUMBER, index), **{TARGET + name: value for name, value in cells.items()}}
        for index, (row, cells) in enumerate(zip(rows, made, strict=True))
    ]


def columns(rows: Iterable[Cells]) -> list[str]:
    """The names of all columns, in the order in which they turn up."""
    return list(dict.fromkeys(chain.from_iterable(rows)))


def leaves(rows: list[Cells]) -> list[Cells]:
    """What lies inside the objects of each row, by dotted names: `{"o": {"a": {"b": 1}}}` has `o.a.b`.

    Empty where no row holds an object, and where a column is called conversation or messages: such are left whole.
    """
    names = columns(rows)
    objects = [name for name in names if any(isinstance(row.get(name), dict) for row in rows)]
    if not objects or "conversation" in names or "messages" in names:
        return []
    return [dict(chain.from_iterable(_inside(name, row.get(name)) for name in objects)) for row in rows]


def _inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The leaves of one cell. Lists are leaves. A stack, because data may nest deeper than Python likes to."""
    waiting: list[tuple[str, Any]] = [(name, value)] if isinstance(value, dict) else []
    while waiting:
        path, branch = waiting.pop()
        if isinstance(branch, dict):
            waiting += [(f"{path}.{key}", inner) for key, inner in reversed(branch.items())]
        else:
            yield path, branch


def shown(rows: list[Cells], inside: list[Cells], *, prefixed: bool) -> list[Cells]:
    """The beginning of the result: each row's cells, every row with all columns.

    Where a local evaluator takes part, the names begin with `inputs.`, and those of a target's columns with `outputs.`.
    """
    names = columns(rows)
    own = {name: _shown(name) if prefixed else name for name in names}
    dotted = {name: _shown(name) if prefixed else name for name in columns(inside) if name not in own}
    result = [{shown: row.get(name, NAN) for name, shown in own.items()} for row in rows]
    for cells, more in zip(result, inside, strict=False):
        cells.update((shown, more.get(name, NAN)) for name, shown in dotted.items())
    return result


def _shown(name: str) -> str:
    return f"outputs.{name.removeprefix(TARGET)}" if name.startswith(TARGET) else f"inputs.{name}"
