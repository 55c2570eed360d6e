"""Kinds of other packages: the example, really installed, and packages that are broken in one way each."""

import json
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = "import sys; from fairmark.cli import main; sys.argv[0] = 'fairmark'; main()"
REGEX = {"type": "regex_match", "input": "{{ sample.output_text }}", "pattern": "^par[iy]s", "flags": "i"}
KIND = """
from typing import Literal
from fairmark.plugin import Context, Grade, GraderSpec, GradingFailed, Kind, NotGraded, Row

class Spec(GraderSpec):
    "Made for a test."
    type: Literal["mine"]

def grade(spec, row, ctx):
    return Grade(0.25)
"""
"""The beginning of a module with all that a kind is made of."""


def python(code: str, *arguments: str, executable: str = sys.executable, path: Path | None = None) -> Any:
    """A run of Python with a folder of packages on its path."""
    return subprocess.run(
        [executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={"PATH": "/usr/bin:/bin", "COLUMNS": "120", **({"PYTHONPATH": str(path)} if path else {})},
        check=False,
    )


def answer(code: str, executable: str = sys.executable, path: Path | None = None) -> Any:
    """What the code leaves in `answer`. It warns about nothing and prints nothing."""
    done = python(f"import json, fairmark\n{code}\nprint(json.dumps(answer))", executable=executable, path=path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


# The example


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Python of a fresh environment with the example installed, and what is installed here lent to it."""
    folder = tmp_path_factory.mktemp("house")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    executable = str(folder / "venv" / "bin" / "python")
    places = subprocess.run(
        [executable, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    )
    lent = f"{sysconfig.get_path('purelib')}\n{ROOT / 'src'}\n"
    Path(places.stdout.strip(), "lent.pth").write_text(lent)
    shutil.copytree(ROOT / "examples" / "plugin", folder / "plugin")
    install = [executable, "-m", "pip", "install", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*install, folder / "plugin"], check=True, capture_output=True, timeout=120)
    return executable


def test_the_example_grades_alone_and_inside_a_multi(house: str) -> None:
    multi = {"type": "multi", "graders": {"a": REGEX, "b": {**REGEX, "pattern": "rome"}}, "calculate_output": "a - b"}
    code = f"""
results = [fairmark.grade({REGEX!r}, text) for text in ("Paris, of course", "It is Paris", "PARYS")]
answer = [[result.reward, result.passed] for result in results] + [fairmark.grade({multi!r}, "paris").reward]
"""
    assert answer(code, house) == [[1.0, True], [0.0, False], [1.0, True], 1.0]


def test_worker_processes_know_the_example(house: str) -> None:
    code = f"""
import os
from fairmark.work import pool
pool.WORTH_STARTING_S = pool.WORTH_SENDING_S = 0.0
rows = [{{"item": {{}}, "sample": "paris" if i % 3 else "rome"}} for i in range(5000)]
stream = fairmark.grade_stream({REGEX!r}, rows, workers=2)
rewards = [next(stream).reward for _ in range(4000)]
workers = len(open(f"/proc/self/task/{{os.getpid()}}/children").read().split())  # one that fails is ended at once
rewards += [result.reward for result in stream]
answer = [workers, rewards == [float(i % 3 > 0) for i in range(5000)]]
"""
    assert answer(code, house) == [2, True]


def test_the_commands_know_the_example(house: str) -> None:
    kinds = python(COMMAND, "kinds", executable=house)
    assert kinds.stderr == ""
    assert kinds.stdout.endswith(
        "regex_match        Search a text for a regular expression; the reward is 1 or 0.\n"
        "                   input pattern [pass_threshold] [flags]\n"
    )
    graded = python(COMMAND, "grade", json.dumps(REGEX), "--sample", "Paris", executable=house)
    assert (graded.returncode, json.loads(graded.stdout)["reward"]) == (0, 1.0)
    missed = python(COMMAND, "grade", json.dumps(REGEX), "--sample", "Rome", executable=house)
    assert (missed.returncode, json.loads(missed.stdout)["reward"]) == (1, 0.0)
    unknown = python(COMMAND, "grade", '{"type": "regexmatch"}', executable=house)
    assert unknown.returncode == 2
    assert unknown.stderr.endswith("multi, regex_match. Did you mean regex_match?\n")


def test_the_document_of_the_server_describes_the_example(house: str) -> None:
    code = """
from fairmark.server.schemas import schemas
answer = next(each for each in schemas()["Grader"]["oneOf"] if each["title"] == "regex_match")
"""
    found = answer(code, house)
    assert (found["title"], found["required"]) == ("regex_match", ["type", "input", "pattern"])
    assert found["properties"]["input"] == found["properties"]["pattern"] == {"type": "string"}


@pytest.mark.parametrize(
    ("fields", "path", "words"),
    [
        ({"pattern": "(a"}, "$.pattern", "not a regular expression: missing ), unterminated subpattern at position 0."),
        ({"pattern": "a{99999999999}"}, "$.pattern", "not a regular expression: the repetition number is too large."),
        ({"pattern": "(?L)a"}, "$.pattern", "not a regular expression: bad inline flags: cannot use 'L' flag"),
        ({"pattern": 5}, "$.pattern", "found a number (5). It takes a string."),
        ({"flags": "iq"}, "$.flags", 'found "iq". It takes letters of: i, m, s, x.'),
        ({"input": "{{ item.a"}, "", ""),
        ({"input": "{{ row.a }}"}, "$.input", "{{ row.a }}: unknown namespace"),
    ],
)
def test_what_is_wrong_with_the_example_s_fields_is_found_while_parsing(
    house: str, fields: dict[str, Any], path: str, words: str
) -> None:
    multi = {"type": "multi", "graders": {"a": {**REGEX, **fields}}, "calculate_output": "a"}
    code = f"""
alone, inside = fairmark.validate({ ({**REGEX, **fields})!r}).errors, fairmark.validate({multi!r}).errors
answer = [[problem.path, problem.message] for problem in alone + inside]
"""
    told = answer(code, house)
    assert [problem[0] for problem in told] == ([path, path.replace("$", "$.graders.a")] if path else [])
    assert all(words in problem[1] for problem in told)


def test_a_text_too_long_for_the_example_fails_and_its_neighbours_do_not(house: str) -> None:
    code = f"""
rows = [{{"item": {{}}, "sample": text}} for text in ("paris", "p" * 20_001, "paris")]
answer = [[result.reward, result.status, result.error] for result in fairmark.grade_many({REGEX!r}, rows)]
"""
    long = [0.0, "error", "the text has 20001 characters; regex_match takes up to 20000."]
    assert answer(code, house) == [[1.0, "graded", None], long, [1.0, "graded", None]]


# Broken packages


def package(folder: Path, name: str, source: str, points: str = "mine = {name}:KIND") -> Path:
    """A package as it lies in site-packages: a module, and the folder that announces it."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[fairmark.graders]\n{points.replace('{name}', name)}\n")
    (folder / f"{name}.py").write_text(source)
    return folder


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
    assert unknown.endswith("custom, multi.")


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


# When and how often packages are imported


def test_nothing_is_looked_for_while_only_our_own_kinds_are_used(tmp_path: Path) -> None:
    path = package(tmp_path, "good", f"{KIND}\nKIND = Kind(Spec, pure=grade)")
    code = """
import sys
same = {"type": "string_check", "input": "a", "reference": "a", "operation": "eq"}
fairmark.grade({"type": "multi", "graders": {"a": same}, "calculate_output": "a"})
before = ["fairmark.graders.entry_points" in sys.modules, "good" in sys.modules]
answer = [before, fairmark.grade({"type": "mine"}).reward, "good" in sys.modules]
"""
    assert answer(code, path=path) == [[False, False], 0.25, True]


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


# What a package's functions do


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("return 0.5", "the kind mine returned a number (0.5). It should be a Grade."),
        ("pass", "the kind mine returned null. It should be a Grade."),
        (
            "return Grade(float('nan'))",
            "the kind mine returned a reward that is a number (nan). It should be a finite number.",
        ),
        (
            "return Grade('1')",
            'the kind mine returned a reward that is a string ("1"). It should be a finite number.',
        ),
        ("raise GradingFailed('no.')", "no."),
    ],
)
@pytest.mark.parametrize("kind", ["Kind(Spec, pure=grade)", "Kind(Spec, batch=many)"])
def test_what_is_no_grade_is_an_error_of_its_row(tmp_path: Path, body: str, error: str, kind: str) -> None:
    source = f"""{KIND}
def grade(spec, row, ctx):
    if row.sample.text == "good":
        return Grade(True)
    {body}
async def many(spec, rows, ctx):
    def one(row):
        try:
            return grade(spec, row, ctx)
        except GradingFailed as failure:
            return Grade.failed(failure)
    return [one(row) for row in rows]
KIND = {kind}
"""
    code = """
results = fairmark.grade_many({"type": "mine"}, [{"item": {}, "sample": text} for text in ("good", "bad", "good")])
answer = [[result.reward, result.status, result.error] for result in results]
"""
    good = [1.0, "graded", None]
    assert answer(code, path=package(tmp_path, "odd", source)) == [good, [0.0, "error", error], good]


def test_a_batch_of_a_wrong_length_fails_its_rows_and_no_more(tmp_path: Path) -> None:
    source = f"{KIND}\nasync def many(spec, rows, ctx): return [Grade(1.0)]\nKIND = Kind(Spec, batch=many)"
    code = """
results = fairmark.grade_many({"type": "mine"}, [{"item": {}, "sample": ""}] * 3)  # chunks of one and two
answer = [[result.status, result.error] for result in results]
"""
    short = ["error", "the kind mine returned a list of 1. It should be a list of 2 grades."]
    assert answer(code, path=package(tmp_path, "odd", source)) == [["graded", None], short, short]


def test_all_that_a_grade_says_comes_back_from_worker_processes(tmp_path: Path) -> None:
    source = f"""{KIND}
def grade(spec, row, ctx):
    if row.sample.text == "skip":
        raise NotGraded("nothing to grade.")
    row.warn("looked at")
    return Grade(0.5, {{"part": 0.5}}, printed="seen", spread={{"low": 0.25}})
KIND = Kind(Spec, pure=grade)
"""
    code = """
from fairmark.work import pool
pool.WORTH_STARTING_S = pool.WORTH_SENDING_S = 0.0
rows = [{"item": {}, "sample": text} for text in ("go", "skip")] * 1000
both = [fairmark.grade_many({"type": "mine"}, rows, workers=workers) for workers in (1, 2)]
alone, shared = [[{**r.model_dump(), "metadata": None} for r in results] for results in both]
answer = [alone == shared, shared[-2]["printed"], shared[-2]["spread"], shared[-2]["warnings"], shared[-1]["skipped"]]
"""
    found = answer(code, path=package(tmp_path, "wordy", source))
    assert found == [True, "seen", {"low": 0.25}, ["looked at"], "nothing to grade."]


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
    (told,) = answer(code, sys.executable, path)
    assert "registered is Fairmark's own" in told
