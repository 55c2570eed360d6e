"""fairmark validate."""

import json

from fairmark.graders import KINDS
from tests.cli.conftest import Run


def test_a_valid_grader_is_printed_in_its_normalised_form(fairmark: Run) -> None:
    done = fairmark("validate", '{"type": "string_check", "input": "a", "reference": "b", "operation": "neq", "x": 1}')
    assert done.returncode == 0
    assert json.loads(done.stdout) == {
        "type": "string_check",
        "name": "string_check",
        "input": "a",
        "reference": "b",
        "operation": "ne",
        "x": 1,
    }


def test_warnings_go_to_stderr(fairmark: Run) -> None:
    done = fairmark("validate", '{"type": "string_check", "input": "{item.a}", "reference": "b", "operation": "eq"}')
    assert done.returncode == 0
    assert done.stderr.startswith("warning: $.input: {item.a} is taken as plain text")


def test_an_invalid_grader_is_exit_code_2_with_every_problem(fairmark: Run) -> None:
    done = fairmark("validate", '{"type": "multi", "graders": {"a": {"type": "x"}}, "calculate_output": "b"}')
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        f'the grader: $.graders.a.type: unknown type "x". Use one of: {", ".join(KINDS)}.',
        'the grader: $.calculate_output: unknown variable "b". The graders\' keys are: a.',
    ]
