import asyncio
import re
from typing import Any

import pytest

from fairmark.errors import (
    CodeFailed,
    FormulaFailed,
    GradingFailed,
    InvalidGrader,
    JudgeFailed,
    JudgeRefused,
    JudgeUnreadable,
    SampleNotJson,
    SandboxFailed,
    VariableMissing,
)
from fairmark.evals.criteria import Criterion, flat, load_criteria, new_criteria, pinned_criteria, row_outcome
from fairmark.judgement import Judgement, Usage
from fairmark.references import Registered, Wanted, find, replace, unknown
from fairmark.result import Grade, Result
from tests.evals.working import EXACT, JUDGE, python

UNCOMPILABLE = {"type": "python", "source": "  def grade(sample, item):\nreturn 1\n"}
SIMILAR = {
    "type": "text_similarity",
    "name": "similar",
    "input": "{{ item.a }}",
    "reference": "b",
    "evaluation_metric": "fuzzy_match",
}
MULTI = {"type": "multi", "name": "both", "graders": {"one": EXACT, "two": EXACT}, "calculate_output": "one + two"}


def new(given: Any) -> list[dict[str, Any]]:
    async def as_it_is(grader: dict[str, Any]) -> dict[str, Any]:
        return grader

    return asyncio.run(new_criteria(given, as_it_is))


REFERENCE = {"type": "registered", "key": "exact"}


async def expand(grader: dict[str, Any]) -> dict[str, Any]:
    """Of all keys there is only `exact`, in version 3, `similar` and `custom`."""
    kept: dict[str, dict[str, Any]] = {"exact": EXACT, "similar": SIMILAR, "custom": {"type": "custom"}}
    known: dict[Wanted, Registered] = {
        (key, None): Registered(f"grader_{key}", key, 3, each) for key, each in kept.items()
    }
    lost = [unknown(each) for each in find(grader) if (each.key, each.version) not in known]
    if lost:
        raise InvalidGrader(lost)
    return replace(grader, known)


def criterion(grader: dict[str, Any]) -> Criterion:
    return load_criteria(new([grader]))[0]


def result(of: Criterion, grade: Grade) -> Result:
    assert of.spec is not None
    return Result(of.spec, grade, 0.0)


def test_every_criterion_has_an_id_of_its_own_made_of_its_name_in_the_order_sent() -> None:
    stored = new([EXACT, {**JUDGE, "name": "is it good"}, EXACT, {**UNCOMPILABLE, "id": "mine"}])
    names = [re.fullmatch(r"(.+)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", each["id"]) for each in stored]
    assert [name and name[1] for name in names] == ["exact", "is it good", "exact", "python"]
    assert len({each["id"] for each in stored}) == 4


def test_criteria_are_shown_normalised_and_with_what_nobody_knows() -> None:
    (shown,) = new([{**EXACT, "operation": "neq", "note": "kept"}])
    assert {**shown, "id": ""} == {**EXACT, "operation": "ne", "note": "kept", "id": ""}


@pytest.mark.parametrize(
    ("given", "path", "code"),
    [
        ([], "", "invalid_value"),
        ({"type": "string_check"}, "", "invalid_type"),
        ([EXACT, {**EXACT, "operation": "equals"}], "[1].operation", "invalid_value"),
        ([EXACT, 5], "[1]", None),
        ([SIMILAR], "[0].pass_threshold", "missing_required_parameter"),
        ([{**MULTI, "calculate_output": "one + three"}], "[0].calculate_output", "invalid_value"),
        ([{**EXACT, "input": "{{ row.a }}"}], "[0].input", "invalid_value"),
        ([{"type": "python", "source": "#" * 256_000}], "[0].source", "invalid_value"),
        ([{**UNCOMPILABLE, "name": 5}], "[0].name", "invalid_type"),
        ([{**MULTI, "graders": {"one": UNCOMPILABLE}, "calculate_output": "one"}], "[0].graders.one.source", None),
    ],
)
def test_wrong_criteria_are_refused_with_the_place_and_the_code(given: Any, path: str, code: str | None) -> None:
    with pytest.raises(InvalidGrader) as refused:
        new(given)
    assert path in [problem.path for problem in refused.value.problems]
    if code is not None:
        assert refused.value.problems[0].code == code


def test_a_reference_stays_one_and_has_its_graders_name() -> None:
    (shown,) = asyncio.run(new_criteria([REFERENCE], expand))
    assert shown["id"].startswith("exact-")
    assert {**shown, "id": ""} == {**REFERENCE, "name": "exact", "id": ""}


def test_a_run_pins_what_references_lead_to_and_leaves_the_rest_as_it_is() -> None:
    stored = asyncio.run(new_criteria([REFERENCE, {**EXACT, "operation": "neq"}, UNCOMPILABLE], expand))
    pinned = asyncio.run(pinned_criteria(stored, expand))
    assert pinned is not None
    assert pinned[1:] == stored[1:]
    note = {"id": "grader_exact", "key": "exact", "version": 3}
    assert pinned[0] == {**EXACT, "id": stored[0]["id"], "registered": note}
    loaded = load_criteria(pinned)
    assert [each.id for each in loaded] == [each["id"] for each in stored]
    assert loaded[0].wire(result(loaded[0], Grade(1.0)))["registered"] == [note]
    assert "registered" not in loaded[1].wire(result(loaded[1], Grade(1.0)))
    assert loaded[0].failed("why", "error")["registered"] == [note]


def test_without_references_there_is_nothing_to_pin() -> None:
    assert asyncio.run(pinned_criteria(new([EXACT, UNCOMPILABLE]), expand)) is None


def test_references_that_no_run_can_use_are_told_with_their_criteria() -> None:
    """They could be used when the eval was created."""
    stored = [{**REFERENCE, "key": key, "id": key, "name": key} for key in ("exact", "lost", "similar", "custom")]
    with pytest.raises(InvalidGrader) as refused:
        asyncio.run(pinned_criteria(stored, expand))
    assert [each.path for each in refused.value.problems] == ["[1].key", "[2].pass_threshold", "[3].type"]


def test_a_note_that_a_caller_wrote_is_no_part_of_a_criterion() -> None:
    (shown,) = new([{**UNCOMPILABLE, "registered": {"key": "forged"}}])
    assert "registered" not in shown


def test_the_problems_of_all_criteria_are_told_together() -> None:
    with pytest.raises(InvalidGrader) as refused:
        new([{**EXACT, "operation": "equals"}, EXACT, SIMILAR])
    assert [problem.path for problem in refused.value.problems] == ["[0].operation", "[2].pass_threshold"]


def test_python_that_does_not_compile_is_taken_and_says_why_it_fails() -> None:
    broken = criterion(UNCOMPILABLE)
    assert (broken.name, broken.spec) == ("python", None)
    assert "not Python" in str(broken.broken)


@pytest.mark.parametrize(
    ("grader", "reward", "passes"),
    [
        (EXACT, 1.0, True),
        (EXACT, 0.0, False),
        ({**SIMILAR, "pass_threshold": 0.7}, 0.7, True),
        ({**SIMILAR, "pass_threshold": 0.7}, 0.69, False),
        (python("return 1"), 0.5, True),
        (python("return 1"), 0.49, False),
        (python("return 1", pass_threshold=0.9), 0.89, False),
        (JUDGE, 0.5, True),
        ({**JUDGE, "range": [1, 7]}, 3.9, False),  # the middle of the range is 4
        ({**JUDGE, "range": [1, 7], "pass_threshold": 5.5}, 5.5, True),
        (MULTI, 0.5, True),
        (MULTI, 0.4, False),
        ({**MULTI, "pass_threshold": 2}, 1.9, False),
    ],
)
def test_a_reward_passes_from_the_threshold_on(grader: dict[str, Any], reward: float, passes: bool) -> None:
    given = criterion(grader)
    graded = result(given, Grade(reward))
    assert given.passes(graded) is passes
    assert given.outcome(graded) == ("pass" if passes else "fail")


@pytest.mark.parametrize(
    "failure",
    [
        CodeFailed("ZeroDivisionError"),  # of the grader's own code
        VariableMissing("{{ item.b }}"),
        SampleNotJson("{{ sample.output_json }}"),
        JudgeFailed("503"),
        JudgeRefused("no"),
        JudgeUnreadable("excellent"),
        SandboxFailed("oom", "too much"),
        SandboxFailed("timeout", "too long"),
        FormulaFailed("1 / 0"),
        GradingFailed("anything"),
    ],
)
def test_a_failure_is_an_error_whoever_failed(failure: GradingFailed) -> None:
    given = criterion(python("return 1"))
    failed = result(given, Grade.failed(failure))
    shown = given.wire(failed)
    assert given.outcome(failed) == "error"
    assert (shown["score"], shown["passed"], shown["status"]) == (0.0, False, "error")
    assert str(failure) in shown["error"]


def test_a_failed_part_of_a_multi_makes_it_an_error() -> None:
    given = criterion(MULTI)
    assert given.outcome(result(given, Grade(0.9, error="x", flags=CodeFailed("x").flags()))) == "error"


def test_what_was_left_out_is_skipped_and_never_passes() -> None:
    given = criterion(JUDGE)
    skipped = result(given, Grade(0.0, skipped="the budget is spent"))
    shown = given.wire(skipped)
    assert given.outcome(skipped) == "skip"
    assert (shown["status"], shown["passed"], shown["error"]) == ("skipped", False, "the budget is spent")


def test_every_result_has_the_same_keys_whatever_came_of_the_row() -> None:
    given = criterion(JUDGE)
    judgement = Judgement("house/judge", [{"role": "user", "content": "?"}], output='{"result": 1}')
    shown = [
        given.wire(result(given, Grade(1.0, judgements=(judgement,)))),
        given.wire(result(given, Grade.failed(JudgeFailed("503")))),
        given.failed("no sample", "error"),
        given.failed("too late", "skip"),
    ]
    assert {tuple(each) for each in shown} == {tuple(shown[0])}
    assert all(type(each["passed"]) is bool for each in shown)


@pytest.mark.parametrize(
    ("outcomes", "whole"),
    [
        (["pass", "pass"], "pass"),
        (["pass", "fail"], "fail"),
        (["fail", "error", "pass"], "error"),
        (["skip", "fail"], "skip"),
        (["skip", "error"], "error"),
    ],
)
def test_a_row_passes_only_where_all_criteria_do_and_an_error_weighs_most(outcomes: Any, whole: str) -> None:
    assert row_outcome(outcomes) == whole


def test_a_judges_own_words_stand_where_notebooks_read_them() -> None:
    given = criterion(JUDGE)
    judgement = Judgement(
        "house/judge",
        [{"role": "user", "content": [{"type": "text", "text": "Good? "}, {"type": "text", "text": "Or not?"}]}],
        {"temperature": 0.0, "max_completions_tokens": 50},
        "judge-2026",
        '{"steps": [], "result": 0.9}',
        {"result": 0.9},
        "stop",
        Usage(100, 20, 120, 3),
        0.002,
    )
    assert given.wire(result(given, Grade(0.9, judgements=(judgement,))))["sample"] == {
        "input": [{"role": "user", "content": "Good? Or not?"}],
        "output": [{"role": "assistant", "content": '{"steps": [], "result": 0.9}'}],
        "finish_reason": "stop",
        "model": "judge-2026",
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120, "cached_tokens": 3},
        "cost": 0.002,
        "latency": 0.0,
        "error": None,
        "seed": None,
        "temperature": 0.0,
        "top_p": 1.0,
        "reasoning_effort": None,
        "max_completions_tokens": 50,
    }


def test_of_several_judges_each_tells_its_answer_time_and_cost() -> None:
    given = criterion(JUDGE)
    asked = [{"role": "user", "content": "Good?"}]
    other = [{"role": "user", "content": "Better?"}]
    judgements = (
        Judgement("a", asked, output="1", latency_s=0.25, attempts=1, cost=0.001),
        Judgement("b", asked, failure=GradingFailed("it was down")),
        Judgement("c", other, output="0", attempts=0),
    )
    wire = given.wire(result(given, Grade(0.5, judgements=judgements)))
    told = [
        (each["model"], each["output"], each["latency"], each["cost"], each["error"]) for each in wire["judgements"]
    ]
    assert told == [("a", "1", 0.25, 0.001, None), ("b", "", 0.0, None, "it was down"), ("c", "0", 0.0, None, None)]
    assert [each["cached"] for each in wire["judgements"]] == [False, False, True]
    assert [each.get("input") for each in wire["judgements"]] == [None, None, other]
    assert given.wire(result(given, Grade(0.5, judgements=judgements[:1])))["judgements"] == []


def test_a_judges_failure_stands_in_its_sample() -> None:
    given = criterion(JUDGE)
    judgement = Judgement("house/judge", [{"role": "user", "content": "?"}], failure=JudgeFailed("it answered 503"))
    shown = given.wire(result(given, Grade.failed(JudgeFailed("x"))._replace(judgements=(judgement,))))["sample"]
    assert shown["error"] == {"code": "model_grader_server_error", "message": "it answered 503"}
    assert shown["output"] == []


def test_graders_without_a_model_have_no_sample_of_a_judge() -> None:
    given = criterion(EXACT)
    assert given.wire(result(given, Grade(1.0)))["sample"] is None
    assert given.wire(result(given, Grade(1.0)))["type"] == "string-check-grader"


def test_content_in_parts_is_shown_as_one_text() -> None:
    image = {"type": "image_url", "image_url": {"url": "http://x/y.png"}}
    audio = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
    assert flat(["a ", {"type": "input_text", "text": "b "}, image, audio]) == (
        "a b <image>http://x/y.png</image><audio></audio>"
    )
    assert flat({"type": "input_image", "image_url": "data:x"}) == "<image>data:x</image>"
