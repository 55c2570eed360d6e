"""python graders: what is accepted, how `grade` is called, and which flag each failure sets."""

import json
import os
from typing import Any

import pytest

import fairmark
from tests import command

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def python(body: str, **more: Any) -> dict[str, Any]:
    source = "def grade(sample, item):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    return {"type": "python", "source": source, **more}


def flags(result: fairmark.Result) -> dict[str, Any]:
    return {key: value for key, value in result.errors.items() if value}


def test_the_reward_is_what_the_function_returns() -> None:
    result = fairmark.grade(python("return len(sample['output_text']) / item['size']"), "abc", {"size": 4})
    assert (result.reward, result.status, result.passed) == (0.75, "graded", True)


def test_sample_and_item_are_the_documented_dictionaries() -> None:
    probe = python("print(sorted(sample), sample['output_tools'], sample.get('output_json'), item)\nreturn 1")
    assert fairmark.grade(probe, '{"a": 1}', {"b": 2}).printed == (
        "['choices', 'output_json', 'output_text', 'output_tools'] [] {'a': 1} {'b': 2}\n"
    )
    assert fairmark.grade(probe, "x").printed == "['choices', 'output_text', 'output_tools'] [] None {}\n"
    completion = {"choices": [{"message": {"content": None, "tool_calls": [CALL]}}]}
    assert fairmark.grade(python("return len(sample['output_tools'])"), completion).reward == 1.0
    assert fairmark.grade(python("return sample == {}"), None).reward == 1.0


@pytest.mark.parametrize(
    ("value", "reward"),
    [
        ("1", 1.0),
        ("True", 1.0),
        ("False", 0.0),
        ("-2.5", -2.5),
        ("7.5", 7.5),
        ("__import__('fractions').Fraction(1, 4)", 0.25),
    ],
)
def test_numbers_pass_through_unclamped(value: str, reward: float) -> None:
    result = fairmark.grade(python(f"return {value}"))
    assert (result.reward, result.status) == (reward, "graded")


@pytest.mark.parametrize(
    ("value", "details"),
    [
        ("None", "grade returned NoneType, not a number"),
        ("'0.5'", "grade returned str, not a number"),
        ("[1]", "grade returned list, not a number"),
        ("1j", "grade returned complex, not a number"),
        ("float('nan')", "grade returned nan, not a finite number"),
        ("float('-inf')", "grade returned -inf, not a finite number"),
        ("10 ** 400", "grade returned an integer too large for a float"),
        ("__import__('decimal').Decimal('0.5')", "grade returned Decimal, not a number"),
    ],
)
def test_what_is_no_finite_number_is_a_runtime_error(value: str, details: str) -> None:
    result = fairmark.grade(python(f"return {value}"))
    assert (result.reward, result.status, result.passed) == (0.0, "error", False)
    assert flags(result) == {"python_grader_runtime_error": True, "python_grader_runtime_error_details": details}


def test_an_exception_is_told_by_the_users_own_lines() -> None:
    source = (
        "import json\n\ndef helper(text):\n    return json.loads(text)\n\n"
        "def grade(sample, item):\n    return helper('{')\n"
    )
    details = fairmark.grade({"type": "python", "source": source}).errors["python_grader_runtime_error_details"]
    lines = [line for line in str(details).splitlines() if line.strip(" ^~")]  # Pythons differ in what they underline
    assert lines[:4] == [
        "Traceback (most recent call last):",
        '  File "grader.py", line 7, in grade',
        "    return helper('{')",
        '  File "grader.py", line 4, in helper',
    ]
    assert lines[-1].startswith("json.decoder.JSONDecodeError: Expecting property name")
    assert "runner.py" not in str(details)


def test_going_over_the_time_limit_sets_both_flags() -> None:
    """The limit is a setting of the process, so a process of its own is used."""
    script = (
        "import fairmark, json\n"
        "slow, fine = fairmark.grade_many({'type': 'python', 'source': "
        "'def grade(sample, item):\\n    while item: pass\\n    return 1'}, [{'item': {'a': 1}}, {'item': {}}])\n"
        "print(json.dumps([slow.model_dump(), fine.model_dump()]))\n"
    )
    done = command.python(script, env={"PATH": os.environ["PATH"], "FAIRMARK_PYTHON_TIMEOUT_S": "0.5"})
    assert done.returncode == 0, done.stderr
    slow, fine = json.loads(done.stdout)
    assert {key: value for key, value in slow["metadata"]["errors"].items() if value} == {
        "unresponsive_reward_error": True,
        "python_grader_server_error": True,
        "python_grader_server_error_type": "timeout",
    }
    assert slow["error"] == "the grader took longer than 0.5 s"
    assert fine["reward"] == 1.0


@pytest.mark.parametrize(
    ("body", "reason"), [("return len('x' * 10 ** 11)", "oom"), ("import os\nos._exit(3)", "died")]
)
def test_running_out_of_memory_and_dying_are_server_errors_of_their_type(body: str, reason: str) -> None:
    result = fairmark.grade(python(body))
    assert flags(result) == {"python_grader_server_error": True, "python_grader_server_error_type": reason}
    assert result.status == "error"


def test_prints_are_offered_and_never_disturb_the_result() -> None:
    result = fairmark.grade(python("print('{\"reward\": 9}')\nimport sys\nsys.stderr.write('e')\nreturn 0.5"))
    assert (result.reward, result.printed) == (0.5, '{"reward": 9}\ne')
    assert fairmark.grade(python("print('before')\n1 / 0")).printed == "before\n"
    assert fairmark.grade(python("return 1")).printed is None


def test_uniformly_indented_source_is_moved_to_the_left() -> None:
    source = "\n    def grade(sample, item):\n        return 0.5\n"
    assert fairmark.grade({"type": "python", "source": source}).reward == 0.5
    assert (fairmark.validate({"type": "python", "source": source}).grader or {})["source"] == source


MUST = "It must be: def grade(sample, item)."


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def grade(sample):\n    return 1", f"line 1: grade takes sample. {MUST}"),
        ("def grade():\n    return 1", f"line 1: grade takes nothing. {MUST}"),
        ("def grade(a, b, c=1):\n    return 1", f"line 1: grade takes a, b, c=1. {MUST}"),
        ("def grade(*args):\n    return 1", f"line 1: grade takes *args. {MUST}"),
        ("def grade(a, b, *, c):\n    return 1", f"line 1: grade takes a, b, *, c. {MUST}"),
        ("\nasync def grade(sample, item):\n    return 1", f"line 2: grade is async. {MUST}"),
        ("def score(sample, item):\n    return 1", f"it defines no function grade at its top level. {MUST}"),
        ("class A:\n    def grade(self, item): ...", f"it defines no function grade at its top level. {MUST}"),
        ("", f"it defines no function grade at its top level. {MUST}"),
        (
            "def grade(sample, item):\nreturn 1",
            "line 2: not Python: expected an indented block after function definition on line 1.",
        ),
        ("x = 1\ny = \n", "line 2: not Python: invalid syntax."),
        ("a = 1\n\0", "line 2: not Python: it holds a NUL or half a character."),
        ("# " + "x" * 256_000, "it has 256002 bytes. It must have less than 256000."),
    ],
)
def test_wrong_source_is_found_at_validation_with_its_line(source: str, message: str) -> None:
    (problem,) = fairmark.validate({"type": "python", "source": source}).errors
    assert str(problem) == f"$.source: {message}"


@pytest.mark.parametrize(
    ("grader", "problem"),
    [
        ({"type": "python"}, "$.source: missing. It takes a string."),
        ({"type": "python", "source": 5}, "$.source: found a number (5). It takes a string."),
        (python("return 1", image_tag=5), "$.image_tag: found a number (5). It takes a string."),
    ],
)
def test_a_field_of_the_wrong_type_is_told_with_the_right_one(grader: dict[str, Any], problem: str) -> None:
    assert [str(found) for found in fairmark.validate(grader).errors] == [problem]


@pytest.mark.parametrize("source", ["\ud800", "(" * 100_000, "-" * 200_000 + "1", "a = [" * 5000])
def test_source_that_no_parser_likes_is_refused_and_breaks_nothing(source: str) -> None:
    (problem,) = fairmark.validate({"type": "python", "source": source}).errors
    assert problem.path == "$.source"
    assert "not Python" in problem.message


@pytest.mark.parametrize(
    "definition", ["def grade(a: dict, b: dict) -> float:", "def grade(x, y, /):", "def grade(s, i, **k):"]
)
def test_names_and_annotations_are_free(definition: str) -> None:
    assert fairmark.grade({"type": "python", "source": f"{definition}\n    return 1.0"}).reward == 1.0


def test_the_image_tag_is_accepted_and_echoed_whatever_it_is() -> None:
    for tag in ("2025-05-08", "of my own", None):
        assert fairmark.validate(python("return 1", image_tag=tag)).grader == {
            **python("return 1"),
            "name": "python",
            "image_tag": tag,
        }
        assert fairmark.grade(python("return 1", image_tag=tag)).reward == 1.0


@pytest.mark.parametrize(
    ("more", "passed"), [({}, True), ({"pass_threshold": 0.6}, False), ({"pass_threshold": 0.5}, True)]
)
def test_a_python_grader_passes_at_one_half_unless_it_says_otherwise(more: dict[str, Any], passed: bool) -> None:
    assert fairmark.grade(python("return 0.5", **more)).passed is passed


def test_many_rows_keep_their_order_and_fail_alone() -> None:
    grader = python(
        "if item['i'] % 100 == 7: raise ValueError(item['i'])\n"
        "if item['i'] == 150: import os; os._exit(1)\nreturn item['i']"
    )
    results = fairmark.grade_many(grader, [{"item": {"i": i}} for i in range(600)])
    for i, result in enumerate(results):
        if i % 100 == 7:
            assert f"ValueError: {i}" in str(result.error)
        elif i == 150:
            assert result.errors["python_grader_server_error_type"] == "died"
        else:
            assert result.reward == i


def test_a_python_grader_works_inside_multi() -> None:
    grader = {
        "type": "multi",
        "graders": {
            "own": python("return len(sample['output_text'])"),
            "exact": {"type": "string_check", "input": "{{sample.output_text}}", "reference": "abc", "operation": "eq"},
        },
        "calculate_output": "own + 10 * exact",
    }
    assert [r.reward for r in fairmark.grade_many(grader, [{"sample": "abc"}, {"sample": "ab"}])] == [13.0, 2.0]


def test_the_published_azure_source_repaired_gives_the_published_word_overlap(northwind: list[dict[str, str]]) -> None:
    source = """
        def grade(sample, item) -> float:
            found = set(item.get("response", "").lower().split())
            wanted = set(item.get("ground_truth", "").lower().split())
            if not wanted:
                return 0.0
            return min(1.0, len(found & wanted) / len(wanted))
    """
    results = fairmark.grade_many({"type": "python", "source": source, "pass_threshold": 0.3}, northwind)
    assert [round(result.reward, 4) for result in results] == [0.4, 0.2353, 0.8235, 0.7059, 0.1935]
    assert [result.passed for result in results] == [True, False, True, True, False]


def test_a_row_that_cannot_be_sent_fails_alone() -> None:
    deep: Any = 0
    for _ in range(100_000):
        deep = [deep]
    grader = python("return 1")
    assert [r.status for r in fairmark.grade_many(grader, [{"item": {"a": deep}}, {"item": {}}])] == ["error", "graded"]
