import pytest
from hypothesis import given

from fairmark.metrics.fuzzy import fuzzy_match
from tests.metrics.oracles import pairs, reference_fuzzy, thorough


@pytest.mark.parametrize(
    ("text", "reference", "score"),
    [
        ("", "", 1.0),
        ("", "a", 0.0),
        ("a", "", 0.0),
        (" ", "", 0.0),
        ("abc", "abc", 1.0),
        ("abc", "ABC", 0.0),
        ("ab", "ba", 0.5),
        ("fuzzy", "fuzz", 8 / 9),
        ("é", "e\u0301", 0.0),  # code points, not what one sees
        ("\ud800", "\ud800", 1.0),
    ],
)
def test_the_score_is_twice_the_common_subsequence_over_both_lengths(text: str, reference: str, score: float) -> None:
    assert fuzzy_match(text, reference) == pytest.approx(score, abs=1e-15)


@thorough
@given(pairs())
def test_the_score_is_that_of_the_reference(pair: tuple[str, str]) -> None:
    assert fuzzy_match(*pair) == reference_fuzzy(*pair)


def test_a_megabyte_each_is_no_problem() -> None:
    assert fuzzy_match("a" * 1_000_000, "a" * 999_998 + "bb") == pytest.approx(0.999998)
