"""fairmark runs compare: runs and results files, in every form."""

import json
from pathlib import Path

from tests.cli.grading.evaluating import EXACT
from tests.cli.runs.keeping import Kept


def test_runs_and_results_files_are_compared_alike(kept: Kept) -> None:
    kept.evaluate([1], "--name", "main", "-o", str(kept.folder / "main.jsonl"))
    kept.evaluate([*range(2, 12)], "--name", "mine", "-o", str(kept.folder / "mine.jsonl"))
    files = [str(kept.folder / f"{name}.jsonl") for name in ("main", "mine")]
    said = [
        json.loads(kept.runs("compare", *names, "--form", "json"))["criteria"]
        for names in (["main", "mine"], files, ["main", files[1]], ["main", "last"])
    ]
    assert said[1:] == said[:1] * 3
    assert said[0][0]["compared"][0]["lost"] == 10
    assert said[0][0]["compared"][0]["gained"] == 1
    assert "worse by 45.0 points, p = 0.012" in kept.runs("compare", "main", "mine")


def test_a_changed_grader_is_told(kept: Kept) -> None:
    kept.evaluate([1], "--name", "main")
    other = '{"type": "string_check", "name": "exact", "input": "x", "reference": "x", "operation": "eq"}'
    done = kept.fairmark("eval", str(kept.folder / "rows.jsonl"), "--grader", other, env=kept.env)
    assert done.returncode == 0
    assert "The graders of main (" in kept.runs("compare", "main", "last")


def test_a_run_without_answers_is_not_just_worse(kept: Kept) -> None:
    kept.evaluate([], "--name", "main")
    data, results = kept.folder / "flat.jsonl", str(kept.folder / "flat-results.jsonl")
    data.write_text("".join(json.dumps({"a": str(n), "output": str(n)}) + "\n" for n in range(1, 21)))
    assert kept.fairmark("eval", str(data), "--grader", EXACT, "-o", results, env=kept.env).returncode == 3
    for name in ("last", results):
        said = kept.runs("compare", "main", name)
        assert "worse by 100.0 points" in said
        assert "20 × this row has no sample" in said


def test_a_file_has_the_form_of_its_ending(kept: Kept) -> None:
    kept.evaluate([1], "--name", "main")
    kept.evaluate([2], "--name", "mine")
    starts = {"md": "- **A**", "json": "{", "xml": "<?xml", "html": "<!doctype html>", "txt": "A  main"}
    for ending, start in starts.items():
        path = kept.folder / f"out.{ending}"
        assert kept.runs("compare", "main", "mine", "-o", str(path)) == ""
        assert path.read_text().startswith(start)


def test_a_run_that_is_worse_fails_where_that_is_asked_for(kept: Kept) -> None:
    kept.evaluate([], "--name", "main")
    kept.evaluate([1], "--name", "hardly")
    kept.evaluate([*range(1, 11)], "--name", "worse")
    assert kept.runs("compare", "main", "hardly", "--fail-if-worse")
    said = kept.runs("compare", "main", "hardly", "worse", "--fail-if-worse", code=1)
    assert "exact: worse (" in said
    assert "is worse by 50.0 points, p = 0.004" in said


def test_what_is_wrong_is_told(kept: Kept) -> None:
    kept.evaluate([], "--name", "main")
    for words, told in (
        (["main"], "found 1 runs. From 2 to 6"),
        (["main"] * 7, "found 7 runs. From 2 to 6"),
        (["main", "absent.jsonl"], "absent.jsonl: no such file"),
        (["main", "main", "--form", "pdf"], 'found "pdf". Use one of: table, markdown, json, junit, html.'),
    ):
        assert told in kept.runs("compare", *words, code=2)


def test_a_file_that_is_compared_is_never_written_over(kept: Kept) -> None:
    path = kept.folder / "main.jsonl"
    kept.evaluate([], "-o", str(path))
    before = path.read_bytes()
    assert "would destroy it" in kept.runs("compare", str(path), str(path), "-o", str(path), code=2)
    assert Path(path).read_bytes() == before
