import time

import pytest
from hypothesis import given, settings
from nltk.tokenize import NLTKWordTokenizer

from fairmark.metrics.words import apply_rules, split_words
from tests.metrics.oracles import ascii_texts, thorough
from tests.thoroughness import share


def reference_words(sentence: str) -> list[str]:
    return list(NLTKWordTokenizer().tokenize(sentence))


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ('He said, "Hi."', ["He", "said", ",", "``", "Hi", ".", "''"]),
        ("I cannot, don't and Gonna's", ["I", "can", "not", ",", "do", "n't", "and", "Gon", "na", "'s"]),
        ("'Tis $3.88 (1,200)...", ["'T", "is", "$", "3.88", "(", "1,200", ")", "..."]),
        ("the U.S. army", ["the", "U.S.", "army"]),
        ("the U.S.", ["the", "U.S", "."]),
        ('a. ) "', ["a.", ")", "``"]),
        ("a. ) )", ["a", ".", ")", ")"]),  # a period before closing brackets is the last
        ('say "a', ["say", "``", "a"]),
        ('say\n"a', ["say", "''", "a"]),  # the quote opens only after a space
        ("x's' y", ["x", "'s", "'", "y"]),
        ("x's'\ny", ["x's", "'", "y"]),
        ("a,,b", ["a", ",", ",b"]),
        ("```", ["``", "`"]),
    ],
)
def test_a_sentence_is_cut_into_these_words(sentence: str, expected: list[str]) -> None:
    assert split_words(sentence) == expected == reference_words(sentence)


@settings(thorough, max_examples=share(1200))
@given(ascii_texts.map(str.rstrip))
def test_the_words_are_those_of_the_reference(sentence: str) -> None:
    expected = reference_words(sentence)
    assert split_words(sentence) == expected
    assert apply_rules(sentence, ends=True) == expected
    assert split_words(sentence) == expected  # now from memory


@pytest.mark.parametrize("piece", ["a", ".", '"', "'", "`", "a,", "(", "a.) ", "' "])
def test_long_sentences_are_cut_in_seconds(piece: str) -> None:
    began = time.thread_time()
    assert split_words((piece * 200_000).rstrip())
    assert time.thread_time() - began < 5
