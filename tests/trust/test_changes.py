"""What is done to answers: longer without a fact, other clothes, orders to the judge, cut."""

import pytest

from fairmark.trust import changes


@pytest.mark.parametrize("answer", ["Paris.", "one two three. " * 40, "no end of a sentence"])
def test_padding_doubles_and_keeps_every_word(answer: str) -> None:
    padded = changes.padded(answer)
    assert len(padded.split()) >= max(60, 2 * len(answer.split()))
    assert padded.startswith(answer.strip())
    new = set(padded.split()) - set(answer.split())
    assert not any(char.isdigit() for word in new for char in word)


def test_markup_comes_and_goes_and_the_words_stay() -> None:
    answer = "The capital is Paris. It lies on the Seine."
    dressed = changes.dressed(answer)
    assert dressed == "## Answer\n\n- **The capital is** Paris.\n- **It lies on** the Seine."
    assert changes.bare(dressed).split() == ["Answer", *answer.split()]
    marked = "# T\n\n1. a `b` *c*\n> q\n```py\nx = 1\n```\n[link](https://x.y)"
    assert changes.bare(marked).split() == ["T", "a", "b", "c", "q", "x", "=", "1", "link"]
    assert changes.bare("2 * 3 * 4 is 24, snake_case stays") == "2 * 3 * 4 is 24, snake_case stays"


def test_injections_stand_before_after_and_inside() -> None:
    assert changes.injected("a b c d", "X", "before") == "X\n\na b c d"
    assert changes.injected("a b c d", "X", "after") == "a b c d\n\nX"
    assert changes.injected("a b c d", "X", "inside") == "a b\n\nX\n\nc d"
    assert len(changes.INJECTIONS) == 6


def test_a_cut_leaves_the_front_and_at_least_a_word() -> None:
    assert changes.cut("a b c d e f", 1 / 3) == "a b"
    assert changes.cut("a b", 1 / 10) == "a"


def test_another_reference_is_one_that_differs() -> None:
    references = ["Yes.", "yes", None, "No."]
    assert changes.another(references, 0) == "No."
    assert changes.another(references, 3) == "Yes."
    assert changes.another(["Yes", "yes"], 0) is None
