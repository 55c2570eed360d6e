"""Rows out of data frames, and results as data frames. Their packages are never imported for the former."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fairmark import jsontext
from fairmark.errors import InvalidData

CHUNK_ROWS = 4096


def rows_in(data: Any) -> Any:
    """The rows of a frame; what is none as it is. Raises InvalidData for a text or a single object too: its letters or
    its keys are no rows, and each of them would be one that cannot be read."""
    if isinstance(data, (str, bytes)):
        advice = "fairmark.evaluate(data=…) and the command fairmark eval read files."
        raise InvalidData(f"rows: expected a list of rows or a data frame, found {jsontext.describe(data)}. {advice}")
    if isinstance(data, Mapping) and not type(data).__module__.startswith("datasets"):
        advice = "Put it into a list, or call grade(grader, sample, item)."
        raise InvalidData(f"rows: expected a list of rows or a data frame, found one object. {advice}")
    rows = rows_of(data)
    return data if rows is None else rows


def rows_of(data: Any) -> Iterator[dict[str, Any]] | None:
    """The rows of a frame of pandas or polars, of a table of pyarrow or a data set of Hugging Face; None for what is
    none of them. Raises InvalidData for several data sets in one, and for two columns of one name.

    Their values are as JSON has them: `as_json`.
    """
    module = type(data).__module__.partition(".")[0]
    if module == "polars":
        frame = data.collect() if hasattr(data, "collect") else data
        return _plain_rows(frame.iter_rows(named=True)) if hasattr(frame, "iter_rows") else None
    if module == "pandas" and hasattr(data, "columns"):
        _refuse_repeated(data.columns)
        parts = (data.iloc[start : start + CHUNK_ROWS] for start in range(0, len(data), CHUNK_ROWS))
        return _plain_rows(row for part in parts for row in part.to_dict("records"))
    if module == "pyarrow" and hasattr(data, "to_batches"):
        _refuse_repeated(data.schema.names)
        batches = data.to_batches(max_chunksize=CHUNK_ROWS)
        return _plain_rows(row for batch in batches for row in batch.to_pylist())
    if module == "datasets" and isinstance(data, dict):
        splits = ", ".join(map(str, data))
        raise InvalidData(
            f"data: several data sets in one: {splits}. Choose one of them: data[{next(iter(data), '')!r}]."
        )
    if module == "datasets" and hasattr(data, "features"):
        return _plain_rows(data)
    return None


def _refuse_repeated(names: Iterable[Any]) -> None:
    """Of two columns of one name only one would be in a row."""
    seen: set[str] = set()
    for name in map(str, names):
        if name in seen:
            raise InvalidData(f"data: two of its columns are called {jsontext.quote(name)}. Rename one of them.")
        seen.add(name)


def _plain_rows(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield {str(name): as_json(value) for name, value in row.items()}


def as_json(value: Any) -> Any:
    """A value of a frame or a database as JSON has it, so that graders see the same wherever a row comes from: a
    missing value, NaN too, is None, times are texts as in 2026-01-02T03:04:05, decimals are numbers, arrays lists."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if jsontext.is_missing(value):
        return None
    if kind is float:
        return value
    if kind is dict:
        return {str(name): as_json(inner) for name, inner in value.items()}
    if kind in (list, tuple):
        return [as_json(inner) for inner in value]
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if kind.__name__ in _TEXTS:
        return str(value)
    if kind.__name__ == "Decimal":
        return as_json(float(value))
    simple = value.tolist() if callable(getattr(value, "tolist", None)) else value
    return value if type(simple) is kind else as_json(simple)


_PLAIN = frozenset({str, int, bool, type(None)})
_TEXTS = frozenset({"UUID", "timedelta", "Timedelta", "IPv4Address", "IPv6Address"})
"""By name, because whoever has none of them shall not wait for their modules."""


def to_pandas(rows: list[dict[str, Any]]) -> Any:
    """The rows as a frame of pandas. Raises ImportError where it is not installed."""
    import pandas

    return pandas.DataFrame(rows)


def to_polars(rows: list[dict[str, Any]]) -> Any:
    """The rows as a frame of polars. Raises ImportError where it is not installed."""
    import polars

    return polars.DataFrame(rows, infer_schema_length=None)
