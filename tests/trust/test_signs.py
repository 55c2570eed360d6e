"""Figures of single answers."""

import pytest

from fairmark.trust import signs
from fairmark.trust.results import GradedRow


def row(text: str, **item: str) -> GradedRow:
    return GradedRow(item, text, 0.5, None)


def test_what_answers_look_like() -> None:
    assert signs.length(row("a b  c")) == 3
    assert signs.repetition(row("a b c d " * 5)) == pytest.approx(1 - 4 / 17)
    assert signs.repetition(row("one two three")) == 0
    assert signs.refusal(row("I'm sorry, but no.")) == 1
    assert signs.refusal(row("The answer is 4.")) == 0
    assert signs.copying(row("well what is the time now", question="What is the time?")) == pytest.approx(4 / 6)
    assert signs.copying(row("", question="x")) == 0
    assert signs.shell(row("# A\n- b\nplain\n**c** d")) == 0.75
    assert signs.stuffing("Helpful, honest answers.")(row("so HELPFUL, so honest")) == pytest.approx(2 / 3)
    assert signs.identical([row("a"), row("a"), row("b")]) == pytest.approx(2 / 3)
    assert "stuffing" not in signs.signs_for("")


def test_long_answers_take_no_longer_than_they_must() -> None:
    assert signs.copying(row("word " * 100_000, question="word " * 3)) == pytest.approx(3 / 2_000)
