"""Rows that people have judged: a line a judgement, read with every mistake told where it stands."""

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple

from fairmark import jsontext
from fairmark.data.dataset import DataFile
from fairmark.errors import InvalidData
from fairmark.row import SAMPLE_LIKE

ValueKind = Literal["label", "score", "preferred"]
KINDS: tuple[ValueKind, ...] = ("label", "score", "preferred")
PREFERENCES = ("a", "b", "tie")
_FIELDS = ("item", "sample", "samples", "rater", "group", "model", "weight", "picked", *KINDS)
_MORE = ("chance", "note", "id", "run_id", "item_id", "time")
"""What other commands put on such lines, and nothing here reads."""


class Rating(NamedTuple):
    """What one person said."""

    rater: str
    value: Any
    line: int


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """One answer with all that people said about it; those without any serve probes and rates."""

    number: int
    """The line that it stands on first."""
    item: Mapping[str, Any]
    sample: Any
    samples: Mapping[str, Any] | None
    ratings: tuple[Rating, ...]
    group: str
    model: str | None
    weight: float | None
    picked: str | None = None
    """Why it was labelled: "random", or what made it worth a look."""

    @property
    def human(self) -> Any:
        """The majority's label or preference, the mean score; None without any, and where votes are tied."""
        values = [rating.value for rating in self.ratings]
        if not values:
            return None
        if not isinstance(values[0], str):
            return math.fsum(values) / len(values)
        (first, most), *others = Counter(values).most_common()
        return None if others and others[0][1] == most else first

    @property
    def is_tied(self) -> bool:
        return bool(self.ratings) and self.human is None


@dataclass(frozen=True, slots=True)
class Labelled:
    """The rows of a file. `kind` is what people gave; None where nobody gave anything."""

    rows: tuple[LabelledRow, ...]
    kind: ValueKind | None
    name: str = "rows"

    @property
    def raters(self) -> list[str]:
        return sorted({rating.rater for row in self.rows for rating in row.ratings})

    @property
    def has_several_raters(self) -> bool:
        return any(len(row.ratings) > 1 for row in self.rows)


def read_labelled(path: str) -> Labelled:
    """The rows of a JSONL file, or of a JSON array; `-` is standard input. Raises InvalidData, which names the line."""
    return collect(read_lines(path), path)


def read_lines(path: str, name: str | None = None) -> Iterator[tuple[int, Any]]:
    """The lines of such a file as they are, each with its number. `name`: what the file is called, where it lies under
    another name. Raises InvalidData, which names the line."""
    for row in DataFile(path, lambda value: (value, None), name):
        if isinstance(row, InvalidData):
            raise InvalidData(f"{name or path}: {row}", row.row)
        yield row.number, row.item


def collect(lines: Iterable[tuple[int, Any]], name: str = "rows") -> Labelled:
    """Lines as rows: what several people said about one answer is one row. Raises InvalidData, which names the line."""
    rows: dict[bytes, LabelledRow] = {}
    kind: ValueKind | None = None
    kind_line = 0
    for number, line in lines:
        try:
            row, own = _read(number, line)
        except ValueError as error:
            raise InvalidData(f"{name}, line {number}: {error}", number) from None
        if own is not None and kind is None:
            kind, kind_line = own, number
        if own is not None and own != kind:
            raise InvalidData(
                f"{name}, line {number}: it has a {own}, and line {kind_line} a {kind}. A file holds one kind of them.",
                number,
            )
        key = _digest([row.item, row.sample, row.samples])
        known = rows.get(key)
        rows[key] = row if known is None else _joined(known, row)
    if not rows:
        raise InvalidData(f"{name}: there are no rows in it.")
    return Labelled(tuple(rows.values()), kind, name)


def _joined(known: LabelledRow, row: LabelledRow) -> LabelledRow:
    """What a rater says once more takes the place of what they said before: nobody is two voices."""
    again = {rating.rater for rating in row.ratings} - {""}
    kept = tuple(rating for rating in known.ratings if rating.rater not in again)
    return LabelledRow(
        known.number,
        known.item,
        known.sample,
        known.samples,
        kept + row.ratings,
        known.group,
        known.model or row.model,
        known.weight if row.weight is None else row.weight,
        known.picked or row.picked,
    )


def _read(number: int, line: Any) -> tuple[LabelledRow, ValueKind | None]:
    """Raises ValueError with what is wrong."""
    if not isinstance(line, Mapping):
        raise ValueError(f"expected an object, found {jsontext.describe(line)}.")
    for name in line:
        near = get_close_matches(name, _FIELDS, n=1, cutoff=0.8) if name not in (*_FIELDS, *_MORE) else []
        if near:
            raise ValueError(f"unknown field {jsontext.quote(name)}. Did you mean {near[0]}?")
    item = line.get("item")
    if item is None:
        item = {}
    if not isinstance(item, Mapping):
        raise ValueError(f"item: expected an object, found {jsontext.describe(item)}.")
    misplaced = next((name for name in SAMPLE_LIKE if line.get(name) is not None), None)
    if misplaced is not None and line.get("sample") is None and line.get("samples") is None:
        raise ValueError(f'it has no sample, and "{misplaced}". A model\'s answer has to stand under "sample".')
    values: list[ValueKind] = [name for name in KINDS if line.get(name) is not None]
    if len(values) > 1:
        raise ValueError(f"it has {' and '.join(values)}. A line holds one of label, score, preferred.")
    own = values[0] if values else None
    samples = _samples(line, own)
    ratings: tuple[Rating, ...] = ()
    rater = _text(line, "rater") or ""
    if own is not None:
        ratings = (Rating(rater, _value(own, line[own]), number),)
    group = line.get("group")
    if group is None:
        group = _digest(item).hex()[:12]
    elif not isinstance(group, (str, int)) or isinstance(group, bool):
        raise ValueError(f"group: expected a string, found {jsontext.describe(group)}.")
    row = LabelledRow(
        number,
        item,
        line.get("sample"),
        samples,
        ratings,
        str(group),
        _text(line, "model"),
        _weight(line.get("weight")),
        _text(line, "picked"),
    )
    return row, own


def _samples(line: Mapping[str, Any], own: ValueKind | None) -> Mapping[str, Any] | None:
    samples = line.get("samples")
    if samples is None:
        return None
    if not isinstance(samples, Mapping) or set(samples) != {"a", "b"}:
        shown = ", ".join(map(str, samples)) if isinstance(samples, Mapping) else jsontext.describe(samples)
        raise ValueError(f'samples: expected two answers, {{"a": …, "b": …}}, found {shown}.')
    if own in ("label", "score"):
        raise ValueError(f"it has two samples and a {own}. Of two samples one is preferred: a, b or tie.")
    return samples


def _value(kind: ValueKind, value: Any) -> Any:
    if kind == "score":
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ValueError(f"score: expected a number, found {jsontext.describe(value)}.")
        return float(value)
    if not isinstance(value, str):
        raise ValueError(f"{kind}: expected a string, found {jsontext.describe(value)}.")
    if kind == "preferred" and value not in PREFERENCES:
        raise ValueError(f"preferred: found {jsontext.quote(value)}. Use one of: a, b, tie.")
    return value


def _text(line: Mapping[str, Any], name: str) -> str | None:
    value = line.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name}: expected a string, found {jsontext.describe(value)}.")
    return value


def _weight(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise ValueError(
            f"weight: found {jsontext.describe(value)}. It takes 1 / the chance of being picked: 1 or more."
        )
    return float(value)


def doubt_of_passing(labelled: Labelled, passing: Collection[str]) -> str | None:
    """What is to be told where no label is one of those that are said to pass: the rate of 0 may be a mistake's."""
    labels = {rating.value for row in labelled.rows for rating in row.ratings}
    if not passing or labelled.kind != "label" or labels & {"pass", *passing}:
        return None
    wanted = " or ".join(map(jsontext.quote, passing))
    return (
        f"--passing: no label of {labelled.name} is {wanted}, so that none passes. It has: {', '.join(sorted(labels))}."
    )


def answer_key(item: Any, sample: Any) -> bytes:
    """The same for the same answer to the same item, whichever file it stands in."""
    return _digest([item or {}, sample])


def _digest(value: Any) -> bytes:
    return hashlib.sha256(jsontext.encode(value)).digest()
