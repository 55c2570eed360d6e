"""Answers of a judge about claims, read leniently where models are sloppy and strictly where it counts."""

from typing import Any

import pytest

from fairmark.errors import NotAnAnswer
from fairmark.graders.claims import ClaimsShape, VerdictsShape, bit_of

CLAIMS = ClaimsShape({})
VERDICTS = VerdictsShape(("one", "two"), "holds", "fails")


def verdict(index: Any, bit: Any, **more: Any) -> dict[str, Any]:
    return {"index": index, "verdict": bit, **more}


def test_claims_are_texts_without_blanks_and_repetitions() -> None:
    read = CLAIMS.read({"claims": ["a  b", "", "c", "a\nb", " "]})
    assert read["claims"] == read["result"] == ["a b", "c"]
    assert CLAIMS.read(["bare"])["claims"] == ["bare"]


@pytest.mark.parametrize("value", [{}, {"claims": "text"}, {"claims": [1]}, "text", None])
def test_what_holds_no_list_of_texts_is_no_answer(value: Any) -> None:
    with pytest.raises(NotAnAnswer):
        CLAIMS.read(value)


def test_the_share_is_of_the_claims_whose_verdict_is_1_and_every_claim_has_its_words() -> None:
    read = VERDICTS.read({"verdicts": [verdict(2, 0, reason="no source"), verdict(1, 1)]})
    assert read["result"] == 0.5
    assert [step["conclusion"] for step in read["steps"]] == ["holds", "fails: no source"]
    assert [step["description"] for step in read["steps"]] == ["one", "two"]
    assert [entry["index"] for entry in read["verdicts"]] == [1, 2]


@pytest.mark.parametrize(
    "verdicts",
    [
        [],
        [verdict(1, 1)],
        [verdict(1, 1), verdict(1, 0)],
        [verdict(1, 1), verdict(2, 1), verdict(3, 1)],
        [verdict(1, 1), verdict(3, 1)],
        [verdict(1, 1), "odd"],
        [verdict(1, 1), verdict(2, "maybe")],
        [verdict(1, 1), verdict("two", 1)],
        [verdict(1, 1), verdict(2, 0.5)],
    ],
)
def test_there_is_one_verdict_of_0_or_1_for_each_claim(verdicts: list[Any]) -> None:
    with pytest.raises(NotAnAnswer):
        VERDICTS.read({"verdicts": verdicts})


@pytest.mark.parametrize(
    ("said", "bit"), [(1, 1), (0, 0), (True, 1), (False, 0), ("1", 1), ("0.0", 0), ("Yes", 1), ("no", 0), (1.0, 1)]
)
def test_a_verdict_may_be_written_as_models_write_it(said: Any, bit: int) -> None:
    assert bit_of({"verdict": said}) == bit
