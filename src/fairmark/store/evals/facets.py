"""What a run's rows can be chosen and grouped by: the short values of their items, and what the criteria said.

All of it stands in the items and the scores too, but a megabyte of these is read where a hundred would have to be. A
batch of items is one packet, column by column.
"""

import sys
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from fairmark.outcomes import OUTCOMES
from fairmark.store.base.tables import facets

LONGEST_VALUE = 80
"""Characters of a text. Longer ones are prose: nobody groups by them, and a search finds them."""
MOST_FIELDS = 40
DEEPEST = 3
LONG: list[Any] = []
"""Stands for a value that is too long, or of many parts."""
UNKNOWN = 255
"""In place of an outcome that a row does not have."""

Value = str | int | float | bool | list[Any] | None
Fields = Mapping[str, Value]


class Packet(msgspec.Struct, array_like=True):
    """Some rows, column by column. Numbers are as `array` has them, the least byte first."""

    idx: bytes
    status: bytes
    outcomes: list[bytes]
    """Of each criterion, those of the rows."""
    scores: list[bytes]
    fields: dict[str, tuple[list[Any], bytes | list[int]]]
    """Its different values, of which the first is none, and of each row the number of its value."""
    splits: dict[int, bytes] = {}
    """Of each criterion whose judges split on one of the rows: 1 where they did."""


class FacetRow(NamedTuple):
    idx: int
    status: str
    scores: Sequence[tuple[str, float] | None]
    fields: Fields
    splits: Sequence[int] = ()
    """The criteria whose judges were not of one mind, by their index."""


def fields_of(item: Mapping[str, Any]) -> dict[str, Value]:
    """The fields of an item by their paths (`metadata.language`), as far as there are not too many."""
    fields: dict[str, Value] = {}
    _collect(item, "", 1, fields)
    return fields


def _collect(item: Mapping[str, Any], path: str, depth: int, fields: dict[str, Value]) -> None:
    for name, value in item.items():
        if len(fields) >= MOST_FIELDS:
            return
        if type(name) is not str or len(path) + len(name) > LONGEST_VALUE or not name.isprintable():
            continue
        if type(value) is str:
            fields[path + name] = value if len(value) <= LONGEST_VALUE and value.isprintable() else LONG
        elif value is None or type(value) in (bool, float):
            fields[path + name] = value
        elif type(value) is int:
            fields[path + name] = value if -(2**53) <= value <= 2**53 else LONG
        elif isinstance(value, dict) and depth < DEEPEST:
            _collect(value, f"{path}{name}.", depth + 1, fields)
        else:
            fields[path + name] = LONG


def pack(rows: Sequence[FacetRow]) -> bytes:
    criteria = max((len(row.scores) for row in rows), default=0)
    names = dict.fromkeys(name for row in rows for name in row.fields)
    packet = Packet(
        _bytes("I", [row.idx for row in rows]),
        bytes(OUTCOMES.index(row.status) for row in rows),
        [bytes(_outcome(row, criterion) for row in rows) for criterion in range(criteria)],
        [_bytes("d", [_score(row, criterion) for row in rows]) for criterion in range(criteria)],
        {name: _numbered([row.fields.get(name) for row in rows]) for name in names},
        {
            split: bytes(split in row.splits for row in rows)
            for split in sorted({s for row in rows for s in row.splits})
        },
    )
    return msgspec.msgpack.encode(packet)


def _bytes(kind: str, numbers: Sequence[float]) -> bytes:
    made = array(kind, numbers)
    if sys.byteorder == "big":
        made.byteswap()
    return made.tobytes()


def numbers(kind: str, body: bytes) -> "array[Any]":
    """What `pack` has written."""
    made = array(kind, body)
    if sys.byteorder == "big":
        made.byteswap()
    return made


def _numbered(values: Sequence[Value]) -> tuple[list[Any], bytes | list[int]]:
    different: list[Any] = [None]
    known: dict[Any, int] = {None: 0}
    codes = []
    for value in values:
        # True and 1 and 1.0 are equal, and yet not the same.
        key = value if value is None or type(value) is str else (type(value), LONG is value or value)
        code = known.get(key)
        if code is None:
            code = known[key] = len(different)
            different.append(value)
        codes.append(code)
    return different, bytes(codes) if len(different) <= 256 else codes


def unpack(body: bytes) -> Packet:
    return msgspec.msgpack.decode(body, type=Packet)


def _outcome(row: FacetRow, criterion: int) -> int:
    score = row.scores[criterion] if criterion < len(row.scores) else None
    return UNKNOWN if score is None else OUTCOMES.index(score[0])


def _score(row: FacetRow, criterion: int) -> float:
    score = row.scores[criterion] if criterion < len(row.scores) else None
    return 0.0 if score is None else score[1]


async def insert(connection: AsyncConnection, run_seq: int, rows: Sequence[FacetRow]) -> None:
    """Within a transaction that holds the run's row."""
    if rows:
        values = {"run_seq": run_seq, "first": rows[0].idx, "count": len(rows), "body": pack(rows)}
        await connection.execute(facets.insert().values(values))
