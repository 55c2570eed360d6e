"""Where answer, question, reference and pair stand, and how they are changed."""

import pytest

from fairmark.errors import InvalidData
from fairmark.trust.places import Places, read_path


def test_paths_lead_into_the_item() -> None:
    assert read_path("--reference", "item.a.b") == ("a", "b")
    assert read_path("--reference", "{{ item.ideal }}") == ("ideal",)
    for wrong in ("ideal", "item", "item.", "sample.output_text"):
        with pytest.raises(InvalidData, match="--reference: found"):
            read_path("--reference", wrong)


def test_the_usual_names_are_found() -> None:
    places = Places()
    item = {"prompt": "Why?", "ideal": ["because", "since"], "messages": [{"role": "user", "content": "Hm?"}]}
    assert places.question_of(item) == "Why?"
    assert places.reference_of(item) == "because"
    assert places.reference_of({"reference": "  "}) is None
    assert (
        places.question_of({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "Hm?"}]})
        == "Hm?"
    )
    assert Places(reference=("truth", "text")).reference_of({"truth": {"text": "x"}, "reference": "y"}) == "x"


def test_an_answer_is_changed_where_it_stands_and_nowhere_else() -> None:
    item = {"deep": {"answer": "old", "other": 1}}
    places = Places(answer=("deep", "answer"))
    assert places.answer_of(item, "sample") == "old"
    assert places.with_answer(item, "sample", "new") == ({"deep": {"answer": "new", "other": 1}}, "sample")
    assert item == {"deep": {"answer": "old", "other": 1}}
    assert Places().with_answer(item, {"output_text": "old"}, "new") == (item, "new")
    assert Places().answer_of(item, {"output_text": "old"}) == "old"
    assert Places().answer_of(item, None) is None


def test_the_sides_of_a_pair_change_places() -> None:
    assert Places().exchanged({"a": 1, "b": 2, "c": 3}) == {"a": 2, "b": 1, "c": 3}
    assert Places().exchanged({"a": 1}) is None
    assert Places(pair=(("x", "one"), ("two",))).exchanged({"x": {"one": 1}, "two": 2}) == {"x": {"one": 2}, "two": 1}
    assert Places().with_pair({"q": 0}, {"a": "x", "b": "y"}) == {"q": 0, "a": "x", "b": "y"}
