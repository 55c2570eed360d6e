"""The core of ROUGE in Python counts what the definition says. tests/metrics/test_rouge.py runs it beside the compiled
one."""

import pytest

from fairmark.metrics.rouge_plain import overlaps


def test_runs_of_each_length_and_the_longest_sequence_are_counted() -> None:
    assert overlaps("the cat sat on the mat", "the cat is on the mat", 1, 3, True) == (6, 6, (5, 3, 1), 5)


def test_one_length_is_counted_as_among_several() -> None:
    text, reference = "a b a b c", "b a b a c"
    several = overlaps(text, reference, 1, 4, False)[2]
    assert tuple(overlaps(text, reference, n, n, False)[2][0] for n in range(1, 5)) == several


def test_only_the_sequence_where_no_runs_are_asked_for() -> None:
    assert overlaps("a x b y c", "a b c", 1, 0, True) == (5, 3, (), 3)


@pytest.mark.parametrize(
    ("text", "words"),
    [("Don't STOP-now", 4), ("\u212aelvin", 1), ("\u0130", 1), ("naïve", 2), ("...", 0), ("a_b", 2), ("x2y", 1)],
)
def test_words_are_ascii_letters_and_digits_in_lower_case(text: str, words: int) -> None:
    assert overlaps(text, "", 1, 1, False)[0] == words
