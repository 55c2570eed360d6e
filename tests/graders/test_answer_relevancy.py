"""answer_relevancy: claims that the question asked for, divided by all claims."""

from pathlib import Path
from typing import Any

import pytest

from fairmark.judges.fake import FakeJudge
from fairmark.result import Result
from fairmark.run import grade
from tests.graders.embedded import grade_by_smollm2

GRADER = {"type": "answer_relevancy", "model": "judge"}
ITEM = {"question": "What is the capital of France?"}
REPLY = "The capital of France is Paris. Lyon is known for its food."
CLAIMS = {"claims": ["The capital of France is Paris.", "Lyon is known for its food."]}
VERDICTS = {
    "verdicts": [
        {"index": 1, "reason": "It is the answer.", "verdict": 1},
        {"index": 2, "reason": "Nobody asked about Lyon.", "verdict": 0},
    ]
}


def ask(*script: Any, sample: Any = REPLY, item: Any = ITEM) -> Result:
    return grade(GRADER, sample, item, judge=FakeJudge(list(script)))


def test_information_that_nobody_asked_for_lowers_the_reward() -> None:
    result = ask(CLAIMS, VERDICTS)
    assert (result.reward, result.status, result.passed) == (0.5, "graded", None)
    assert result.judgements[1].value["steps"] == [
        {"description": "The capital of France is Paris.", "conclusion": "relevant: It is the answer."},
        {"description": "Lyon is known for its food.", "conclusion": "not relevant: Nobody asked about Lyon."},
    ]


def test_the_judge_sees_the_question_and_the_claims_and_no_documents() -> None:
    judge = FakeJudge([CLAIMS, VERDICTS])
    messages = [{"role": "document", "content": "A document."}, {"role": "user", "content": ITEM["question"]}]
    grade(GRADER, REPLY, {"messages": messages}, judge=judge)
    assert judge.asked[1][1]["content"] == (
        "<question>\nWhat is the capital of France?\n</question>\n<claims>\n1. The capital of France is Paris.\n"
        "2. Lyon is known for its food.\n</claims>"
    )
    assert "A document." not in str(judge.asked)


def test_the_question_is_the_users_last_turn() -> None:
    judge = FakeJudge([CLAIMS, VERDICTS])
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    grade(GRADER, REPLY, {"messages": [*messages, {"role": "user", "content": "And now?"}]}, judge=judge)
    assert judge.asked[1][1]["content"].startswith("<question>\nAnd now?\n</question>")


@pytest.mark.parametrize("item", [{}, {"messages": [{"role": "system", "content": "S"}]}, {"question": 5}])
def test_a_row_without_a_question_is_an_error_and_asks_nobody(item: dict[str, Any]) -> None:
    result = ask(item=item)
    assert result.error == (
        "this row has no question: there is no turn by the user in item.messages, and none of item.prompt, "
        "item.question, item.input."
    )
    assert result.errors["invalid_variable_error"] is True
    assert result.judgements == ()


def test_a_row_without_a_reply_is_an_error() -> None:
    assert ask(sample=None).status == "error"


def test_a_reply_without_claims_is_left_out() -> None:
    result = ask({"claims": []}, sample="I do not know.")
    assert (result.status, result.skipped) == ("skipped", "the reply makes no claims.")
    assert ask(sample="").status == "skipped"


@pytest.mark.thorough
def test_the_embedded_model_gives_a_whole_result(tmp_path: Path) -> None:
    result = grade_by_smollm2({"type": "answer_relevancy"}, REPLY, ITEM, tmp_path)
    if result["status"] == "graded":
        assert [each["result"] for each in result["judgements"]][1] == result["reward"]
