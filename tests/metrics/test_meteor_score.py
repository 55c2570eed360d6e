import random
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.translate.meteor_score import meteor_score

from fairmark.metrics import meteor_score as module
from fairmark.metrics.meteor_score import NONE, Prepared, align, meteor, places
from fairmark.metrics.porter import stem
from tests.metrics.lexicon import irregular_forms, lemmas, reference_synonyms, wordnet
from tests.metrics.oracles import reference_tokens
from tests.thoroughness import share


def reference_meteor(text: str, reference: str) -> float:
    wordnet()
    return float(meteor_score([reference_tokens(reference)], reference_tokens(text)))


@pytest.mark.parametrize(
    ("text", "reference", "expected"),
    [
        (
            "According to wikipedia, Marie Curie was not born in Paris but in Warsaw.",
            "Marie Curie was born in Warsaw.",
            0.8621140763997908,
        ),
        ("Warsaw", "Warsaw", 0.5),
        ("Warsaw", "WARSAW", 0.5),
        ("in Warsaw", "in Warsaw", 0.9375),
        ("connected", "connecting", 0.5),  # one stem
        ("car", "auto", 0.5),  # synonyms
        ("cars", "autos", 0.5),  # synonyms by their stems
        ("automobile", "car", 0.0),  # the stem, "automobil", has no synonyms
        ("car", "automobile", 0.0),  # and is none
        ("Paris", "Warsaw", 0.0),
        ("a b", "b a", 0.5),  # two chunks
        ("", "Warsaw", 0.0),
        ("Warsaw", "", 0.0),
        ("", "", 0.0),
        (" \n", "\t", 0.0),
    ],
)
def test_meteor_has_the_published_value(text: str, reference: str, expected: float) -> None:
    assert meteor(text, reference) == expected
    assert reference_meteor(text, reference) == expected


EVERYDAY = "run running runs ran good well best fast quick dog hound go went gone have had is be"


@cache
def families() -> list[list[str]]:
    """Small vocabularies in which words match each other by stem and synonym in many ways."""
    chance = random.Random(11)
    single = [word for word in lemmas() if "_" not in word]
    odd = ["é", "naïve", "café", "İx", "ſ", "中文", "1", "42nd", "-", "'s", ".", ",", '"', "n't", "e.g.", "U.S."]
    result = []
    for _ in range(60):
        roots = chance.sample(single, 3) + chance.sample(irregular_forms(), 2) + chance.sample(EVERYDAY.split(), 4)
        words = {name for root in roots for name in sorted(reference_synonyms(root))[:5]} | set(roots)
        forms = [word + ending for word in sorted(words)[:8] for ending in chance.sample(["s", "ed", "ing", "ly"], 2)]
        extra = [stem(word) for word in sorted(words)] + [word.title() for word in sorted(words)[:4]]
        compounds = ["-".join(chance.sample(roots, 2)), "_".join(chance.sample(roots, 2)), chance.choice(lemmas())]
        result.append([*sorted(words), *forms, *extra, *compounds, *chance.sample(odd, 3)])
    return result


@settings(derandomize=True, deadline=None, max_examples=share(600))
@given(st.data())
def test_meteor_equals_the_reference_to_the_last_bit(data: st.DataObject) -> None:
    vocabulary = families()[data.draw(st.integers(0, 59))]
    texts = st.lists(st.sampled_from(vocabulary), max_size=25).map(" ".join)
    text, reference = data.draw(texts), data.draw(texts)
    assert meteor(text, reference) == reference_meteor(text, reference)


@settings(derandomize=True, deadline=None, max_examples=share(300))
@given(st.text("ab'yS. é-\"1", max_size=25), st.text("ab'yS. é-\"1", max_size=25))
def test_meteor_of_any_text_equals_the_reference(text: str, reference: str) -> None:
    assert meteor(text, reference) == reference_meteor(text, reference)


def test_meteor_of_long_texts_equals_the_reference() -> None:
    chance = random.Random(5)
    for vocabulary in families()[:12]:
        text, reference = (" ".join(chance.choices(vocabulary, k=chance.randint(80, 200))) for _ in range(2))
        assert meteor(text, reference) == reference_meteor(text, reference)


def prepared(*words: str) -> Prepared:
    return Prepared(list(words), places(enumerate(words), len(words)))


@pytest.mark.parametrize(
    ("words", "reference", "partners"),
    [
        (["a"], ["a", "b", "a"], [2]),  # the last one
        (["a", "a", "a"], ["a", "a"], [NONE, 0, 1]),  # the last ones choose first
        (["runs"], ["runs", "running"], [0]),  # an equal word before an equal stem, though further back
        (["car"], ["car", "auto", "motorcar"], [0]),  # a stem before a synonym
        (["car"], ["auto", "motorcar"], [1]),  # the last synonym, whichever
        (["machin", "car"], ["auto"], [NONE, 0]),
        (["b"], ["a"], [NONE]),
    ],
)
def test_words_are_matched_from_last_to_first_with_the_last_free_partner(
    words: list[str], reference: list[str], partners: list[int]
) -> None:
    assert align(words, prepared(*reference)) == partners


@pytest.mark.parametrize(("word", "other"), [("car", "car"), ("runs", "running"), ("car", "auto"), ("b", "a")])
def test_a_hundred_thousand_equal_words_are_aligned_without_quadratic_work(word: str, other: str) -> None:
    size = 100_000
    matched = word != "b"
    partners = align([word] * size, prepared(*[other] * size))
    assert partners == (list(range(size)) if matched else [NONE] * size)


def test_a_reference_is_prepared_once_for_many_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def tokenize(text: str) -> list[str]:
        seen.append(text)
        return text.split()

    monkeypatch.setattr(module, "tokenize", tokenize)
    reference = "Only this test has this reference."
    for number in range(5):
        meteor(f"Input {number}", reference)
    assert seen.count(reference) == 1


def test_a_huge_reference_is_not_kept_in_memory() -> None:
    reference = "word " * 20_000
    assert meteor("word", reference) > 0
    assert reference not in module.PREPARED
