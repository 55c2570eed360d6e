"""How answers are tested with the pytest plugin: pytest examples/pytest (the last two are meant to fail)."""

import pytest

EXACT = {
    "type": "string_check",
    "name": "exact",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "operation": "eq",
}


def answer(item):
    """Stands for the program under test."""
    return {"France": "Paris", "Italy": "Rome"}.get(item["country"], "Atlantis")


def test_one_answer(fairmark):
    fairmark.assert_grade(EXACT, answer({"country": "France"}), {"answer": "Paris"})


@pytest.mark.fairmark(data="../capitals.jsonl", graders="../exact.json", pass_rate=0.5)
def test_answers_in_a_file(): ...


def test_one_wrong_answer(fairmark):
    fairmark.assert_grade(EXACT, answer({"country": "Spain"}), {"answer": "Madrid"})


ROWS = [{"country": "France", "answer": "Paris"}, {"country": "Spain", "answer": "Madrid"}]


@pytest.mark.fairmark(data=ROWS, graders=EXACT, target=answer, pass_rate=0.9)
def test_a_program_on_many_rows(): ...
