"""Which column goes where: `${data.x}` and `${target.x}`, the arguments of a callable, the item of a grader."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fairmark import jsontext
from fairmark.errors import EvaluationFailed
from fairmark.evaluation.table import NAN, TARGET, Cells, columns

Paths = dict[str, str]
"""Parameter -> the path of its value in a row; what a target made lies under `__outputs`."""

_REFERENCE = re.compile(r"\$\{(data|target)\.(\w+(?:\.\w+)*)\}")
_MISSING = object()


def read(evaluator_config: Any) -> dict[str, Paths]:
    """The column mappings by label. A label whose entry has none is left out and so follows "default"."""
    configs = {} if evaluator_config is None else evaluator_config
    return {
        str(label): _read_one(f"evaluator_config[{jsontext.quote(str(label))}]", entry)
        for label, entry in _object("evaluator_config", configs).items()
        if _object(f"evaluator_config[{jsontext.quote(str(label))}]", entry).get("column_mapping") is not None
    }


def _read_one(where: str, entry: Mapping[str, Any]) -> Paths:
    paths = {}
    for parameter, reference in _object(f"{where}.column_mapping", entry["column_mapping"]).items():
        match = _REFERENCE.fullmatch(reference) if isinstance(reference, str) else None
        if match is None:
            shown = jsontext.quote(reference) if isinstance(reference, str) else jsontext.describe(reference)
            raise EvaluationFailed(
                f"{where}.column_mapping.{parameter}: found {shown}. Use ${{data.<column>}} or ${{target.<column>}}."
            )
        paths[str(parameter)] = match[2] if match[1] == "data" else TARGET + match[2]
    return paths


def _object(where: str, value: Any) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise EvaluationFailed(f"{where}: expected an object, found {jsontext.describe(value)}.")
    return value


def find(row: Any, path: str) -> Any:
    """The value at a path, NaN where there is none. Keys may hold dots themselves; the shortest key goes first."""
    value = _find(row, path)
    return NAN if value is _MISSING else value


def _find(value: Any, path: str) -> Any:
    if not isinstance(value, Mapping):
        return _MISSING
    for dot in re.finditer(r"\.", path):
        if path[: dot.start()] in value:
            inner = _find(value[path[: dot.start()]], path[dot.end() :])
            if inner is not _MISSING:
                return inner
    return value.get(path, _MISSING)


def unused(mappings: Mapping[str, Paths], labels: Iterable[str]) -> list[str]:
    """A word about every mapping that no evaluator has a label for."""
    known = {*labels, "default"}
    return [
        f"evaluator_config[{jsontext.quote(label)}]: there is no such evaluator; it is ignored."
        for label in mappings
        if label not in known
    ]


def check(mappings: Mapping[str, Paths], rows: list[Cells], *, has_target: bool) -> None:
    """Raises where a mapping leads to a column that no row has. A target's columns are known only once it has run."""
    names = columns(rows)
    yet_to_run = has_target and not any(name.startswith(TARGET) for name in names)
    for label, paths in mappings.items():
        for parameter, path in paths.items():
            of_target = path.startswith(TARGET)
            if (of_target and yet_to_run) or _leads_somewhere(path, rows):
                continue
            where = f"evaluator_config[{jsontext.quote(label)}].column_mapping.{parameter}"
            what = f"${{target.{path.removeprefix(TARGET)}}}" if of_target else f"${{data.{path}}}"
            no_target = of_target and not has_target
            why = "there is no target." if no_target else f"there is no such column. {known(names)}"
            raise EvaluationFailed(f"{where}: {what}: {why}")


def _leads_somewhere(path: str, rows: list[Cells]) -> bool:
    return any(_find(row, path) is not _MISSING for row in rows)


def known(names: list[str]) -> str:
    """The columns there are, for a message."""
    data = [name for name in names if not name.startswith(TARGET)]
    made = [name.removeprefix(TARGET) for name in names if name.startswith(TARGET)]
    return f"The data has: {', '.join(data)}." + (f" The target gives: {', '.join(made)}." if made else "")


class Parameters:
    """What a callable wants to be called with."""

    def __init__(self, where: str, function: Callable[..., Any]) -> None:
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            message = "Python cannot tell its parameters. Wrap it in a function of your own."
            raise EvaluationFailed(f"{where}: {message}") from None
        named = [
            parameter
            for parameter in parameters
            if parameter.kind not in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}
        ]
        self.takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
        self.names = {parameter.name for parameter in named}
        self.required = [parameter.name for parameter in named if parameter.default is parameter.empty]

    def missing(self, paths: Paths, rows: list[Cells]) -> list[str]:
        """The required parameters that have no column."""
        return [name for name in self.required if name not in paths or not _leads_somewhere(paths[name], rows)]

    def choose(self, paths: Paths) -> Paths:
        return paths if self.takes_all else {name: path for name, path in paths.items() if name in self.names}


def of_callable(
    parameters: Parameters, own: Paths | None, default: Paths, names: list[str], dotted: list[str]
) -> Paths:
    """Where a callable's arguments come from. What a target made goes before a data column of the same name.

    With a mapping of its own, a callable gets what that names, what it requires and what the target made. Without one
    it gets every column, and by their last names the leaves inside objects.
    """
    made = {name.removeprefix(TARGET): name for name in names if name.startswith(TARGET)}
    if own is not None:
        paths = {name: name for name in parameters.required} | made | own
    else:
        top = {name: name for name in names if not name.startswith(TARGET)}
        inside: Paths = {}
        for path in dotted:
            if not path.startswith(TARGET):
                inside.setdefault(path.rpartition(".")[2], path)
        paths = inside | top | made | default
    return parameters.choose(paths)


def arguments(paths: Paths, row: Cells) -> dict[str, Any]:
    return {name: find(row, path) for name, path in paths.items()}


def grader_row(paths: Paths, row: Cells) -> dict[str, Any]:
    """What a grader sees of a row. A mapping does not rename here: it only brings a target's columns into the item.

    The item is the row, or the row's own `item` with the other columns beside it. What the target made is at
    `item.__outputs.x`. A column `sample` that can be one is the sample, and stays in the item.
    """
    item = row
    if isinstance(row.get("item"), dict):
        item = {name: value for name, value in row.items() if name != "item"} | row["item"]
    made = {name.removeprefix(TARGET): value for name, value in row.items() if name.startswith(TARGET)}
    if made:
        item = {**item, TARGET.rstrip("."): made}
    for path in paths.values():
        root = path.partition(".")[0]
        if path.startswith(TARGET):
            value = _find(row, path)
            if value is not _MISSING:
                item = {**item, path.rpartition(".")[2]: value}
        elif root in row and root != "item":
            item = {**item, root: row[root]}
    sample = item.get("sample")
    return {"item": item, "sample": sample if isinstance(sample, (str, Mapping)) else None}
