from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairmark.metrics import ngrams
from fairmark.metrics.ngrams import coded, count_all_shared, count_shared
from tests.metrics.oracles import thorough

tokens = st.lists(st.sampled_from(["a", "b", "cc", "d", "a", "a"]), max_size=60)


def expected(text: list[str], reference: list[str], longest: int) -> list[int]:
    def grams(sequence: list[str], n: int) -> Counter[tuple[str, ...]]:
        return Counter(tuple(sequence[start : start + n]) for start in range(len(sequence) - n + 1))

    return [(grams(text, n) & grams(reference, n)).total() for n in range(1, longest + 1)]


def test_shared_means_as_often_as_both_have_it() -> None:
    assert count_shared("aaa", "aa", 1) == 2
    assert count_shared("aaa", "aa", 2) == 1
    target = coded(["a", "a"])
    assert count_all_shared(target.encode(["a", "a", "a"]), target.text, 3) == [2, 1, 0]


@thorough
@given(tokens, tokens)
def test_all_ways_to_count_agree_with_the_definition(text: list[str], reference: list[str]) -> None:
    wanted = expected(text, reference, 5)
    target = coded(reference)
    assert [count_shared(text, reference, n) for n in range(1, 6)] == wanted
    assert count_all_shared(target.encode(text), target.text, 5) == wanted


@pytest.mark.parametrize(("limit", "value"), [("LONG", 3), ("MOST_SYMBOLS", 3)])
def test_texts_beyond_a_limit_are_counted_the_same(limit: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngrams, limit, value)
    text, reference = list("ababcdab"), list("xabacdabc")
    target = coded(reference)
    assert len(target.text) == len(reference)
    assert count_all_shared(target.encode(text), target.text, 4) == expected(text, reference, 4)


def test_a_token_keeps_one_code_and_unknown_tokens_share_one() -> None:
    target = coded(["a", "b", "a"])
    assert target.text[0] == target.text[2] != target.text[1]
    assert list(target.encode(["b", "x", "y"])) == [target.text[1], ngrams.UNKNOWN, ngrams.UNKNOWN]


def test_more_tokens_than_prepared_symbols_still_have_codes_of_their_own() -> None:
    words = [str(number) for number in range(5000)]
    assert len(set(coded(words).text)) == 5000
