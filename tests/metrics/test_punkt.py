import time

import pytest
from hypothesis import given, settings

from fairmark.metrics.punkt import model, sentences
from tests.metrics.oracles import ascii_texts, reference_sentences, thorough
from tests.thoroughness import share


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two.", ["One.", "Two."]),
        ("Dr. Smith came.", ["Dr. Smith came."]),
        ("He saw Dr. However, she left.", ["He saw Dr.", "However, she left."]),
        ("(One.) Two", ["(One.)", "Two"]),
        ('He said "yes." She left.', ['He said "yes."', "She left."]),
        ("J. Bach", ["J. Bach"]),
        ("Version 2. is out", ["Version 2. is out"]),
        ("Really?! Yes", ["Really?!", "Yes"]),
        ("!!? a", ["!", "!?", "a"]),  # a mark without a word before it stands alone
        (' ."!(', [' ."!', "("]),  # a space at the very start separates nothing
        ("3.14 is pi", ["3.14 is pi"]),
        ("page 5. Business", ["page 5. Business"]),  # a known collocation
        ("page 5. Later", ["page 5.", "Later"]),
        ("  a.  ", ["  a."]),
        ("", []),
        (" \n", []),
    ],
)
def test_text_is_cut_into_these_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected == reference_sentences(text)


@settings(thorough, max_examples=share(1200))
@given(ascii_texts)
def test_the_sentences_are_those_of_the_reference(text: str) -> None:
    assert sentences(text) == reference_sentences(text)


def test_the_model_is_complete() -> None:
    facts = model()
    assert (len(facts.abbreviations), len(facts.collocations), len(facts.starters)) == (156, 37, 39)
    assert len(facts.seen) == 20366
    assert ". . " in facts.abbreviations
    assert ("##number##", "international") in facts.collocations
    assert facts.seen["the"] == 126


@pytest.mark.parametrize("text", ["!" * 2_000_000, "." * 2_000_000, "a.) " * 100_000, "a.)" * 100_000, ". " * 100_000])
def test_long_rows_of_marks_are_cut_in_seconds(text: str) -> None:
    began = time.thread_time()
    assert sentences(text)
    assert time.thread_time() - began < 5
