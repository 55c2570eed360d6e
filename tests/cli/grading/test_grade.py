"""fairmark grade."""

import json
from pathlib import Path

import pytest

from fairmark.graders import KINDS
from tests.cli.conftest import Run

EXACT = "examples/exact.json"


def test_a_grade_is_printed_as_json(fairmark: Run) -> None:
    done = fairmark("grade", EXACT, "--sample", "Paris", "--item", '{"answer": "Paris"}')
    result = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert (result["reward"], result["passed"], result["metadata"]["name"]) == (1.0, True, "exact")


def test_the_exit_code_tells_a_fail_from_an_error(fairmark: Run) -> None:
    assert fairmark("grade", EXACT, "--sample", "Rome", "--item", '{"answer": "Paris"}').returncode == 1
    done = fairmark("grade", EXACT, "--sample", "Rome")
    assert done.returncode == 3
    assert json.loads(done.stdout)["metadata"]["errors"]["invalid_variable_error"] is True
    assert done.stderr == 'exact: {{ item.answer }}: this item has no field "answer". It has none.\n'


def test_sample_and_item_come_from_files_and_the_grader_from_stdin(fairmark: Run, tmp_path: Path) -> None:
    (tmp_path / "sample.txt").write_text("\ufeffPa\nris")
    (tmp_path / "item.json").write_text('{"answer": "Pa\\nris"}')
    done = fairmark(
        "grade",
        "-",
        "--sample",
        f"@{tmp_path}/sample.txt",
        "--item",
        f"@{tmp_path}/item.json",
        stdin=Path(EXACT).read_text(),
    )
    assert json.loads(done.stdout)["reward"] == 1.0


def test_a_chat_completion_can_be_the_sample(fairmark: Run) -> None:
    completion = {"choices": [{"message": {"content": "Paris"}}]}
    done = fairmark("grade", EXACT, "--sample-json", json.dumps(completion), "--item", '{"answer": "Paris"}')
    assert json.loads(done.stdout)["reward"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such.json"], "no-such.json: no such file or directory."),
        (["examples"], "examples: is a directory."),
        (
            ["examples/capitals.jsonl"],
            "examples/capitals.jsonl: $: the grader is not JSON: extra data at line 2 column 1.",
        ),
        (["{}"], f"the grader: $.type: missing. Use one of: {', '.join(KINDS)}."),
        ([EXACT, "--item", "{"], "--item: not JSON: expecting property name enclosed in double quotes at column 2."),
        ([EXACT, "--item", "[1]"], "--item: expected an object, found a list of 1."),
        ([EXACT, "--sample", "@none.txt"], "none.txt: no such file or directory."),
        ([EXACT, "--sample-json", "5"], "--sample-json: expected an object, found a number (5)."),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(fairmark: Run, arguments: list[str], message: str) -> None:
    done = fairmark("grade", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message + "\n")


def test_every_problem_of_a_grader_is_printed(fairmark: Run) -> None:
    done = fairmark("grade", '{"type": "string_check", "operation": "equals"}')
    assert done.returncode == 2
    assert [line.split(":")[1] for line in done.stderr.splitlines()] == [" $.input", " $.reference", " $.operation"]
