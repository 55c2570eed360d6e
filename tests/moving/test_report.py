"""What is told of an archive."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from fairmark.errors import InvalidArchive
from fairmark.moving.archive import Archive
from fairmark.moving.report import MovingReport, render, report_of

TODAY = date(2026, 11, 16)
CHECK = {"type": "string_check", "name": "exact", "id": "exact-1", "input": "a", "reference": "b", "operation": "eq"}
JUDGE: dict[str, Any] = {
    "type": "score_model",
    "name": "tone",
    "id": "tone-1",
    "model": "o3-mini",
    "input": [{"role": "user", "content": "Rate."}],
    "pass_threshold": 0.5,
}


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    archive = Archive(tmp_path / "a")
    archive.save_manifest({"source": "openai", "base_url": "https://api.openai.com/v1"})
    return archive


def add_eval(archive: Archive, eval_id: str, *criteria: Any) -> None:
    line = json.dumps({"id": eval_id, "testing_criteria": criteria})
    archive.write("evals.jsonl", (archive.read("evals.jsonl") or b"") + line.encode() + b"\n")


def add_run(archive: Archive, run_id: str, eval_id: str, items: int, status: str = "completed", text: str = "") -> None:
    archive.write(f"runs/{run_id}.json", json.dumps({"id": run_id, "eval_id": eval_id, "status": status}).encode())
    line = json.dumps({"id": "outputitem_1", "sample": {"input": [{"content": text}]}}).encode() + b"\n"
    archive.write(f"items/{run_id}.jsonl", line * items)


def test_it_counts_what_is_there(archive: Archive) -> None:
    add_eval(archive, "eval_1", CHECK)
    add_run(archive, "evalrun_1", "eval_1", 3)
    add_run(archive, "evalrun_2", "eval_1", 2)
    archive.write("files.jsonl", b'{"id": "file-1"}\n{"id": "file-2"}\n')
    archive.write("files/file-1", b"x")
    report = report_of(archive, TODAY)
    assert report.counts == {
        "evals": 1, "runs": 2, "items": 5, "files": 2, "completions": 0, "responses": 0, "jobs": 0, "contents": 1,
    }  # fmt: skip
    assert (report.decisions, report.not_gradable, report.judges) == ([], [], [])
    assert "- 5 output items" in render(report)
    assert "Datasets, prompts and annotations" in render(report)


def test_runs_that_cannot_be_graded_again_say_why(archive: Archive) -> None:
    add_eval(archive, "eval_1", CHECK)
    add_eval(archive, "eval_2", {"type": "unheard_of", "name": "x", "id": "x-1"})
    add_run(archive, "good", "eval_1", 2)
    add_run(archive, "empty", "eval_1", 0)
    add_run(archive, "going", "eval_1", 1, status="in_progress")
    add_run(archive, "orphan", "eval_9", 1)
    add_run(archive, "theirs", "eval_2", 1)
    add_run(archive, "pictures", "eval_1", 1, text="See <image>https://x/y.png</image>")
    add_run(archive, "cut", "eval_1", 1)
    archive.write("problems.jsonl", b'{"kind": "list", "id": "items/cut", "why": "500"}\n')
    why = {line["run"]: line["why"] for line in report_of(archive, TODAY).not_gradable}
    assert set(why) == {"empty", "going", "orphan", "theirs", "pictures", "cut"}
    assert "no output items" in why["empty"]
    assert "in_progress" in why["going"]
    assert "its eval is not in the archive" in why["orphan"]
    assert "none of its criteria" in why["theirs"]
    assert "images" in why["pictures"]
    assert "only 1 of its output items" in why["cut"]


@pytest.mark.parametrize(
    ("criterion", "told"),
    [
        ({"type": "unheard_of", "name": "x"}, "unknown type"),
        ({"type": "python", "name": "x", "source": "def grade(sample"}, "source"),
        ({**JUDGE, "model": "{{ aoai_deployment }}"}, "placeholder"),
        ("no grader", "in place of a grader"),
    ],
)
def test_criteria_that_cannot_run_here_need_a_decision(criterion: Any, told: str, archive: Archive) -> None:
    add_eval(archive, "eval_1", CHECK, criterion)
    (decision,) = report_of(archive, TODAY).decisions
    assert decision["eval"] == "eval_1"
    assert told in decision["why"]


def test_judges_that_are_gone_are_counted_with_their_alias_and_nobody_else(archive: Archive) -> None:
    inside = {"type": "multi", "name": "m", "calculate_output": "a", "graders": {"a": {**JUDGE, "model": "gpt-4o"}}}
    add_eval(archive, "eval_1", JUDGE, {**JUDGE, "id": "tone-2"}, {**JUDGE, "model": "ft:gpt-4o-2024-08-06:me::1"})
    add_eval(archive, "eval_2", inside, {**JUDGE, "model": "gpt-6-luna"}, {**JUDGE, "model": "gpt-7"})
    models = {"data": [{"id": "gpt-7", "shutdown_date": "2027-05-01"}, {"id": "gpt-6-luna", "shutdown_date": None}]}
    archive.write("models.json", json.dumps(models).encode())
    report = report_of(archive, TODAY)
    assert [(judge["model"], judge["criteria"], judge["gone"], judge["replacement"]) for judge in report.judges] == [
        ("ft:gpt-4o-2024-08-06:me::1", 1, "2027-01-14", "gpt-6-luna"),
        ("gpt-4o", 1, "2027-01-14", "gpt-6-luna"),
        ("gpt-7", 1, "2027-05-01", None),
        ("o3-mini", 2, "2026-10-23", "gpt-5.6-sol"),
    ]
    assert '"o3-mini" = "gpt-5.6-sol"' in report.aliases()
    assert "gpt-7" not in report.aliases()
    assert "- o3-mini: gone since 2026-10-23; gpt-5.6-sol in its place. 2 criteria name it." in render(report)


def test_a_report_is_plain_data_and_long_lists_are_cut_for_people(archive: Archive) -> None:
    report = MovingReport("a", problems=[{"kind": "file", "id": str(index), "why": "404"} for index in range(30)])
    report.go_on, report.loaded = "fairmark import openai", {"evals": 3}
    assert json.loads(json.dumps(report.dump()))["problems"][29]["id"] == "29"
    text = render(report, most=20)
    assert "- file 19: 404" in text
    assert "- file 20: 404" not in text
    assert "and 10 more" in text
    assert "    fairmark import openai" in text
    assert "- evals: 3" in text


def test_an_archive_that_was_broken_by_hand_is_told(archive: Archive) -> None:
    archive.write("evals.jsonl", b'{"id": "eval_1"}\n{"id":\n')
    with pytest.raises(InvalidArchive, match=r"evals\.jsonl: line 2"):
        report_of(archive, TODAY)
