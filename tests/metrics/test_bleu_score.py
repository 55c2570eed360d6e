import pytest
from hypothesis import given

from fairmark.metrics.bleu_score import bleu
from tests.metrics.oracles import pairs, reference_bleu, thorough

WARSAW = "According to wikipedia, Marie Curie was not born in Paris but in Warsaw."
BORN = "Marie Curie was born in Warsaw."


@pytest.mark.parametrize(
    ("text", "reference", "score"),
    [
        (WARSAW, BORN, 0.1550967560878879),
        ("", "", 0.0),
        ("", BORN, 0.0),
        (BORN, "", 0.0),
        (" \n", " \n", 0.0),
        ("one", "one", 1.0),
        ("one", "One", 0.0),
        ("one two", "one two", 0.2213885886251307),
        ("one two three", "one two three", 0.5757197301274735),
        ("one two three four", "one two three four", 1.0),
        ("naïve", "naïve", 0.5757197301274735),  # na, ï, ve
    ],
)
def test_bleu_has_the_published_value(text: str, reference: str, score: float) -> None:
    assert bleu(text, reference) == score


@thorough
@given(pairs())
def test_bleu_is_that_of_the_reference(pair: tuple[str, str]) -> None:
    assert bleu(*pair) == reference_bleu(*pair)


def test_a_hypothesis_shorter_than_the_reference_is_punished() -> None:
    assert bleu("a b c d", "a b c d e f g h") < bleu("a b c d", "a b c d")
