"""What bleu and gleu share: matching n-grams, counted as often as both texts have them."""

import pytest

from fairmark.metrics.overlap import CODED, overlap


@pytest.mark.parametrize(
    ("text", "reference", "expected"),
    [
        ("the cat sat", "the cat sat", ([3, 2, 1, 0], 3, 3)),
        ("the the the", "the cat", ([1, 0, 0, 0], 3, 2)),
        ("a b a b", "a b a b a b", ([4, 3, 2, 1], 4, 6)),
        ("a b c", "c b a", ([3, 0, 0, 0], 3, 3)),
        ("A", "a", ([0, 0, 0, 0], 1, 1)),
        ("", "a", ([0, 0, 0, 0], 0, 1)),
        ("a", "", ([0, 0, 0, 0], 1, 0)),
    ],
)
def test_runs_of_words_are_counted_by_their_length(
    text: str, reference: str, expected: tuple[list[int], int, int]
) -> None:
    assert overlap(text, reference) == expected


def test_a_reference_is_taken_apart_once() -> None:
    reference = "one reference for many inputs"
    overlap("a", reference)
    before = CODED[reference]
    overlap("b", reference)
    assert CODED[reference] is before
