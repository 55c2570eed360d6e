"""The question that tries a model: a valid grader, and a new question each time."""

from fairmark.judges.trial import question
from fairmark.parse import parse


def test_it_is_a_valid_grader_of_the_model_that_is_tried() -> None:
    spec = parse(question("local/some-model"))
    assert list(spec.models.values()) == ["local/some-model"]
    assert spec.all_warnings == ()


def test_no_cache_knows_its_answer() -> None:
    first = question("m")["input"][0]["content"]
    while (second := question("m")["input"][0]["content"]) == first:  # within one millisecond
        pass
    assert first != second
