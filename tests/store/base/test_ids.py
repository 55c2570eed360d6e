"""The forms of ids."""

import re

import pytest

from fairmark.store import ids

RUN = "evalrun_" + "0" * 32
OTHER = "evalrun_" + "1" * 32


def test_ids_have_the_forms_of_the_wire() -> None:
    assert re.fullmatch("eval_[0-9a-f]{32}", ids.new("eval_"))
    assert re.fullmatch("file-[0-9a-z]{22,}", ids.new_file())
    assert re.fullmatch("outputitem_[0-9a-f]{32}", ids.of_item(RUN, 7))
    assert ids.of_item(RUN, 7).endswith("00000007")


def test_an_items_id_tells_its_index_to_its_own_run_only() -> None:
    for idx in (0, 1, 255, 2**31 - 1):
        assert ids.index_in(RUN, ids.of_item(RUN, idx)) == idx
        assert ids.index_in(OTHER, ids.of_item(RUN, idx)) is None


@pytest.mark.parametrize(
    "tail", ["", "0", "0000000g", "000000001", "0000000A", "80000000", "ffffffff", "-0000001", "\x00"]
)
def test_an_id_that_was_never_given_is_no_index(tail: str) -> None:
    assert ids.index_in(RUN, ids.of_item(RUN, 0)[:-8] + tail) is None


def test_the_index_alone_is_no_id() -> None:
    assert ids.index_in(RUN, "00000000") is None


@pytest.mark.parametrize(
    ("text", "worth_a_look"), [("eval_1", True), ("", False), ("a\x00", False), ("é", False), ("a\n", False)]
)
def test_only_what_can_be_an_id_is_looked_for(text: str, worth_a_look: bool) -> None:
    assert ids.plausible(text) is worth_a_look
