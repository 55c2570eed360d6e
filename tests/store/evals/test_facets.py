"""The short values of items in packets: which they are, and that a packet gives back what it was made of."""

from array import array
from typing import Any

import msgspec
import pytest
from sqlalchemy import select

from fairmark.store import Store
from fairmark.store.base.tables import facets
from fairmark.store.evals.facets import LONG, UNKNOWN, FacetRow, fields_of, numbers, pack, unpack
from tests.store.fielded import ROWS, filled


@pytest.mark.parametrize(
    ("item", "fields"),
    [
        ({"a": 1, "b": "x", "c": None, "d": True, "e": 0.5}, {"a": 1, "b": "x", "c": None, "d": True, "e": 0.5}),
        ({"a": {"b": {"c": 1, "d": {"e": 1}}}}, {"a.b.c": 1, "a.b.d": LONG}),
        ({"long": "x" * 81, "list": [1], "big": 2**60}, {"long": LONG, "list": LONG, "big": LONG}),
        ({"half": "\ud83d", "\ud83d": 1, "x" * 90: 1}, {"half": LONG}),
        ({str(n): n for n in range(60)}, {str(n): n for n in range(40)}),
    ],
)
def test_short_values_of_an_item_are_its_fields(item: dict[str, Any], fields: dict[str, Any]) -> None:
    assert fields_of(item) == fields


def value_of(body: bytes, field: str, row: int) -> Any:
    values, codes = unpack(body).fields[field]
    return values[codes[row]]


def test_a_packet_gives_back_what_it_was_made_of() -> None:
    rows = [
        FacetRow(70_000, "pass", [("pass", 0.25), None], {"a": 1, "b": "x"}),
        FacetRow(3, "error", [], {"a": True}),
        FacetRow(9, "skip", [("fail", -1.5), ("skip", 0.0)], {"a": 1.0, "b": LONG}),
    ]
    body = pack(rows)
    packet = unpack(body)
    assert numbers("I", packet.idx) == array("I", [70_000, 3, 9])
    assert list(packet.status) == [0, 2, 3]
    assert [list(outcomes) for outcomes in packet.outcomes] == [[0, UNKNOWN, 1], [UNKNOWN, UNKNOWN, 3]]
    assert [list(numbers("d", rewards)) for rewards in packet.scores] == [[0.25, 0.0, -1.5], [0.0, 0.0, 0.0]]
    # 1, true and 1.0 are equal in Python and yet three values.
    assert [repr(value_of(body, "a", row)) for row in range(3)] == ["1", "True", "1.0"]
    assert [value_of(body, "b", row) for row in range(3)] == ["x", None, LONG]
    assert packet.splits == {}


def test_a_packet_tells_where_judges_split_and_old_ones_where_they_did_not_say() -> None:
    rows = [FacetRow(0, "pass", [], {}), FacetRow(1, "pass", [], {}, [2]), FacetRow(2, "fail", [], {}, [0, 2])]
    body = pack(rows)
    assert unpack(body).splits == {0: b"\0\0\1", 2: b"\0\1\1"}
    old = msgspec.msgpack.encode(msgspec.msgpack.decode(body)[:-1])
    assert unpack(old).splits == {}


@pytest.mark.parametrize("different", [255, 256, 300])
def test_a_field_may_have_more_values_than_a_byte_counts(different: int) -> None:
    body = pack([FacetRow(idx, "pass", [], {"n": f"v{idx % different}"}) for idx in range(600)])
    assert [value_of(body, "n", row) for row in range(600)] == [f"v{idx % different}" for idx in range(600)]


async def test_a_batch_of_items_is_one_packet_of_its_run(store: Store) -> None:
    run, other = await filled(store, [ROWS[:2], ROWS[2:]]), await filled(store, [ROWS[:1]])
    async with store._database.read() as connection:
        query = select(facets).order_by(facets.c.run_seq, facets.c["first"])
        packets = (await connection.execute(query)).all()
    assert [(row.run_seq, row.first, row._mapping["count"]) for row in packets] == [
        (run.seq, 0, 2),
        (run.seq, 1, 3),
        (other.seq, 0, 1),
    ]
    assert numbers("I", unpack(packets[1].body).idx) == array("I", [1, 4, 3])
    assert value_of(packets[0].body, "language", 1) == "DE"
