"""What goes to another machine and what comes back."""

import msgspec

from fairmark.cluster.orders import Answer, Order, Share, digest, pack_answer, pack_order, read_answer, read_order
from fairmark.parse import parse
from fairmark.work.frames import pack_row

GRADER = {"type": "string_check", "name": "exact", "input": "{{item.a}}", "reference": "b", "operation": "eq"}


def test_an_order_comes_out_as_it_went_in() -> None:
    row = {"item": {"a": "ä", "n": [1, None, 2.5]}, "sample": None}
    order = Order(b"hash", GRADER, [pack_row(row)], "team", "call 1", Share(10.0, None), 2.5)
    assert read_order(pack_order(order)) == order._replace(rows=[row])
    assert read_order(pack_order(Order(b"hash", None, []))) == Order(b"hash", None, [])


def test_equal_graders_have_equal_hashes_and_others_others() -> None:
    first, same = digest(parse(GRADER)), digest(parse(dict(reversed(GRADER.items()))))
    other = digest(parse({**GRADER, "reference": "c"}))
    assert first is not None
    assert same is not None
    assert other is not None
    assert first[1] == GRADER
    assert first[0] != other[0]


def test_a_grader_with_half_an_emoji_has_no_hash_and_stays_here() -> None:
    assert digest(parse({**GRADER, "reference": "\ud83d"})) is None


def test_an_answer_comes_out_as_it_went_in() -> None:
    answer = Answer([[1.0, {}]], None, 12, 0.5)
    packed = pack_answer(answer)
    assert isinstance(packed, bytes)
    assert read_answer(packed) == answer


def test_an_answer_with_half_an_emoji_goes_the_slower_way() -> None:
    answer = Answer([["\ud83d"]])
    assert read_answer(pack_answer(answer)) == answer


def test_rows_are_packed_once() -> None:
    packed = pack_row({"item": {}})
    assert packed in pack_order(Order(b"", None, [packed]))
    assert msgspec.msgpack.decode(packed) == {"item": {}}
