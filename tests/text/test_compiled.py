"""A compiled text is its source: equal by it, a plain string in JSON, made again from it in another process."""

import pickle

import pytest
from pydantic import BaseModel, ValidationError

from fairmark.text.compiled import CompiledText


class Shouted(CompiledText):
    __slots__ = ("loud",)

    wanted = "It takes a string."

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.loud = source.upper()


class Whispered(CompiledText):
    __slots__ = ()


class Spec(BaseModel):
    text: Shouted


def test_texts_of_one_class_are_equal_by_their_source() -> None:
    assert Shouted("a") == Shouted("a")
    assert Shouted("a") != Shouted("b")
    assert Shouted("a") != Whispered("a")
    assert len({Shouted("a"), Shouted("a"), Shouted("b")}) == 2


def test_what_comes_out_of_a_pickle_was_compiled_again() -> None:
    again = pickle.loads(pickle.dumps(Shouted("a")))  # noqa: S301
    assert (again, again.loud) == (Shouted("a"), "A")


def test_as_a_field_it_takes_a_string_and_gives_it_back() -> None:
    spec = Spec.model_validate({"text": "a"})
    assert (spec.text.loud, spec.model_dump()) == ("A", {"text": "a"})
    with pytest.raises(ValidationError, match="should be a valid string"):
        Spec.model_validate({"text": 5})
