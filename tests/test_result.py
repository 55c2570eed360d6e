"""The result and its wire form."""

import copy
import json
import pickle
import subprocess
import sys
import xml.etree.ElementTree as ET
from typing import Any

import pytest

import fairmark
from fairmark.judges.base import Budget
from fairmark.judges.fake import FakeAnswer, FakeJudge
from fairmark.parse import parse
from fairmark.result import Encoder, Grade, Result, Results, wire_form

CHECK = {"type": "string_check", "name": "exact", "input": "{{item.a}}", "reference": "b", "operation": "eq"}


def test_what_is_wrong_with_the_grader_is_told_with_every_result() -> None:
    grader = {**CHECK, "input": "{ sample.output_text }", "pass_treshold": 1}
    told = (
        "$.input: { sample.output_text is taken as plain text; a variable stands in two braces on both sides.",
        "$.pass_treshold: unknown field, kept but not used. Did you mean pass_threshold?",
    )
    assert fairmark.grade(grader, "x", {"a": "b"}).warnings == told
    assert fairmark.grade(grader, "x", {"a": "b"}).model_dump()["warnings"] == list(told)
    inside = {"type": "multi", "graders": {"c": grader}, "calculate_output": "c"}
    found = fairmark.grade(inside, "x", {"a": "b"}).warnings
    assert [text.replace("$.graders.c", "$") for text in found] == list(told)


def test_no_sample_at_all_is_told_and_an_empty_one_is_not() -> None:
    grader = {**CHECK, "input": "{{ sample.output_text }}"}
    no_sample = "this row has no sample: sample.output_text is the empty text"
    assert fairmark.grade(grader, item={"a": ""}).warnings == (no_sample,)
    assert fairmark.grade(grader, "", {"a": ""}).warnings == ()


def test_only_a_graded_row_has_a_reward() -> None:
    graded, failed = fairmark.grade(CHECK, item={"a": "b"}), fairmark.grade(CHECK, item={})
    assert (graded.ok, graded.reward_or(None)) == (True, 1.0)
    assert (failed.ok, failed.reward_or(None), failed.reward_or(-1.0)) == (False, None, -1.0)
    left_out = Result(graded.spec, Grade(0.0, skipped="no budget"), 0.0)
    assert (left_out.ok, left_out.reward_or(None)) == (False, None)


def test_the_wire_form_has_exactly_the_documented_keys() -> None:
    result = fairmark.grade(CHECK, item={"a": "b"})
    dump = result.model_dump()
    assert dump == {
        "reward": 1.0,
        "metadata": {
            "name": "exact",
            "type": "string_check",
            "errors": {
                "formula_parse_error": False,
                "sample_parse_error": False,
                "truncated_observation_error": False,
                "unresponsive_reward_error": False,
                "invalid_variable_error": False,
                "other_error": False,
                "python_grader_server_error": False,
                "python_grader_server_error_type": None,
                "python_grader_runtime_error": False,
                "python_grader_runtime_error_details": None,
                "model_grader_server_error": False,
                "model_grader_refusal_error": False,
                "model_grader_parse_error": False,
                "model_grader_server_error_details": None,
            },
            "execution_time": result.execution_time,
            "scores": {},
            "token_usage": None,
            "sampled_model_name": None,
        },
        "sub_rewards": {},
        "model_grader_token_usage_per_model": {},
        "status": "graded",
        "passed": True,
        "error": None,
        "warnings": [],
        "printed": None,
        "skipped": None,
        "cost": None,
        "spread": None,
        "judgements": [],
    }
    assert json.loads(result.model_dump_json()) == dump


JUDGED: dict[str, Any] = {
    "type": "score_model",
    "name": "tone",
    "model": "a",
    "input": [{"role": "user", "content": "{{sample.output_text}}"}],
    "sampling_params": {"seed": 1},
}


def test_a_judged_result_has_its_tokens_its_cost_and_every_judgement() -> None:
    answer = FakeAnswer('{"steps": [{"description": "d", "conclusion": "c"}], "result": 0.75}')
    result = fairmark.grade(JUDGED, "hi", judge=FakeJudge(answer))
    dump = result.model_dump()
    tokens = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120, "cached_tokens": 0}
    assert dump["metadata"]["token_usage"] == tokens
    assert dump["metadata"]["sampled_model_name"] == "a"
    assert dump["model_grader_token_usage_per_model"] == {"a": tokens}
    assert dump["cost"] == pytest.approx(0.00012)
    assert (dump["spread"], dump["skipped"], dump["status"]) == (None, None, "graded")
    assert dump["judgements"] == [
        {
            "model": "a",
            "sampled_model_name": "a",
            "result": 0.75,
            "steps": [{"description": "d", "conclusion": "c"}],
            "input": [{"role": "user", "content": "hi"}],
            "output": answer.text,
            "finish_reason": "stop",
            "sampling_params": {"seed": 1},
            "usage": tokens,
            "cost": dump["cost"],
            "latency": result.judgements[0].latency_s,
            "attempts": 1,
            "cached": False,
            "error": None,
        }
    ]
    assert json.loads(result.model_dump_json()) == dump


def test_several_judges_are_added_up_in_total_and_apart_by_model() -> None:
    dump = fairmark.grade({**JUDGED, "n": 2, "panel": ["b"]}, "hi", judge=FakeJudge([1, 1, 0, 0])).model_dump()
    assert dump["metadata"]["token_usage"]["total_tokens"] == 480
    assert dump["metadata"]["sampled_model_name"] == "a"
    per_model = dump["model_grader_token_usage_per_model"]
    assert {model: usage["total_tokens"] for model, usage in per_model.items()} == {"a": 240, "b": 240}
    assert dump["cost"] == pytest.approx(0.00048)
    assert dump["spread"]["verdicts"] == [1.0, 1.0, 0.0, 0.0]
    assert [judgement["model"] for judgement in dump["judgements"]] == ["a", "a", "b", "b"]
    assert json.loads(json.dumps(dump)) == dump


def test_a_row_that_was_left_out_is_skipped_and_neither_passed_nor_failed() -> None:
    (result,) = fairmark.grade_many(JUDGED, [{"item": {}, "sample": "x"}], judge=FakeJudge(1), budget=Budget(tokens=0))
    dump = result.model_dump()
    assert (dump["status"], dump["passed"], dump["reward"], dump["error"]) == ("skipped", None, 0.0, None)
    assert dump["skipped"] == result.skipped == "not asked: the budget of 0 tokens is spent."
    assert not any(dump["metadata"]["errors"].values())
    assert (dump["metadata"]["token_usage"], dump["judgements"]) == (None, [])
    assert repr(result) == "Result(reward=0.0, status='skipped')"


def test_a_failure_has_reward_zero_its_flag_and_another_status() -> None:
    dump = fairmark.grade(CHECK, item={}).model_dump()
    assert (dump["reward"], dump["status"], dump["passed"]) == (0.0, "error", False)
    assert [key for key, value in dump["metadata"]["errors"].items() if value] == ["invalid_variable_error"]
    assert dump["error"] == '{{ item.a }}: this item has no field "a". It has none.'


def test_a_result_shows_itself_briefly() -> None:
    assert repr(fairmark.grade(CHECK, item={"a": "b"})) == "Result(reward=1.0, status='graded', passed=True)"
    assert "error='{{ item.a }}" in repr(fairmark.grade(CHECK, item={}))


def test_a_zero_for_want_of_an_answer_is_never_shown_without_its_warning() -> None:
    asking = {**CHECK, "input": "{{ sample.output_text }}", "reference": "x"}
    results = fairmark.grade_many(asking, [{"item": {"a": "x"}}, {"item": {"a": "x"}, "sample": "x"}])
    assert "warnings=['this row has no sample: " in repr(results[0])
    assert "warnings" not in repr(results[1])
    without, answered = results.records()
    assert without["reward"] == 0.0
    assert without["warnings"].startswith("this row has no sample: ")
    assert answered["warnings"] is None


def test_a_message_that_holds_half_an_emoji_can_still_be_written() -> None:
    result = fairmark.grade(CHECK, item={"\ud83d": 1})
    assert json.loads(result.model_dump_json())["status"] == "error"


RATED = {"type": "score_model", "model": "m", "input": [{"role": "user", "content": "Rate {{ sample.output_text }}"}]}
KINDS_RESULTS: dict[str, Any] = {
    "string_check": CHECK,
    "text_similarity": {
        "type": "text_similarity",
        "input": "{{item.a}}",
        "reference": "b",
        "evaluation_metric": "bleu",
    },
    "score_model": RATED,
    "binary_judge": {"type": "binary_judge", "model": "m", "criteria": "Is it good?"},
    "faithfulness": {"type": "faithfulness", "model": "m"},
    "custom": {"type": "custom"},
    "multi": {"type": "multi", "graders": {"c": CHECK, "j": RATED}, "calculate_output": "c + j"},
}


@pytest.mark.parametrize("kind", KINDS_RESULTS)
@pytest.mark.parametrize("item", [{"a": "b"}, {"messages": [{"role": "user", "content": "?"}], "documents": ["d"]}])
def test_a_result_can_be_pickled_and_copied(kind: str, item: dict[str, Any]) -> None:
    """Also one with a failure, and one whose judge was asked."""
    result = fairmark.grade(KINDS_RESULTS[kind], "x", item, judge=FakeJudge({"steps": [], "result": 0.5}))
    pickled = pickle.loads(pickle.dumps(result))  # noqa: S301  # our own
    for twin in (pickled, copy.deepcopy(result), copy.copy(result)):
        assert twin.model_dump() == result.model_dump()
        assert twin.spec == result.spec
    again = fairmark.grade(pickled.spec, "x", item, judge=FakeJudge({"result": 0.5}))
    assert again.status == result.status


def test_a_result_comes_over_from_another_process() -> None:
    program = (
        "import fairmark, json, pickle, sys;"
        "sys.stdout.buffer.write(pickle.dumps(fairmark.grade(json.loads(sys.argv[1]), item={'a': 'b'})))"
    )
    done = subprocess.run([sys.executable, "-c", program, json.dumps(CHECK)], capture_output=True, check=True)
    assert pickle.loads(done.stdout).reward_or(None) == 1.0  # noqa: S301  # our own


# The quick way to write one


SIMILAR = {
    "type": "text_similarity",
    "input": "{{sample.output_text}}",
    "reference": "{{item.a}}",
    "evaluation_metric": "fuzzy_match",
}


@pytest.mark.parametrize(
    "grader", [CHECK, SIMILAR, {**SIMILAR, "pass_threshold": 0.5}, {**CHECK, "name": 'a "b"\n\0é'}], ids=str
)
@pytest.mark.parametrize("reward", [0.0, 1.0, 0.5, 1 / 3, 1e-7, -2.5e20, 7, float("nan")])
def test_the_quick_way_to_write_a_result_writes_what_the_long_one_does(grader: dict[str, Any], reward: float) -> None:
    spec = parse(grader)
    for grade in (Grade(reward), Grade(reward, {"a": 1.0}), Grade(reward, error="no"), Grade(reward, skipped="no")):
        for warnings in ((), ("careful",)):
            result = Result(spec, grade, 1.25e-06, warnings)
            expected = wire_form(result) if reward == reward else {**wire_form(result), "reward": None, "score": None}
            assert json.loads(Encoder(spec).encode(result)) == json.loads(json.dumps(expected))


HOSTILE = "<script>alert(1)</script>"
SAME = {"type": "string_check", "input": "{{ sample.output_text }}", "reference": "{{ item.a }}", "operation": "eq"}


def shown(result: Any) -> ET.Element:
    return ET.fromstring(result._repr_html_())  # noqa: S314  # our own


def test_a_notebook_shows_a_result_with_its_reason_as_text() -> None:
    both = {"type": "multi", "name": HOSTILE, "graders": {"part": SAME}, "calculate_output": "part"}
    cells = [cell.text for cell in shown(fairmark.grade(both, "x", {"a": "y"})).iter("td")]
    assert cells[:4] == ["reward", "0", "verdict", "graded"]
    assert cells[4:6] == ["grader", f"{HOSTILE} (multi)"]
    assert "reward of part" in cells
    failed = [cell.text for cell in shown(fairmark.grade(SAME, "x", {HOSTILE: 1})).iter("td")]
    assert failed[:4] == ["reward", "–", "verdict", "error"]
    assert any(HOSTILE in (text or "") for text in failed)


def test_a_notebook_shows_many_results_as_a_table_that_does_not_grow() -> None:
    rows = [{"item": {"a": "x"}, "sample": "xy"[number % 2]} for number in range(99)]
    results = fairmark.grade_many(SAME, [*rows, {"item": {}, "sample": "x"}])
    page = shown(results)
    lines = [line.text for line in page.iter("p")]
    assert lines[0] == "100 results: 50 passed, 49 failed, 1 error."
    assert lines[1] == "Mean reward 0.5051."
    assert lines[2].startswith("The first that could not be graded is 99: {{ item.a }}")  # type: ignore[union-attr]
    assert lines[3] == "… 80 more; .to_pandas() and .to_polars() have all."
    assert len(list(page.iter("tr"))) == 21
    bars = [float(bar.get("height", "")) for bar in page.iter("rect")]
    assert (bars[0], bars[-1], sum(map(bool, bars))) == (58.8, 60.0, 2)
    many = Results(list(results) * 1000)
    assert len(many._repr_html_()) < len(results._repr_html_()) + 200


@pytest.mark.parametrize("count", [0, 1])
def test_a_notebook_shows_none_and_one(count: int) -> None:
    page = shown(fairmark.grade_many(SAME, [{"item": {}, "sample": "x"}] * count))
    assert len(list(page.iter("td"))) == 4 * count
    assert list(page.iter("svg")) == []


def test_rewards_outside_of_0_to_1_have_their_bars() -> None:
    spec = parse(SAME)
    results = Results(Result(spec, Grade(reward), 0.0) for reward in (-1.0, 3.0))
    bars = list(shown(results).iter("rect"))
    assert [bool(float(bar.get("height", ""))) for bar in bars] == [True, *[False] * 18, True]


@pytest.mark.parametrize(
    ("grade", "threshold", "verdict"),
    [
        (Grade(1.0), 0.5, "passed"),
        (Grade(0.0), 0.5, "failed"),
        (Grade(1.0), None, "graded"),
        (Grade(1.0, error="x"), 0.5, "error"),
        (Grade(1.0, skipped="x"), 0.5, "skipped"),
    ],
)
def test_the_verdict_is_the_short_of_it(grade: Grade, threshold: float | None, verdict: str) -> None:
    similar = {"type": "text_similarity", "input": "a", "reference": "a", "evaluation_metric": "bleu"}
    spec = parse({**similar, "pass_threshold": threshold})
    assert Result(spec, grade, 0.0).verdict == verdict
