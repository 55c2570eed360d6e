"""The words of fields: each is a field's, and says something."""

from fairmark.graders import KINDS
from fairmark.graders.wording import WORDS, Words, words_for


def test_a_kinds_own_words_go_before_those_that_kinds_share() -> None:
    assert words_for("python", "source") == WORDS["python.source"]
    assert words_for("endpoint", "source") == WORDS["source"]
    assert words_for("endpoint", "nothing") is None


def test_every_word_is_about_a_field_that_there_is() -> None:
    fields = {(name, field) for name, kind in KINDS.items() for field in kind.spec.model_fields}
    for place in WORDS:
        kind, dot, field = place.rpartition(".")
        assert ((kind, field) in fields) if dot else any(place == other for _, other in fields), place


def test_what_it_is_for_tells_help_and_choices_and_at_least_the_label() -> None:
    assert Words("Order", "How.", choices={"any": "does not count"}).described == "How. any: does not count."
    assert Words("Partial credit").described == "Partial credit."
