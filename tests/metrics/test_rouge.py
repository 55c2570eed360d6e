import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairmark import metrics
from fairmark.metrics.rouge import rouge_1, rouge_2, rouge_5, rouge_l, scores
from tests.metrics.oracles import pairs, reference_rouge, thorough

WARSAW = "According to wikipedia, Marie Curie was not born in Paris but in Warsaw."
BORN = "Marie Curie was born in Warsaw."


@pytest.mark.parametrize(
    ("text", "reference", "expected"),
    [
        (
            WARSAW,
            BORN,
            [0.631578947368421, 0.47058823529411764, 0.13333333333333333, 0.0, 0.0, 0.631578947368421],
        ),
        ("", "", [0.0] * 6),
        ("", BORN, [0.0] * 6),
        (BORN, "", [0.0] * 6),
        ("?!...", "?!...", [0.0] * 6),
        ("東京", "東京", [0.0] * 6),
        ("The CAT", "the cat", [1.0, 1.0, 0.0, 0.0, 0.0, 1.0]),
        ("a b c d e", "a b c d e", [1.0] * 6),
        ("a_b-c", "a b c", [1.0, 1.0, 1.0, 0.0, 0.0, 1.0]),
        ("\u212a", "k", [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]),  # the Kelvin sign
        ("\u0130x", "i x", [1.0, 1.0, 0.0, 0.0, 0.0, 1.0]),  # a dotted capital I, then a separator
        ("café", "caf", [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]),
        ("a a a", "a a", [0.8, 2 / 3, 0.0, 0.0, 0.0, 0.8]),
        ("\ud800a", "a", [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]),
    ],
)
def test_the_six_scores_have_these_values(text: str, reference: str, expected: list[float]) -> None:
    assert list(scores(text, reference).values()) == pytest.approx(expected, abs=1e-15)
    assert scores(text, reference) == reference_rouge(text, reference)


def test_the_published_score_is_met_to_the_last_bit() -> None:
    assert rouge_l(WARSAW, BORN) == 0.631578947368421


@thorough
@given(pairs())
def test_all_scores_are_those_of_the_reference_together_and_one_by_one(pair: tuple[str, str]) -> None:
    expected = reference_rouge(*pair)
    assert scores(*pair) == expected
    assert {name: metrics.load(name)(*pair) for name in expected} == expected


@thorough
@given(st.lists(st.sampled_from(["aab", "b,", "cd", "A-b"]), max_size=80).map(" ".join), st.data())
def test_text_that_repeats_itself_scores_as_in_the_reference(text: str, data: st.DataObject) -> None:
    start, stop = (data.draw(st.integers(0, len(text))) for _ in range(2))
    reference = text[start:] + " a b a " + text[:stop]
    assert scores(text, reference) == reference_rouge(text, reference)


def test_long_texts_score_as_in_the_reference() -> None:
    # Longer than what is searched and than what is remembered, on both sides.
    text = " ".join(f"w{number * number % 1009}" for number in range(1500))
    reference = " ".join(f"w{number * number % 1013}" for number in range(1400))
    assert scores(text, reference) == reference_rouge(text, reference)
    assert scores(text[:500], reference) == reference_rouge(text[:500], reference)


@pytest.mark.parametrize("text", ["a" * 10_000_000, "." * 10_000_000, "a." * 500_000, "a b " * 20_000])
def test_megabytes_are_scored_in_seconds(text: str) -> None:
    assert rouge_1(text, text) in (0.0, 1.0)
    assert rouge_l(text, "a") >= 0
    assert rouge_2("a b", text) >= 0
    assert rouge_5("a b c d e", "a b c d e " * 2000) > 0
