import re
import time

import pytest
from hypothesis import given, settings

from fairmark.metrics.international import patterns, split_international
from tests.metrics.oracles import foreign_texts, international, texts, thorough
from tests.thoroughness import share


def reference_words(text: str) -> list[str]:
    return list(international().international_tokenize(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("café au lait", ["caf", "é", "au", "lait"]),
        ("東京は、大きい。", ["東京は", "、", "大きい", "。"]),
        ("3,5 €", ["3,5", "€"]),
        ("a,5 €", ["a", ",", "5", "€"]),
        ("<skipped>ä&amp;lt;", ["ä", "&", "lt", ";"]),
        ("ä&#91;&#65;", ["ä", "[", "&", "#65;"]),
        ("ä\u2028ö", ["ä", "ö"]),
        ("ä...", ["ä", ".", ".", "."]),
        ("", []),
    ],
)
def test_text_is_cut_into_these_words(text: str, expected: list[str]) -> None:
    assert split_international(text) == expected == reference_words(text)


@settings(thorough, max_examples=share(1000))
@given(foreign_texts | texts)
def test_the_words_are_those_of_the_reference(text: str) -> None:
    assert split_international(text) == reference_words(text)


def test_every_character_falls_into_the_lists_of_the_reference() -> None:
    tokenizer = international()
    listed = [tokenizer.pup_number, tokenizer.pup_punct, tokenizer.pup_symbol]
    after, _, symbol = patterns()
    classes = [*after.pattern.strip("()").split(")("), symbol.pattern]
    everything = "".join(map(chr, range(0x110000)))
    for characters, pattern in zip(listed, classes, strict=True):
        assert set(re.findall(pattern, everything)) == set(characters)


@pytest.mark.parametrize("piece", ["é", "。", "é.", "€", "é ", "&amp;é"])
def test_long_texts_are_cut_in_seconds(piece: str) -> None:
    began = time.thread_time()
    assert split_international(piece * 200_000)
    assert time.thread_time() - began < 5
