"""A dashboard export: every score and verdict stays, and nothing that the file does not say is made up."""

from pathlib import Path
from typing import Any

import pytest

from fairmark.errors import InvalidData
from tests.moving.files.made import AT, Made, files_of, lines


def row(run: str = "evalrun_1", index: int = 0, **more: Any) -> dict[str, Any]:
    return {"run_id": run, "data_source_idx": index, "item": {"question": f"q{index}"}, "grades": {}, **more}


SAMPLE = {
    "trajectory": [{"role": "user", "content": "q0"}],
    "outputs": [{"role": "assistant", "content": "Paris"}],
    "finish_reason": "length",
    "sampled_model_name": "gpt-4.1",
    "token_usage": {"total_tokens": 10, "completion_tokens": 2, "prompt_tokens": 8, "cached_tokens": 1},
}


def test_one_eval_has_a_run_for_each_run_id_under_its_own_id(tmp_path: Path) -> None:
    given = lines(
        row("evalrun_b", 1, grades={"Tone": 6}, passes={"Tone": True}),
        row("evalrun_a", 0, grades={"Tone": 1, "Tool": 1}, passes={"Tone": False, "Tool": True}),
        row("evalrun_b", 0, grades={"Tone": 3}, passes={"Tone": True}),
    )
    new = Made(tmp_path, given, "eval_items_1.jsonl")
    (eval_,) = new.evals
    assert eval_["name"] == "eval_items_1"
    assert [(each["type"], each["name"]) for each in eval_["testing_criteria"]] == [
        ("custom", "Tone"),
        ("custom", "Tool"),
    ]
    assert {run["id"]: run["result_counts"] for run in new.runs} == {
        "evalrun_a": {"total": 1, "passed": 0, "failed": 1, "errored": 0, "skipped": 0},
        "evalrun_b": {"total": 2, "passed": 2, "failed": 0, "errored": 0, "skipped": 0},
    }
    assert [item["datasource_item_id"] for item in new.items("evalrun_b")] == [0, 1]
    tone, tool = (each["id"] for each in eval_["testing_criteria"])
    (item,) = new.items("evalrun_a")
    assert [(result["name"], result["score"], result["passed"]) for result in item["results"]] == [
        (tone, 1, False),
        (tool, 1, True),
    ]
    assert (item["status"], item["eval_id"], item["created_at"]) == ("fail", eval_["id"], AT)
    counts = next(run for run in new.runs if run["id"] == "evalrun_b")["per_testing_criteria_results"]
    assert counts == [{"testing_criteria": tone, "passed": 2, "failed": 0, "errored": 0, "skipped": 0}]


def test_a_score_without_a_verdict_is_kept_and_neither_passes_nor_fails(tmp_path: Path) -> None:
    new = Made(tmp_path, lines(row(grades={"Tone": 0}), row(index=1, grades={"Tone": 5}, passes={"Tone": True})))
    first, second = new.items("evalrun_1")
    assert first["results"][0] | {"name": ""} == {
        "name": "",
        "type": "custom-grader",
        "score": 0,
        "passed": None,
        "sample": None,
        "status": "skipped",
        "error": "the file has a score and no verdict",
    }
    assert (first["status"], second["status"]) == ("skip", "pass")
    assert new.runs[0]["result_counts"] == {"total": 2, "passed": 1, "failed": 0, "errored": 0, "skipped": 1}
    assert "1 rows have scores without a verdict: they are kept, and count as skipped." in new.notes("told")


def test_a_row_that_names_no_model_leaves_the_runs_own(tmp_path: Path) -> None:
    new = Made(tmp_path, lines(row(sample=SAMPLE), row(index=1, sample={"error": "overloaded"})))
    assert new.runs[0]["model"] == "gpt-4.1"


def test_a_verdict_without_a_score_has_none(tmp_path: Path) -> None:
    (item,) = Made(tmp_path, lines(row(passes={"Tone": True}))).items("evalrun_1")
    assert (item["results"][0]["score"], item["results"][0]["passed"], item["status"]) == (None, True, "pass")


def test_the_sample_comes_in_the_words_of_an_output_item(tmp_path: Path) -> None:
    judged = {"Tone": {"outputs": [{"role": "assistant", "content": '{"result": 6}'}]}}
    new = Made(tmp_path, lines(row(sample=SAMPLE, grades={"Tone": 6}, passes={"Tone": True}, grader_samples=judged)))
    (item,) = new.items("evalrun_1")
    assert item["sample"] == {
        "input": [{"role": "user", "content": "q0"}],
        "output": [{"role": "assistant", "content": "Paris"}],
        "finish_reason": "length",
        "model": "gpt-4.1",
        "usage": {"total_tokens": 10, "completion_tokens": 2, "prompt_tokens": 8, "cached_tokens": 1},
        "error": None,
        "temperature": 1.0,
        "max_completion_tokens": 0,
        "top_p": 1.0,
        "seed": 0,
    }
    assert item["results"][0]["sample"] == {"input": [], "output": judged["Tone"]["outputs"]}
    (run,) = new.runs
    assert (run["model"], run["per_model_usage"][0]["prompt_tokens"]) == ("gpt-4.1", 8)
    (kept,) = new.rows(run["data_source"]["source"]["id"])
    assert kept["item"] == {"question": "q0"}
    assert kept["sample"]["choices"][0]["message"] == {"role": "assistant", "content": "Paris"}


@pytest.mark.parametrize(
    ("error", "wire"),
    [
        ({"message": "no role", "type": "invalid", "param": "input"}, {"code": "invalid", "message": "no role"}),
        ("it broke", {"code": "error", "message": "it broke"}),
        ({"odd": 1}, {"code": "error", "message": '{"odd": 1}'}),
    ],
)
def test_an_answer_that_failed_is_an_error(tmp_path: Path, error: Any, wire: Any) -> None:
    new = Made(tmp_path, lines(row(sample={**SAMPLE, "error": error}, grades={"A": 1}, passes={"A": True})))
    (item,) = new.items("evalrun_1")
    assert (item["status"], item["sample"]["error"]) == ("error", wire)
    assert new.runs[0]["result_counts"]["errored"] == 1
    assert "sample" not in new.rows(new.runs[0]["data_source"]["source"]["id"])[0]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ('{"run_id": "evalrun_1", "data_sou', "not JSON: unterminated string"),
        (lines({"prompt": 1}), "it needs run_id, data_source_idx, item and grades; found ['prompt']"),
        (lines(row(index=-1)), "data_source_idx: found a number (-1). It takes a whole number from 0."),
        (lines({**row(), "data_source_idx": True}), "data_source_idx: found true"),
        (lines({**row(), "grades": {"A": "6"}}), 'grades["A"]: found a string ("6"). It takes a number.'),
        (lines({**row(), "grades": {"A": None}}), 'grades["A"]: found null. It takes a number.'),
        (lines({**row(), "grades": [1]}), "grades: found a list of 1. It takes an object of numbers."),
        (lines(row(passes={"A": 1})), 'passes["A"]: found a number (1). It takes true or false.'),
        (lines(row(passes=[True])), "passes: found a list of 1. It takes an object of true and false."),
        (lines({**row(), "item": "q"}), "item: found a string"),
        (lines(row(sample="x")), "sample: found a string"),
        (lines(row()), 'row 0 of run "evalrun_1" is there a second time.'),
        ("[1, 2]\n", "found a list of 2"),
    ],
)
def test_a_line_that_cannot_be_read_is_told_and_the_others_come(tmp_path: Path, bad: str, why: str) -> None:
    new = Made(tmp_path, lines(row(grades={"A": 1})) + "\n" + bad)
    (problem,) = new.notes("problem")
    assert problem.startswith("line 3: ")
    assert why in problem
    assert new.report.has_problems
    assert len(new.items("evalrun_1")) == 1
    assert new.listed("problems.jsonl")[0]["what"] == "line 3"


def test_an_id_that_no_run_can_have_becomes_one_that_stays(tmp_path: Path) -> None:
    new = Made(tmp_path, lines(row("my run/../1", grades={"A": 1})))
    (run,) = new.runs
    assert run["id"].startswith("evalrun_")
    assert run["name"] == "my run/../1"
    assert any(run["id"] in note for note in new.notes("told"))


def test_the_same_file_makes_the_same_archive(tmp_path: Path) -> None:
    given = lines(row(grades={"A": 1}), row("evalrun_2", grades={"B": 1}))
    assert files_of(Made(tmp_path, given).archive) == files_of(Made(tmp_path, given).archive)


def test_a_file_of_nothing_but_bad_lines_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match="no line in it is an output item"):
        Made(tmp_path, lines({**row(), "item": 1}))
