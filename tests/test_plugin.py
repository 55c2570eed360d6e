"""Kinds of other packages by fairmark.plugin: the example, really installed."""

import json
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.graders.packages import COMMAND, Interpreter, answer

ROOT = Path(__file__).parents[1]

REGEX = {"type": "regex_match", "input": "{{ sample.output_text }}", "pattern": "^par[iy]s", "flags": "i"}


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


@pytest.fixture(scope="module")
def python(house: str) -> Iterator[Interpreter]:
    """It, with the imports behind it."""
    made = Interpreter(house, "import fairmark.cli.grading.grade, fairmark.cli.grading.kinds, fairmark.server.schemas")
    yield made
    made.close()


def test_the_example_grades_alone_and_inside_a_multi(python: Interpreter) -> None:
    multi = {"type": "multi", "graders": {"a": REGEX, "b": {**REGEX, "pattern": "rome"}}, "calculate_output": "a - b"}
    code = f"""
results = [fairmark.grade({REGEX!r}, text) for text in ("Paris, of course", "It is Paris", "PARYS")]
answer = [[result.reward, result.passed] for result in results] + [fairmark.grade({multi!r}, "paris").reward]
"""
    assert python.answer(code) == [[1.0, True], [0.0, False], [1.0, True], 1.0]


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


def test_the_commands_know_the_example(python: Interpreter) -> None:
    kinds = python.run(COMMAND, "kinds")
    assert kinds.stderr == ""
    assert kinds.stdout.endswith(
        "regex_match        Search a text for a regular expression; the reward is 1 or 0.\n"
        "                   input pattern [pass_threshold] [flags]\n"
    )
    graded = python.run(COMMAND, "grade", json.dumps(REGEX), "--sample", "Paris")
    assert (graded.returncode, json.loads(graded.stdout)["reward"]) == (0, 1.0)
    missed = python.run(COMMAND, "grade", json.dumps(REGEX), "--sample", "Rome")
    assert (missed.returncode, json.loads(missed.stdout)["reward"]) == (1, 0.0)
    unknown = python.run(COMMAND, "grade", '{"type": "regexmatch"}')
    assert unknown.returncode == 2
    assert unknown.stderr.endswith("multi, regex_match. Did you mean regex_match?\n")


def test_the_document_of_the_server_describes_the_example(python: Interpreter) -> None:
    code = """
from fairmark.server.schemas import schemas
answer = next(each for each in schemas()["Grader"]["oneOf"] if each["title"] == "regex_match")
"""
    found = python.answer(code)
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
    python: Interpreter, fields: dict[str, Any], path: str, words: str
) -> None:
    multi = {"type": "multi", "graders": {"a": {**REGEX, **fields}}, "calculate_output": "a"}
    code = f"""
alone, inside = fairmark.validate({ ({**REGEX, **fields})!r}).errors, fairmark.validate({multi!r}).errors
answer = [[problem.path, problem.message] for problem in alone + inside]
"""
    told = python.answer(code)
    assert [problem[0] for problem in told] == ([path, path.replace("$", "$.graders.a")] if path else [])
    assert all(words in problem[1] for problem in told)


def test_a_text_too_long_for_the_example_fails_and_its_neighbours_do_not(python: Interpreter) -> None:
    code = f"""
rows = [{{"item": {{}}, "sample": text}} for text in ("paris", "p" * 20_001, "paris")]
answer = [[result.reward, result.status, result.error] for result in fairmark.grade_many({REGEX!r}, rows)]
"""
    long = [0.0, "error", "the text has 20001 characters; regex_match takes up to 20000."]
    assert python.answer(code) == [[1.0, "graded", None], long, [1.0, "graded", None]]
