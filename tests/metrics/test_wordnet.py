import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairmark.metrics import wordnet
from fairmark.metrics.porter import stem
from fairmark.metrics.wordnet import synonyms
from tests.metrics.lexicon import irregular_forms, lemmas, reference_synonyms
from tests.thoroughness import share

ENDINGS = ["s", "es", "ed", "ing", "er", "est", "men", "ies", "ves", "ses", "xes", "zes", "ches", "shes", "ly"]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("auto", {"auto", "automobile", "car", "machine", "motorcar"}),
        ("autos", {"autos", "auto", "automobile", "car", "machine", "motorcar"}),
        ("Auto", {"Auto", "auto", "automobile", "car", "machine", "motorcar"}),
        ("geese", {"geese", "goose", "fathead", "goof", "goofball", "bozo", "jackass", "cuckoo", "twat", "zany"}),
        ("warszawa", {"warszawa", "Warszawa", "Warsaw"}),  # names keep their case
        ("capital_of_poland", {"capital_of_poland", "Warszawa", "Warsaw"}),
        ("firemen", {"firemen", "fireman", "firefighter", "fire-eater", "stoker", "reliever"}),
        ("xylophonists", {"xylophonists", "xylophonist"}),
        ("qqq", {"qqq"}),
        ("", {""}),
    ],
)
def test_synonyms_are_the_names_of_all_synsets_a_word_may_belong_to(word: str, expected: set[str]) -> None:
    assert synonyms(word) == expected


def differing(words: list[str]) -> list[str]:
    return [word for word in words if synonyms(word) != reference_synonyms(word)]


@pytest.mark.thorough
def test_words_of_the_index_have_the_synonyms_the_reference_finds() -> None:
    every = len(lemmas()) // share(len(lemmas()) // 17)
    assert differing(lemmas()[::every]) == []


def test_irregular_forms_have_the_synonyms_the_reference_finds() -> None:
    assert differing(irregular_forms()) == []


def test_stems_and_capitalised_words_have_the_synonyms_the_reference_finds() -> None:
    stems, titles = (
        lemmas()[first :: len(lemmas()) // share(len(lemmas()) // step)] for first, step in ((5, 29), (7, 97))
    )
    assert differing([stem(word) for word in stems] + [word.title() for word in titles]) == []


def test_inflected_words_have_the_synonyms_the_reference_finds() -> None:
    chance = random.Random(3)
    words = chance.sample(lemmas(), share(6000)) + chance.sample(irregular_forms(), share(1000))
    assert differing([word + chance.choice(ENDINGS) for word in words]) == []
    # Not only the whole word may have an ending: "carr" + "ies", "hous" + "es", "wol" + "ves".
    assert differing([word[: -chance.randint(1, 3)] + chance.choice(ENDINGS) for word in words]) == []


@settings(derandomize=True, deadline=None, max_examples=share(300))
@given(st.text(max_size=12))
def test_any_text_has_the_synonyms_the_reference_finds(word: str) -> None:
    assert synonyms(word) == reference_synonyms(word)


@pytest.mark.parametrize("piece", ["saw\tnadage byword proverb =", "saw\tnadage byword proverb =\tv=", "saw\n"])
def test_a_piece_of_the_table_is_not_taken_for_a_word(piece: str) -> None:
    assert f"\n{piece}" in wordnet.load().text or piece.endswith("\n")
    assert synonyms(piece) == {piece}


def test_the_first_and_the_last_word_of_the_table_are_found() -> None:
    lines = wordnet.load().text.strip("\n").split("\n")
    words = [line.split("\t")[0] for line in lines]
    assert words == sorted(set(words))
    assert all(wordnet.load().fields(word) for word in words)


# In a process of its own: forking one that has threads, as the test runner may have, is unsafe.
FORKING = """
import os, sys
from fairmark.metrics import wordnet
words = sys.argv[1:]
wordnet.load()
children = [os.fork()]
if children[0]:
    children.append(os.fork())
found = [sorted(wordnet.synonyms(word)) for word in words]
if not all(children):
    os._exit(found != [sorted(wordnet.synonyms(word)) for word in words])
print(*(os.waitpid(child, 0)[1] for child in children))
print(found)
"""


def test_forked_workers_reading_at_the_same_time_find_the_same() -> None:
    words = lemmas()[::500]
    run = subprocess.run([sys.executable, "-c", FORKING, *words], capture_output=True, text=True, check=True)
    assert run.stdout == f"0 0\n{[sorted(reference_synonyms(word)) for word in words]}\n"
