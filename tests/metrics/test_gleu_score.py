import pytest
from hypothesis import given

from fairmark.metrics.gleu_score import gleu
from tests.metrics.oracles import pairs, reference_gleu, thorough

WARSAW = "According to wikipedia, Marie Curie was not born in Paris but in Warsaw."
BORN = "Marie Curie was born in Warsaw."


@pytest.mark.parametrize(
    ("text", "reference", "score"),
    [
        (WARSAW, BORN, 0.25925925925925924),
        ("", "", 0.0),
        ("", BORN, 0.0),
        (BORN, "", 0.0),
        ("\t", "\t", 0.0),
        ("one", "one", 1.0),
        ("one", "One", 0.0),
        ("one two", "one", 1 / 3),
        ("a a a", "a a", 0.5),
    ],
)
def test_gleu_has_the_published_value(text: str, reference: str, score: float) -> None:
    assert gleu(text, reference) == score


@thorough
@given(pairs())
def test_gleu_is_that_of_the_reference_and_symmetric(pair: tuple[str, str]) -> None:
    text, reference = pair
    assert gleu(text, reference) == reference_gleu(text, reference) == gleu(reference, text)
