"""Metadata in a form: what was typed, and what of it is refused."""

import pytest
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request

from fairmark.errors import ApiError
from fairmark.web.frame import pairs


def typed(*fields: tuple[str, str]) -> pairs.Pairs:
    form: list[tuple[str, str | UploadFile]] = [
        entry for key, value in fields for entry in ((pairs.KEY, key), (pairs.VALUE, value))
    ]
    return pairs.entered(Request({"type": "http", "headers": [], "form": FormData(form)}))


def test_pairs_come_in_their_order_without_those_that_were_left_empty() -> None:
    assert typed(("team", "a b "), ("", ""), (" who ", ""), ("", "no key")) == [
        ("team", "a b "),
        ("who", ""),
        ("", "no key"),
    ]


def test_pairs_are_metadata_and_metadata_is_pairs() -> None:
    assert pairs.read([("a", "1"), ("b", "")]) == {"a": "1", "b": ""}
    assert pairs.shown({"a": "1", "n": 5}) == [("a", "1"), ("n", "5")]
    assert pairs.read([]) == {}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([("", "lost")], "The value “lost” needs a key."),
        ([("a", "1"), ("a", "2")], "The key “a” is there twice."),
        ([(f"k{number}", "") for number in range(17)], "metadata"),
    ],
)
def test_what_the_api_would_refuse_is_told_in_the_forms_words(given: pairs.Pairs, message: str) -> None:
    with pytest.raises(ApiError) as refused:
        pairs.read(given)
    assert message in str(refused.value)
    assert (refused.value.status, refused.value.param) == (400, "metadata")
