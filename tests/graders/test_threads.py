"""What kinds that judge a conversation need of a row, and what is said where it is not there."""

from typing import Any

import pytest

from fairmark.errors import GradingFailed, VariableMissing
from fairmark.graders.threads import chat, completion_of, documents_of, own, prompt, question_of
from fairmark.text.handlebars import Handlebars, Own
from fairmark.text.thread import Thread

QUESTION = ("user", "Who?")
ANSWER = ("assistant", "Tim.")


def thread(*turns: tuple[str, str], **metadata: Any) -> Thread:
    return Thread(list(turns), metadata)


def test_the_reply_is_the_assistants_last_turn() -> None:
    assert completion_of(thread(QUESTION, ANSWER)) == "Tim."
    with pytest.raises(VariableMissing, match='its last turn is by "user"'):
        completion_of(thread(ANSWER, QUESTION))
    with pytest.raises(VariableMissing, match="it has no turns"):
        completion_of(thread())


def test_the_question_is_the_users_last_turn() -> None:
    assert question_of(thread(("user", "Old?"), ANSWER, QUESTION, ANSWER)) == "Who?"
    with pytest.raises(VariableMissing, match="this row has no question"):
        question_of(thread(ANSWER))


def test_documents_are_turns_or_else_metadata() -> None:
    assert documents_of(thread(("document", "a"), QUESTION, ("document", "b"), documents=["c"])) == ["a", "b"]
    assert documents_of(thread(QUESTION, documents=["c", "d"])) == ["c", "d"]


@pytest.mark.parametrize(
    ("documents", "told"),
    [(None, "this row has no documents"), ([], "this row has no documents"), ("text", "It takes a list of strings"),
     (["a", 5], r"metadata\.documents\[1\]: found a number")],
)  # fmt: skip
def test_documents_that_are_none_are_told(documents: Any, told: str) -> None:
    with pytest.raises(GradingFailed, match=told):
        documents_of(thread(QUESTION, **({} if documents is None else {"documents": documents})))


def test_a_template_that_comes_out_empty_makes_no_message() -> None:
    blank, filled = Handlebars(" {{missing}} "), Handlebars("{{a}}")
    assert chat(blank, filled, {"a": "x"}) == [{"role": "user", "content": "x"}]
    assert [message["role"] for message in chat(filled, filled, {"a": "x"})] == ["system", "user"]
    with pytest.raises(GradingFailed, match="both templates come out empty"):
        chat(blank, blank, {})


def test_all_texts_of_a_value_are_marked_as_the_graders_own() -> None:
    marked = own({"a": ["x", {"b": "y"}], "n": 5, "t": ("z",)})
    assert marked == {"a": ["x", {"b": "y"}], "n": 5, "t": ["z"]}
    assert {type(marked["a"][0]), type(marked["a"][1]["b"]), type(marked["t"][0])} == {Own}


def test_a_prompt_is_read_once() -> None:
    assert prompt("claims.system") is prompt("claims.system")
