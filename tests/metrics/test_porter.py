import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.stem import PorterStemmer

from fairmark.metrics.porter import stem
from tests.metrics.lexicon import irregular_forms, lemmas
from tests.thoroughness import share

reference = PorterStemmer().stem

SUFFIXES = """
ational tional enci anci izer bli alli entli eli ousli fulli ization ation ator alism iveness fulness
ousness aliti iviti biliti logi icate ative alize iciti ical ful ness al ance ence er ic able ible ant
ement ment ent ion sion tion ou ism ate iti ous ive ize ed ing eed ied ies sses ss s y e ll at bl iz
"""
PIECES = [*SUFFIXES.split(), *"aeiouybcdlstwxz", "yy", "*d", "-", "'", "1", "_", "\n", "é", "ß", "İ", "Σ", "中"]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("ties", "tie"),  # four letters keep the e
        ("agreed", "agre"),
        ("feed", "feed"),
        ("hopping", "hop"),
        ("falling", "fall"),
        ("filing", "file"),
        ("enjoy", "enjoy"),
        ("happy", "happi"),
        ("fly", "fli"),
        ("by", "by"),
        ("relational", "relat"),
        ("radically", "radic"),
        ("geology", "geolog"),
        ("hopefully", "hope"),
        ("adoption", "adopt"),
        ("replacement", "replac"),
        ("controlling", "control"),
        ("skies", "sky"),
        ("Skies", "ski"),  # irregular words are known in lower case only
        ("dying", "die"),
        ("AT", "at"),
        ("", ""),
    ],
)
def test_a_word_has_the_published_stem(word: str, expected: str) -> None:
    assert stem(word) == expected


@pytest.mark.parametrize("word", ["ayyed", "byyying", "yyyyed", "syzygied", "a*ded", "e--ing", "éing", "1ed", "ab\n"])
def test_odd_characters_are_consonants_and_each_y_is_judged_by_the_letter_before_it(word: str) -> None:
    assert stem(word) == reference(word)


@pytest.mark.thorough
def test_every_word_of_wordnet_has_the_stem_the_reference_gives_it() -> None:
    every = len(lemmas()) // share(len(lemmas()) // 2)
    words = [*lemmas()[::every], *irregular_forms()]
    assert [word for word in words if stem(word) != reference(word)] == []


@settings(derandomize=True, deadline=None, max_examples=share(1500))
@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join))
def test_stems_of_invented_words_are_those_of_the_reference(word: str) -> None:
    assert stem(word) == reference(word)


@settings(derandomize=True, deadline=None, max_examples=share(300))
@given(st.text(max_size=12))
def test_stems_of_any_text_are_those_of_the_reference(word: str) -> None:
    assert stem(word) == reference(word)


def test_a_long_run_of_y_needs_no_deep_recursion() -> None:
    assert stem("y" * 101 + "ing") == reference("y" * 101 + "ing") == "y" * 99 + "i"
    assert stem("y" * 100_001 + "ing") == "y" * 99_999 + "i"
