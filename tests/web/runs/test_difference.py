"""Where two texts differ: nothing lost, nothing made up, and readable."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairmark.web.runs.difference import MOST_WORDS, Piece, TextDifference, compare


def only(pieces: list[Piece]) -> list[str]:
    return [piece.text for piece in pieces if not piece.is_common]


def whole(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


@pytest.mark.parametrize(
    ("first", "second", "removed", "added"),
    [
        ("It is Paris, I think.", "It is Lyon, I think.", [" Paris"], [" Lyon"]),
        ("Paris", "Paris.", [], ["."]),
        ("Paris is big", "Paris", [" is big"], []),
        ("", "Paris", [], ["Paris"]),
        ("one two", "one  two", [" two"], ["  two"]),  # a blank more is a difference
        ("Ünïcödé wörds", "Ünïcödé words", [" wörds"], [" words"]),
    ],
)
def test_what_only_one_text_has_is_told_word_by_word(
    first: str, second: str, removed: list[str], added: list[str]
) -> None:
    found = compare(first, second)
    assert only(found.first) == removed
    assert only(found.second) == added


def test_equal_texts_are_one_common_piece() -> None:
    assert compare("the same text", "the same text") == TextDifference(
        [Piece("the same text", True)], [Piece("the same text", True)]
    )
    assert compare("the same text", "the same text").is_equal
    assert compare("", "").is_equal
    assert not compare("one", "two").is_equal


def test_a_single_word_that_both_happen_to_have_is_no_island_in_different_texts() -> None:
    found = compare("cats are the best pets by far", "dogs bark at the mailman every single day")
    assert found.first == [Piece("cats are the best pets by far", False)]
    assert found.second == [Piece("dogs bark at the mailman every single day", False)]


@given(st.text("ab .\n", max_size=60), st.text("ab .\n", max_size=60))
def test_the_pieces_joined_are_the_texts_and_the_common_ones_are_the_same(first: str, second: str) -> None:
    found = compare(first, second)
    assert whole(found.first) == first
    assert whole(found.second) == second
    common = ["".join(piece.text for piece in pieces if piece.is_common) for pieces in found]
    assert common[0] == common[1]
    assert found.is_equal == (first == second)
    for pieces in found:
        assert all(one.is_common != other.is_common for one, other in pairwise(pieces))


def test_a_text_too_long_to_compare_differs_as_a_whole_but_for_its_ends() -> None:
    first = "Begin " + "a b " * MOST_WORDS + "end"
    second = "Begin " + "c d " * MOST_WORDS + "end"
    found = compare(first, second)
    assert [piece.text for piece in found.first if piece.is_common] == ["Begin", " end"]
    assert len(only(found.first)) == 1
