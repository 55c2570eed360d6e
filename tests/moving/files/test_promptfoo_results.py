"""Results of promptfoo: a run for each provider and prompt, with the verdicts that promptfoo gave."""

import json
from pathlib import Path
from typing import Any

import pytest

from fairmark.errors import InvalidData
from tests.moving.files.made import Made, lines


def result(test: int = 0, prompt: int = 0, provider: str = "openai:gpt-5", **more: Any) -> dict[str, Any]:
    return {
        "promptIdx": prompt,
        "testIdx": test,
        "provider": {"id": provider, "label": ""},
        "prompt": {"raw": f"Say {test}", "label": "x"},
        "vars": {"word": f"w{test}"},
        "response": {"output": f"a{test}", "tokenUsage": {"total": 5, "prompt": 3, "completion": 2, "cached": 0}},
        "success": True,
        "score": 1,
        "failureReason": 0,
        "gradingResult": {"pass": True, "score": 1, "componentResults": [part("contains", True)]},
        **more,
    }


def part(kind: str, passed: bool, score: float | None = None, **assertion: Any) -> dict[str, Any]:
    scored = float(passed) if score is None else score
    return {"pass": passed, "score": scored, "reason": f"{kind} says so", "assertion": {"type": kind, **assertion}}


def graded(*parts: dict[str, Any], success: bool, score: float = 0.5) -> dict[str, Any]:
    grading = {"pass": success, "score": score, "reason": "", "componentResults": list(parts)}
    return {"success": success, "score": score, "failureReason": 0 if success else 1, "gradingResult": grading}


def document(*results: dict[str, Any], version: Any = 3) -> str:
    summary = {"version": version, "timestamp": "2026-03-01T12:00:00.000Z", "results": list(results), "stats": {}}
    return json.dumps({"evalId": "eval-x", "results": summary, "config": {"tests": []}}, indent=1)


def made(folder: Path, *results: dict[str, Any]) -> Made:
    return Made(folder, document(*results), "output.json")


def test_there_is_a_run_for_each_provider_and_prompt(tmp_path: Path) -> None:
    new = made(tmp_path, result(1), result(0), result(0, prompt=1), result(0, provider="anthropic:claude"))
    assert sorted((run["name"], run["model"], run["result_counts"]["total"]) for run in new.runs) == [
        ("anthropic:claude, prompt 1", "anthropic:claude", 1),
        ("openai:gpt-5, prompt 1", "gpt-5", 2),
        ("openai:gpt-5, prompt 2", "gpt-5", 1),
    ]
    assert {run["created_at"] for run in new.runs} == {1_772_366_400}
    (two,) = (run for run in new.runs if run["result_counts"]["total"] == 2)
    items = new.items(two["id"])
    assert [(item["datasource_item_id"], item["datasource_item"]) for item in items] == [
        (0, {"word": "w0"}),
        (1, {"word": "w1"}),
    ]
    assert items[0]["sample"]["input"] == [{"role": "user", "content": "Say 0"}]
    assert items[0]["sample"]["output"] == [{"role": "assistant", "content": "a0"}]
    assert items[0]["sample"]["usage"]["prompt_tokens"] == 3
    assert new.rows(two["data_source"]["source"]["id"])[1]["sample"]["choices"][0]["message"]["content"] == "a1"


def test_criteria_are_named_by_metric_or_kind_and_keep_scores_and_verdicts(tmp_path: Path) -> None:
    parts = (part("contains", True), part("contains", False, 0.25), part("llm-rubric", True, 0.9, metric="Tone"))
    new = made(tmp_path, result(**graded(*parts, success=False)))
    criteria = new.evals[0]["testing_criteria"]
    assert [(each["type"], each["name"]) for each in criteria] == [
        ("custom", "contains"),
        ("custom", "contains 2"),
        ("custom", "Tone"),
    ]
    (item,) = new.items(new.runs[0]["id"])
    assert [(each["score"], each["passed"], each["reason"]) for each in item["results"]] == [
        (1.0, True, "contains says so"),
        (0.25, False, "contains says so"),
        (0.9, True, "llm-rubric says so"),
    ]
    assert item["status"] == "fail"


def test_a_test_that_passed_with_a_part_failed_stays_passed(tmp_path: Path) -> None:
    loose = graded(part("contains", True), part("regex", False), success=True, score=0.5)
    new = made(tmp_path, result(0, **loose), result(1))
    assert [each["name"] for each in new.evals[0]["testing_criteria"]] == ["test"]
    first, second = new.items(new.runs[0]["id"])
    assert (first["status"], first["results"][0]["passed"], first["results"][0]["score"]) == ("pass", True, 0.5)
    assert first["results"][0]["sub_rewards"] == {"contains": 1.0, "regex": 0.0}
    assert (second["status"], second["results"][0]["score"]) == ("pass", 1)
    assert "1 tests passed although a part of them failed" in "".join(new.notes("told"))


def test_what_could_not_be_run_is_an_error_and_no_failure(tmp_path: Path) -> None:
    failed = result(failureReason=2, success=False, score=0, error="429", response=None, gradingResult=None)
    new = made(tmp_path, failed)
    (item,) = new.items(new.runs[0]["id"])
    assert (item["status"], item["results"]) == ("error", [])
    assert item["sample"]["error"] == {"code": "error", "message": "429"}
    assert new.runs[0]["result_counts"]["errored"] == 1


def test_answers_to_a_question_asked_several_times_all_come(tmp_path: Path) -> None:
    new = made(tmp_path, result(0), result(1), result(0), result(0))
    assert [item["datasource_item_id"] for item in new.items(new.runs[0]["id"])] == [0, 1, 2, 3]


def test_an_answer_that_is_no_text_is_its_json(tmp_path: Path) -> None:
    new = made(tmp_path, result(response={"output": {"a": [1]}}))
    assert new.items(new.runs[0]["id"])[0]["sample"]["output"][0]["content"] == '{"a": [1]}'


def test_the_row_of_the_hosted_service_is_used_where_it_was_kept(tmp_path: Path) -> None:
    raw = {
        "run_id": "evalrun_7",
        "data_source_idx": 4,
        "item": {"q": 1},
        "grades": {"Tone": 6},
        "passes": {"Tone": True},
    }
    new = made(tmp_path, result(metadata={"openai": {"outputItem": raw}}))
    assert [run["id"] for run in new.runs] == ["evalrun_7"]
    (item,) = new.items("evalrun_7")
    assert (item["datasource_item_id"], item["results"][0]["score"]) == (4, 6)


def test_rows_may_come_one_a_line(tmp_path: Path) -> None:
    new = Made(tmp_path, lines(result(0), result(1)) + '{"promptIdx": 0,', "output.jsonl")
    assert new.runs[0]["result_counts"]["total"] == 2
    assert new.notes("problem")[0].startswith("line 3: not JSON")


@pytest.mark.parametrize("version", [1, 2, 4, "3", None])
def test_another_version_is_refused(tmp_path: Path, version: Any) -> None:
    with pytest.raises(InvalidData, match=r"results.version: found .* It takes 3: export it with a newer promptfoo"):
        Made(tmp_path, document(result(), version=version), "output.json")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"testIdx": -1}, "testIdx: found a number (-1)"),
        ({"vars": []}, "vars: found a list of 0"),
        ({"gradingResult": {"componentResults": [{"score": "1", "pass": True}]}}, "score: found a string"),
    ],
)
def test_a_result_that_cannot_be_read_is_told_with_its_place(tmp_path: Path, change: Any, why: str) -> None:
    new = made(tmp_path, result(0), result(1, **change))
    (problem,) = new.notes("problem")
    assert problem.startswith("results.results[1]: ")
    assert why in problem
