"""Kinds of other packages: the example, really installed, and packages that are broken in one way each."""

import re
import sys
from pathlib import Path

import pytest

from tests.graders.packages import COMMAND, KIND, answer, package, python

ASK = """
def problem(grader):
    try:
        fairmark.grade(grader)
    except fairmark.InvalidGrader as error:
        return str(error)
same = {"type": "string_check", "input": "a", "reference": "a", "operation": "eq"}
answer = [problem({"type": "mine"}), fairmark.grade(same).reward, problem({"type": "mine"}), problem({"type": "?"})]
"""


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import nothing_of_this_name", "ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("1 +", "SyntaxError: invalid syntax (odd.py, line 1)"),
        ("", "AttributeError: module 'odd' has no attribute 'KIND'"),
        ("KIND = {'type': 'mine'}", "it leads to an object, not to a fairmark.plugin.Kind"),
        ("def KIND(spec, row, ctx): pass", "it leads to a Python function, not to a fairmark.plugin.Kind"),
        (f"{KIND}\nKIND = Kind(dict, pure=grade)", "its spec is not a subclass of fairmark.plugin.GraderSpec"),
        (
            f"{KIND.replace('mine', 'yours')}\nKIND = Kind(Spec, pure=grade)",
            'its spec has no field type: Literal["mine"]',
        ),
        (
            f"{KIND}\nKIND = Kind(GraderSpec, pure=grade)",
            'its spec has no field type: Literal["mine"]',
        ),
        (f"{KIND}\nKIND = Kind(Spec)", "ValueError: a kind needs pure, batch or both"),
        (
            f"{KIND}\nKIND = Kind(Spec, pure=grade, waits=lambda spec: True)",
            "ValueError: a kind that waits needs batch",
        ),
        (f"{KIND}\nKIND = Kind(Spec, pure=grade, rows_at_once=0)", "ValueError: rows_at_once is at least 1, found 0"),
        (
            f"{KIND}\nclass Odd(Spec):\n    way: Row\nKIND = Kind(Odd, pure=grade)",
            "PydanticSchemaGenerationError: Unable to generate pydantic-core schema for",
        ),
    ],
)
def test_a_broken_kind_is_told_to_who_asks_for_it_and_nobody_else(tmp_path: Path, source: str, reason: str) -> None:
    asked, other, again, unknown = answer(ASK, path=package(tmp_path, "odd", source))
    assert asked.startswith(f'$.type: The entry point mine = "odd:KIND" of odd 1.0 cannot be used: {reason}')
    assert asked.endswith(".")
    assert (other, again) == (1.0, asked)
    assert unknown.endswith("custom, cascade, multi.")


def test_two_packages_with_one_name_are_both_left_alone(tmp_path: Path) -> None:
    good = f"{KIND}\nKIND = Kind(Spec, pure=grade)"
    package(tmp_path, "first", good)
    asked, other, *_ = answer(ASK, path=package(tmp_path, "second", good))
    assert asked == (
        '$.type: The entry point mine = "first:KIND" of first 1.0 and mine = "second:KIND" of second 1.0 cannot '
        "be used: they have the same name. Uninstall all but one."
    )
    assert other == 1.0


def test_our_own_kinds_are_never_shadowed_and_who_tries_is_not_even_imported(tmp_path: Path) -> None:
    path = package(tmp_path, "shadow", "raise SystemExit", "string_check = shadow:KIND")
    code = """
import sys
same = {"type": "string_check", "input": "a", "reference": "a", "operation": "eq"}
reward, problem = fairmark.grade(same).reward, fairmark.validate({"type": "?"}).errors[0].message
answer = [reward, problem.count("string_check"), "shadow" in sys.modules]
"""
    assert answer(code, path=path) == [1.0, 1, False]
    told = python(COMMAND, "kinds", path=path).stderr
    assert told == (
        'warning: The entry point string_check = "shadow:KIND" of shadow 1.0 cannot be used: '
        "string_check is Fairmark's own.\n"
    )


def test_kinds_and_doctor_tell_what_is_broken_and_work_all_the_same(tmp_path: Path) -> None:
    package(tmp_path, "good", f"{KIND}\nKIND = Kind(Spec, pure=grade)")
    path = package(tmp_path, "odd", "import nothing_of_this_name", "theirs = odd:KIND")
    told = 'The entry point theirs = "odd:KIND" of odd 1.0 cannot be used: ModuleNotFoundError: '
    kinds = python(COMMAND, "kinds", path=path)
    assert kinds.returncode == 0
    assert "mine               Made for a test.\n" in kinds.stdout
    assert "theirs" not in kinds.stdout
    assert kinds.stderr.startswith(f"warning: {told}")
    doctor = python(COMMAND, "doctor", path=path)
    assert doctor.returncode == 0
    assert re.search(rf"^note  plugins +{re.escape(told)}", doctor.stdout, re.MULTILINE)


def test_nothing_is_looked_for_while_only_our_own_kinds_are_used(tmp_path: Path) -> None:
    path = package(tmp_path, "good", f"{KIND}\nKIND = Kind(Spec, pure=grade)")
    code = """
import sys
same = {"type": "string_check", "input": "a", "reference": "a", "operation": "eq"}
fairmark.grade({"type": "multi", "graders": {"a": same}, "calculate_output": "a"})
before = ["fairmark.graders.entry_points" in sys.modules, "good" in sys.modules]
answer = [before, fairmark.grade({"type": "mine"}).reward, "good" in sys.modules]
"""
    assert answer(code, sys.executable, path) == [[False, False], 0.25, True]


def test_a_kind_is_loaded_once_however_many_threads_ask(tmp_path: Path) -> None:
    source = f"""{KIND}
import time
asked = []
def __getattr__(name):
    asked.append(name)
    time.sleep(0.2)
    return Kind(Spec, pure=grade)
"""
    code = """
import sys, threading
from fairmark.graders import find
threads = [threading.Thread(target=find, args=("mine",)) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
answer = sys.modules["slow"].asked.count("KIND")
"""
    assert answer(code, path=package(tmp_path, "slow", source)) == 1


def test_a_package_may_use_fairmark_while_it_is_imported(tmp_path: Path) -> None:
    source = f"""{KIND}
import fairmark
CHECKED = fairmark.validate({{"type": "string_check", "input": "a", "reference": "a", "operation": "eq"}}).valid
UNKNOWN = fairmark.validate({{"type": "somebody's"}}).valid
KIND = Kind(Spec, pure=grade)
"""
    path = package(tmp_path, "busy", source)
    assert answer('answer = fairmark.grade({"type": "mine"}).reward', path=path) == 0.25


def test_a_package_that_only_the_caller_can_find_is_graded_by_the_caller(tmp_path: Path) -> None:
    package(tmp_path, "near", f"{KIND}\nKIND = Kind(Spec, pure=grade)")
    code = f"""
import sys
sys.path.append({str(tmp_path)!r})
from fairmark.work import pool
pool.WORTH_STARTING_S = pool.WORTH_SENDING_S = 0.0
results = fairmark.grade_many({{"type": "mine"}}, [{{"item": {{}}, "sample": ""}}] * 2000, workers=2)
answer = sorted({{result.reward for result in results}})
"""
    assert answer(code) == [0.25]


def test_nobody_else_can_have_the_type_of_references(tmp_path: Path) -> None:
    path = package(tmp_path, "shadow", "raise SystemExit", "registered = shadow:KIND")
    code = "import fairmark.graders\nanswer = fairmark.graders.unusable_kinds()"
    (told,) = answer(code, path=path)
    assert "registered is Fairmark's own" in told
