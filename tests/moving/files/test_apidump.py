"""Objects of the API that somebody saved: kept as they are, in any order, and completed where parts are missing."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.moving.files.made import Made, files_of, lines

CRITERION = "Tone-0b3c1a52-7f11-4f0e-9d0e-0a1b2c3d4e5f"
EVAL = {
    "object": "eval",
    "id": "eval_1",
    "name": "Mine",
    "created_at": 100,
    "testing_criteria": [{"type": "string_check", "id": CRITERION, "name": "Tone", "unknown": [1]}],
    "data_source_config": {"type": "custom", "schema": {}},
}
RUN = {
    "object": "eval.run",
    "id": "evalrun_1",
    "eval_id": "eval_1",
    "created_at": 200,
    "status": "completed",
    "result_counts": {"total": 2, "passed": 1, "failed": 1, "errored": 0},
    "per_testing_criteria_results": [{"testing_criteria": CRITERION, "passed": 1, "failed": 1}],
    "data_source": {"type": "jsonl", "source": {"type": "file_id", "id": "file-abc"}},
}


def item(index: int, passed: bool = True, **more: Any) -> dict[str, Any]:
    return {
        "object": "eval.run.output_item",
        "id": f"outputitem_{index}",
        "run_id": "evalrun_1",
        "eval_id": "eval_1",
        "created_at": 150 + index,
        "status": "pass" if passed else "fail",
        "datasource_item_id": index,
        "datasource_item": {"q": index},
        "results": [{"name": CRITERION, "score": 1.0, "passed": passed}],
        "sample": {
            "model": "gpt-4.1",
            "output": [{"role": "assistant", "content": f"a{index}"}],
            "usage": {"total_tokens": 3},
        },
        **more,
    }


FILE = {"object": "file", "id": "file-abc", "bytes": 7, "filename": "rows.jsonl", "purpose": "evals", "created_at": 50}
ALL = [item(1, False), FILE, RUN, item(0), EVAL]


def page(*objects: Any) -> dict[str, Any]:
    return {"object": "list", "data": list(objects), "has_more": False, "first_id": "a", "last_id": "b"}


@pytest.mark.parametrize(
    "content",
    [
        lines(*ALL),
        json.dumps(ALL, indent=2),
        json.dumps(page(*ALL), indent=2),
        lines(page(*ALL[:3]), page(*ALL[3:])),
        json.dumps([page(*ALL[:2]), *ALL[2:]]),
    ],
    ids=["lines", "array", "page", "pages a line", "mixed"],
)
def test_all_of_it_comes_in_any_order_and_any_shell(tmp_path: Path, content: str) -> None:
    new = Made(tmp_path, content, "dump.json" if content[0] == "[" or "\n  " in content else "dump.jsonl")
    assert new.evals == [EVAL]
    assert new.runs == [RUN]
    assert new.items("evalrun_1") == [item(0), item(1, False)]
    assert not new.report.has_problems


def test_objects_are_kept_byte_for_byte(tmp_path: Path) -> None:
    strange = '{"object":"eval",  "id": "eval_9", "n": 1.50, "k\\u00e9y": "\\u00e9", "big": 12345678901234567890123}'
    new = Made(tmp_path, f"{strange}\n{json.dumps(RUN)}\n")
    assert next(new.archive.lines("evals.jsonl")).decode() == strange


def test_the_file_that_a_run_read_is_made_of_its_items(tmp_path: Path) -> None:
    new = Made(tmp_path, lines(*ALL))
    (file,) = new.listed("files.jsonl")
    size = len(b'{"item":{"q":0}}\n') * 2
    mark = {"mark": "rebuilt", "run_id": "evalrun_1", "rows": 2, "bytes": size}
    assert file == {**FILE, "bytes": size, "rebuilt": mark}
    assert new.rows("file-abc") == [{"item": {"q": 0}}, {"item": {"q": 1}}]
    assert Made(tmp_path, lines(*ALL[1:])).listed("files.jsonl")[0]["rebuilt"]["mark"] == "partial"


def test_a_file_without_a_run_is_told_and_left_out(tmp_path: Path) -> None:
    new = Made(tmp_path, lines(EVAL, FILE))
    assert new.listed("files.jsonl") == []
    assert "1 files are left out" in new.notes("told")[0]


def test_items_alone_make_their_run_and_eval(tmp_path: Path) -> None:
    new = Made(tmp_path, lines(item(1, False), item(0)))
    (eval_,) = new.evals
    assert (eval_["id"], eval_["created_at"]) == ("eval_1", 150)
    assert eval_["testing_criteria"] == [{"type": "custom", "id": CRITERION, "name": "Tone"}]
    (run,) = new.runs
    assert (run["id"], run["eval_id"], run["created_at"], run["model"]) == ("evalrun_1", "eval_1", 150, "gpt-4.1")
    assert run["result_counts"] == {"total": 2, "passed": 1, "failed": 1, "errored": 0, "skipped": 0}
    assert run["per_testing_criteria_results"] == [{"testing_criteria": CRITERION, "passed": 1, "failed": 1}]
    rows = new.rows(run["data_source"]["source"]["id"])
    assert [row["sample"]["choices"][0]["message"]["content"] for row in rows] == ["a0", "a1"]
    assert len(new.notes("told")) == 2


def test_items_that_do_not_name_their_eval_belong_to_that_of_their_run(tmp_path: Path) -> None:
    unsaid = [{**item(number), "eval_id": None} for number in (0, 1)]
    del unsaid[0]["eval_id"]
    new = Made(
        tmp_path, lines(*unsaid, RUN, EVAL, {**unsaid[1], "run_id": "evalrun_2"}, {**item(3), "run_id": "evalrun_3"})
    )
    assert len(new.items("evalrun_1")) == 2
    assert new.notes("problem") == [
        "line 5: eval_id: missing, and the run evalrun_2 is not in the file: 1 output items are left out."
    ]
    assert {run["id"] for run in new.runs} == {"evalrun_1", "evalrun_3"}


def test_a_run_alone_makes_its_eval(tmp_path: Path) -> None:
    (eval_,) = Made(tmp_path, lines(RUN)).evals
    assert (eval_["id"], eval_["created_at"]) == ("eval_1", 200)
    assert [each["name"] for each in eval_["testing_criteria"]] == ["Tone"]


def test_an_object_that_is_there_again_counts_once(tmp_path: Path) -> None:
    new = Made(tmp_path, lines(EVAL, EVAL, {**EVAL, "name": "Later"}))
    assert [each["name"] for each in new.evals] == ["Later"]
    assert new.notes("told") == ["line 3: eval eval_1 is there again with other content: this one counts."]


def test_completions_responses_and_jobs_have_their_lists(tmp_path: Path) -> None:
    completion = {"object": "chat.completion", "id": "chatcmpl-1", "choices": []}
    response = {"object": "response", "id": "resp_1"}
    job = {"object": "fine_tuning.job", "id": "ftjob-1"}
    checkpoint = {"object": "fine_tuning.job.checkpoint", "id": "ftckpt_1", "fine_tuning_job_id": "ftjob-1"}
    new = Made(tmp_path, lines(completion, response, checkpoint, job))
    assert [new.listed(f"{name}.jsonl") for name in ("completions", "responses", "jobs", "checkpoints/ftjob-1")] == [
        [completion],
        [response],
        [job],
        [checkpoint],
    ]
    assert "their messages are not in this file" in new.notes("told")[0]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ('{"object": "eval", "id":', "not JSON"),
        (
            lines({"object": "assistant", "id": "a"}),
            'object: found a string ("assistant"). It takes one of: eval, eval.run',
        ),
        (lines({"object": "eval", "id": 5}), "id: found a number (5). It takes an id."),
        (lines({"object": "eval.run", "id": "evalrun_2"}), "eval_id: found null. It takes an id."),
        (lines({**item(3), "run_id": ""}), "run_id: found a string"),
        ("7\n", "object: found a number (7)."),
        (lines({**EVAL, "id": "e" * 300}), "It takes an id."),
        (lines({**EVAL, "id": "eval\n_1"}), "It takes an id."),
        ('{"object": "eval", "id": "eval_\\ud800"}\n', "It takes an id."),
    ],
)
def test_what_is_no_object_is_told_with_its_line(tmp_path: Path, bad: str, why: str) -> None:
    new = Made(tmp_path, lines(EVAL, RUN) + bad)
    (problem,) = new.notes("problem")
    assert problem.startswith("line 3: ")
    assert why in problem
    assert new.evals == [EVAL]


def test_one_page_of_several_is_told(tmp_path: Path) -> None:
    new = Made(tmp_path, json.dumps({**page(EVAL), "has_more": True}), "page.json")
    assert "has_more is true: it is one page of several." in new.notes("told")


def test_ids_with_slashes_stay_inside_of_the_archive(tmp_path: Path) -> None:
    new = Made(tmp_path, lines({**RUN, "id": "../../x"}, {**item(0), "run_id": "../../x"}))
    assert [path.name for path in (new.archive.folder / "runs").iterdir()] == ["%2E.%2F..%2Fx.json"]
    assert files_of(new.archive).keys() >= {"runs/%2E.%2F..%2Fx.json", "items/%2E.%2F..%2Fx.jsonl"}
