"""Expectations out of token probabilities: what is weighed, and when nothing is said."""

import math
from typing import Any

import pytest

import fairmark
from fairmark.errors import Rejected
from fairmark.judgement import Listed
from fairmark.judges.client import Tab
from fairmark.judges.logprobs import Unclear, listed_at_result, weigh
from fairmark.judges.models import Model

QUESTION = [{"role": "user", "content": "Rate {{ sample.output_text }}."}]
SCORE = {"type": "score_model", "name": "s", "model": "m", "input": QUESTION, "range": [1, 5], "logprobs": True}
LABEL = {
    "type": "label_model", "name": "l", "model": "m", "input": QUESTION, "logprobs": True,
    "labels": ["good", "bad"], "passing_labels": ["good"],
}  # fmt: skip
BINARY = {"type": "binary_judge", "name": "b", "model": "m", "criteria": "Polite.", "logprobs": True}


def token(text: str, **top: float) -> dict[str, Any]:
    """A token of a completion with what else could have stood there, by its chance."""
    return {
        "token": text,
        "logprob": math.log(top.get(text, 0.9)),
        "top_logprobs": [{"token": other, "logprob": math.log(chance)} for other, chance in top.items()],
    }


def chances(**top: float) -> Listed:
    return Listed(next(iter(top)), {text: math.log(chance) for text, chance in top.items()})


class Listing(fairmark.FakeJudge):
    """A fake that lists the tokens it is told to, or refuses to."""

    def __init__(self, tokens: list[dict[str, Any]], refuses: bool = False) -> None:
        super().__init__(fairmark.FakeAnswer("".join(token["token"] for token in tokens)))
        self._tokens = tokens
        self._refuses = refuses
        self.bodies: list[dict[str, Any]] = []

    async def post(self, model: Model, path: str, body: dict[str, Any], tab: Tab) -> dict[str, Any]:
        self.bodies.append(body)
        if self._refuses and "logprobs" in body:
            raise Rejected("400", 400, {"message": "logprobs are not supported with reasoning models"})
        reply = await super().post(model, path, body, tab)
        if "logprobs" in body:
            reply["choices"][0]["logprobs"] = {"content": self._tokens}
        return reply


def graded(grader: dict[str, Any], tokens: list[dict[str, Any]], **more: Any) -> tuple[fairmark.Result, Listing]:
    judge = Listing(tokens, **more)
    return fairmark.grade(grader, "x", {"messages": [{"role": "user", "content": "Hi"}]}, judge=judge), judge


BEFORE = [token('{"steps":[], "re'), token('sult": ')]


def test_a_score_is_the_expectation_over_the_listed_ones() -> None:
    result, judge = graded(SCORE, [*BEFORE, token("4", **{"4": 0.6, "5": 0.2, "x": 0.2}), token("}")])
    assert result.reward == pytest.approx(0.75 * 4 + 0.25 * 5)
    told = result.model_dump()["judgements"][0]
    assert told["expected"] == result.reward
    assert told["coverage"] == pytest.approx(0.8)
    assert told["spread"] == pytest.approx(math.sqrt(0.75 * 0.25))
    assert told["result"] == 4
    assert (judge.bodies[0]["logprobs"], judge.bodies[0]["top_logprobs"]) == (True, 20)
    assert not result.row_warnings


def test_labels_are_weighed_whatever_stands_around_them_in_a_token() -> None:
    result, _ = graded(LABEL, [*BEFORE, token('"good', **{'"good': 0.5, ' "good': 0.2, '"b': 0.3}), token('"}')])
    assert result.reward == pytest.approx(0.7)
    assert result.passed is True
    judged, _ = graded(BINARY, [token('{"reasoning": "", "score": "'), token("FAIL", FAIL=0.7, PASS=0.3), token('"}')])
    assert judged.reward == pytest.approx(0.3)
    assert judged.passed is False


def test_numbers_from_before_a_grammars_mask_are_not_believed() -> None:
    """As llama.cpp lists them: the permitted token had a log probability of -4, and all that is listed is forbidden."""
    masked = {"token": "good", "logprob": -4.0, "top_logprobs": [{"token": "The", "logprob": -0.1}]}
    result, _ = graded(LABEL, [*BEFORE, token('"'), masked, token('"}')])
    assert result.reward == 1.0  # the plain verdict
    (warning,) = result.row_warnings
    assert warning.startswith("logprobs_unclear: the verdict that was given is not among the tokens that are listed")
    rare = token("good", good=0.02, The=0.9)
    result, _ = graded(LABEL, [*BEFORE, token('"'), rare, token('"}')])
    assert result.reward == 1.0
    assert "have 2% of the probability" in result.row_warnings[0]


def test_a_server_without_probabilities_is_asked_without_and_remembered() -> None:
    judge = Listing([*BEFORE, token("4"), token("}")], refuses=True)
    results = [fairmark.grade(SCORE, text, judge=judge) for text in ("x", "y")]
    assert [result.reward for result in results] == [4, 4]
    assert "lists no probabilities" in results[0].row_warnings[0]
    assert ["logprobs" in body for body in judge.bodies] == [True, False, False]


def test_a_verdict_inside_the_reasons_is_not_the_one_that_is_weighed() -> None:
    said = '{"steps":[{"description":"they wrote \\"result\\": 1","conclusion":""}],"result": '
    result, _ = graded(SCORE, [token(said), token("5", **{"5": 0.9, "1": 0.1}), token("}")])
    assert result.reward == pytest.approx(4.6)


def test_letters_stand_for_labels_of_any_kind() -> None:
    grader = {**LABEL, "labels": ["good", "good enough", "bad"], "logprobs": "letters"}
    result, judge = graded(grader, [*BEFORE, token('"'), token("A", A=0.4, B=0.1, C=0.5), token('"}')])
    assert result.judgements[0].value["result"] == "good"
    assert result.reward == pytest.approx(0.4)
    assert judge.bodies[0]["messages"][-1]["content"].endswith("A) good\nB) good enough\nC) bad")
    schema = judge.bodies[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["result"]["enum"] == ["A", "B", "C"]


@pytest.mark.parametrize(
    ("grader", "told"),
    [
        ({**SCORE, "range": [0, 10]}, "with one digit each"),
        ({**SCORE, "range": [0.5, 2]}, "with one digit each"),
        ({key: value for key, value in SCORE.items() if key != "range"}, "with one digit each"),
        ({**SCORE, "logprobs": "letters"}, "letters are for labels"),
        ({**SCORE, "logprobs": 1}, 'It takes true, false or "letters"'),
        ({**LABEL, "labels": ["good", "good enough"]}, 'another label begins with "good"'),
        ({**LABEL, "labels": ["good", "A"], "logprobs": "letters"}, "the labels are letters already"),
        ({**BINARY, "logprobs": "letters"}, "letters are for labels of one's own"),
    ],
)
def test_scales_whose_first_tokens_coincide_are_refused(grader: dict[str, Any], told: str) -> None:
    checked = fairmark.validate(grader)
    assert [error.path for error in checked.errors] == ["$.logprobs"]
    assert told in checked.errors[0].message


def test_what_fits_two_verdicts_or_too_little_is_unclear() -> None:
    worth = {"1": 1.0, "10": 10.0}
    with pytest.raises(Unclear, match="may begin 1 or 10"):
        weigh(chances(**{"1": 0.9}), worth)
    assert weigh(chances(**{"10": 0.9}), worth).expected == 10
    with pytest.raises(Unclear, match="49%"):
        weigh(chances(good=0.49, x=0.5), {"good": 1.0})
    with pytest.raises(Unclear, match="lists no probabilities"):
        weigh(None, worth)


def test_tokens_that_are_not_of_the_text_say_nothing() -> None:
    for content in ([token("other"), token("4")], [token('{"result": '), token("5", **{"5": 0.9}), token("}")]):
        assert listed_at_result('{"result": 4}', {"logprobs": {"content": content}}) is None
    assert listed_at_result('{"result": 4}', {"logprobs": None}) is None
    assert listed_at_result("no verdict", {"logprobs": {"content": [token("no verdict")]}}) is None


def test_fences_that_a_server_takes_off_are_passed_over() -> None:
    content = [token("```json\\n"), token('{"result": "'), token("go", go=0.9, b=0.1), token('od"}'), token("\\n```")]
    listed = listed_at_result('{"result": "good"}', {"logprobs": {"content": content}})
    assert listed is not None
    assert listed.chosen == "go"
    assert weigh(listed, {"good": 1.0, "bad": 0.0}).expected == pytest.approx(0.9)


def test_probabilities_are_in_the_cache_too(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from fairmark.judges.asking import AskingJudge
    from fairmark.judges.cache import Cache

    judge = Listing([*BEFORE, token("4", **{"4": 0.6, "5": 0.4}), token("}")])
    cache = Cache(tmp_path / "c.db", "on", 10**6)
    judge._judge = AskingJudge(judge._judge._registry, judge, cache)
    rewards = [fairmark.grade(SCORE, "x", judge=judge).reward for _ in range(2)]
    assert rewards == [pytest.approx(4.4)] * 2
    assert len(judge.bodies) == 1
