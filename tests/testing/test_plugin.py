"""The pytest plugin, in test runs of its own."""

import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairmark.judges import chosen
from fairmark.settings import settings

pytest_plugins = ["pytester"]

HEAD = """
import pytest
from fairmark import FakeAnswer, FakeJudge

EXACT = {"type": "string_check", "name": "exact", "input": "{{ sample.output_text }}",
         "reference": "{{ item.answer }}", "operation": "eq"}
TONE = {"type": "score_model", "name": "tone", "model": "gpt-4.1-mini", "pass_threshold": 0.5,
        "input": [{"role": "user", "content": "{{ sample.output_text }}"}]}
PARIS = {"answer": "Paris"}
ROWS = [{"item": {"answer": "Paris"}, "sample": said} for said in ("Paris", "Rome", "Bern")]
"""


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No model is configured, whatever tests before had, and no worker of this run counts."""
    monkeypatch.setenv("FAIRMARK_HOME", str(tmp_path))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)
    settings.cache_clear()
    monkeypatch.setattr(chosen, "_opened", None)
    yield
    settings.cache_clear()


def ran(pytester: pytest.Pytester, tests: str, *arguments: str) -> pytest.RunResult:
    pytester.makepyfile(test_answers=HEAD + tests)
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:xdist", *arguments)


def test_a_grade_that_is_too_low_fails_the_test_with_its_reason_on_one_line(pytester: pytest.Pytester) -> None:
    result = ran(
        pytester,
        """
def test_right(fairmark):
    assert fairmark.assert_grade(EXACT, "Paris", PARIS).reward == 1.0

def test_wrong(fairmark):
    fairmark.assert_grade(EXACT, "Rome", PARIS)

def test_judged(fairmark):
    fairmark.assert_grade(TONE, "Bah!", at_least=0.7, judge=FakeJudge(0.6))

def test_only_graded(fairmark):
    assert fairmark.grade(EXACT, "Rome", PARIS).reward == 0.0
""",
    )
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        [
            ">       fairmark.assert_grade(EXACT, *",
            'E       Below: exact: reward 0 is below 1: input "Rome", reference "Paris"',
            'E       Below: tone: reward 0.6 is below 0.7: gpt-4.1-mini said: 0.6; sample "Bah!"',
        ]
    )
    assert "checks.py" not in result.stdout.str(), "no line of ours stands in a traceback"


def test_where_nothing_can_be_graded_the_test_is_an_error_and_no_failure(pytester: pytest.Pytester) -> None:
    result = ran(
        pytester,
        """
def test_judge_is_down(fairmark):
    fairmark.assert_grade(TONE, "Hello", judge=FakeJudge(FakeAnswer(fault="server_error")))

@pytest.mark.xfail(reason="hides failures, and no errors")
def test_expected_to_fail(fairmark):
    fairmark.assert_grade(TONE, "Hello")

def test_caught(fairmark):
    try:
        fairmark.assert_grade(TONE, "Hello")
    except Exception:
        pass

def test_wrong_grader(fairmark):
    fairmark.assert_grade({**EXACT, "operation": "equals"}, "Paris", PARIS)

def test_no_such_file(fairmark):
    fairmark.assert_grade("nothing.json", "Paris", PARIS)

def test_wrong_field(fairmark):
    fairmark.assert_grade(EXACT, "Paris", {"anwser": "Paris"})

def test_no_sample(fairmark):
    fairmark.assert_grade(EXACT, item={"answer": ""})

def test_percent(fairmark):
    fairmark.assert_grade(EXACT, "Paris", PARIS, at_least=80)

def test_no_threshold(fairmark):
    fairmark.assert_grade({"type": "text_similarity", "name": "like", "input": "a", "reference": "b",
                           "evaluation_metric": "bleu"}, "Paris")
""",
        "--junitxml=junit.xml",
    )
    result.assert_outcomes(errors=9)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at grading of test_judge_is_down*",
            "E       Ungraded: tone: not graded: *server*",
            'E       Ungraded: tone: not graded: unknown model "gpt-4.1-mini".*',
            'E       Ungraded: $.operation: unknown operation "equals".*',
            "E       Ungraded: nothing.json: *",
            'E       Ungraded: exact: not graded: {{ item.answer }}: *"answer"*',
            "E       Ungraded: exact: not graded: this row has no sample*",
            "E       Ungraded: at_least: found 80. The rewards of exact go from 0 to 1.",
            "E       Ungraded: like: it has no pass_threshold, so that nobody knows what is enough. Say at_least=…",
        ]
    )
    suite = ET.parse(pytester.path / "junit.xml").getroot()[0]  # noqa: S314  # pytest wrote it
    assert (suite.get("errors"), suite.get("failures")) == ("9", "0")


def test_a_whole_file_is_graded_and_the_rows_that_fail_are_told(pytester: pytest.Pytester) -> None:
    pytester.makefile(
        ".jsonl", rows="\n".join(f'{{"expected": "Paris", "sample": "{said}"}}' for said in ("Paris", "Rome"))
    )
    pytester.makefile(".json", exact='{"type": "string_check", "input": "{{ sample.output_text }}", '
                                     '"reference": "{{ item.answer }}", "operation": "eq"}')  # fmt: skip
    result = ran(
        pytester,
        """
@pytest.mark.fairmark(data="rows.jsonl", graders="exact.json", map={"answer": "expected"}, pass_rate=0.5)
def test_enough(fairmark):
    assert [result.reward for result in fairmark.results["exact"]] == [1.0, 0.0]

@pytest.mark.fairmark(data="rows.jsonl", graders="exact.json", map={"answer": "expected"})
def test_too_few():
    raise RuntimeError("the body is not reached")

@pytest.mark.fairmark(ROWS, EXACT, 0.3)
@pytest.mark.fairmark(ROWS, EXACT, target=lambda item: item["answer"])
def test_rows_and_a_model_of_ones_own(): ...

class TestOfAnOlderKind(__import__("unittest").TestCase):
    @pytest.mark.fairmark(data=ROWS, graders=EXACT)
    def test_method(self): ...
""",
        "--junitxml=junit.xml",
    )
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        [
            "exact: 1 of 2 rows pass (50.0%), fewer than 100.0%.",
            '  row 2: reward 0 is below 1: input "Rome", reference "Paris"',
            "exact: 1 of 3 rows pass (33.3%), fewer than 100.0%.",
        ]
    )
    suite = ET.parse(pytester.path / "junit.xml").getroot()[0]  # noqa: S314
    told = {case.get("name"): {one.get("name"): one.get("value") for one in case.iter("property")} for case in suite}
    assert told["test_enough"] == {
        "fairmark.exact.rows": "2",
        "fairmark.exact.passed": "1",
        "fairmark.exact.failed": "1",
        "fairmark.exact.errors": "0",
        "fairmark.exact.pass_rate": "0.5",
        "fairmark.exact.mean": "0.5",
    }


def test_a_file_that_cannot_be_graded_is_an_error(pytester: pytest.Pytester) -> None:
    pytester.makefile(".jsonl", broken='{"answer": "a", "sample": "a"}\n{"answer"')
    result = ran(
        pytester,
        """
@pytest.mark.fairmark(data="broken.jsonl", graders=EXACT)
def test_broken(): ...

@pytest.mark.fairmark(data=[*ROWS, {"item": {}, "sample": "x"}], graders=[EXACT, {**EXACT, "name": "other"}])
def test_one_row(): ...

@pytest.mark.fairmark(data=[{"item": PARIS}], graders=EXACT)
def test_no_sample(): ...

@pytest.mark.fairmark(data=ROWS, graders=TONE)
def test_no_model(): ...

@pytest.mark.fairmark(data=ROWS, grader=EXACT)
def test_misspelt(): ...

@pytest.mark.fairmark(data=ROWS, graders=EXACT, pass_rate=90)
def test_percent(): ...

@pytest.mark.fairmark(data=ROWS, graders=EXACT, pass_rate={"exakt": 1})
def test_unknown_label(): ...

@pytest.mark.fairmark(data=5, graders=EXACT)
def test_no_data(): ...
""",
    )
    result.assert_outcomes(errors=8)
    result.stdout.fnmatch_lines(
        [
            "line 2: not JSON*",
            "exact: 1 of 4 rows could not be graded, 2 of the others do not pass.",
            '  row 4: {{ item.answer }}: *"answer"*',
            "other: 1 of 4 rows could not be graded, 2 of the others do not pass.",
            "  row 1: this row has no sample: *",
            'tone: $.model: unknown model "gpt-4.1-mini".*',
            "@pytest.mark.fairmark: *'grader'. It takes: data, graders, pass_rate, *",
            "@pytest.mark.fairmark: pass_rate: found 90. It takes a share, from 0 to 1.",
            "@pytest.mark.fairmark: pass_rate: there is no grader 'exakt'. The graders are: exact.",
            "@pytest.mark.fairmark: data: expected a file, rows or a data frame, found a number (5).",
        ]
    )


def test_only_the_first_rows_that_fail_are_told_one_by_one(pytester: pytest.Pytester) -> None:
    result = ran(
        pytester,
        """
@pytest.mark.fairmark(data=[{"answer": "a", "sample": "b"}] * 1000, graders=EXACT)
def test_many(): ...
""",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["exact: 0 of 1,000 rows pass (0.0%), fewer than 100.0%.", "  … and 990 more"])
    told, _, _ = result.stdout.str().partition("short test summary info")  # which in CI repeats the whole message
    assert told.count("  row ") == 10


JUDGED = """
@pytest.fixture
def fairmark_judge():
    return FakeJudge(0.9)

def test_one(fairmark):
    fairmark.assert_grade(TONE, "a")

@pytest.mark.fairmark(data=ROWS, graders=TONE)
def test_two(): ...

def test_three(fairmark):
    fairmark.assert_grade(TONE, "b")
"""


def test_a_judge_of_ones_own_is_asked_and_what_judges_took_is_told(pytester: pytest.Pytester) -> None:
    result = ran(pytester, JUDGED)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["fairmark: judges were asked 5 times, 600 tokens, *"])


@pytest.mark.parametrize("how", ["option", "ini"])
def test_a_budget_that_is_spent_makes_errors_of_the_rest(pytester: pytest.Pytester, how: str) -> None:
    if how == "ini":
        pytester.makeini("[pytest]\nfairmark_budget_tokens = 150\n")
    result = ran(pytester, JUDGED, *(["--fairmark-budget-tokens=150"] if how == "option" else []))
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines(["*not asked: the budget of 150 tokens is spent.*"])


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--fairmark-budget-tokens=many", "--fairmark-budget-tokens: found 'many'. It takes a number, 0 or more."),
        ("--fairmark-budget-dollars=-1", "--fairmark-budget-dollars: found '-1'. It takes a number, 0 or more."),
        ("--fairmark-cache=maybe", "--fairmark-cache: found 'maybe'. Use one of: on, off, read_only, refresh."),
    ],
)
def test_a_wrong_option_is_told_before_any_test_runs(pytester: pytest.Pytester, option: str, words: str) -> None:
    result = ran(pytester, JUDGED, option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {words}"])


def test_the_cache_is_as_the_option_says_and_afterwards_as_it_was(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRMARK_JUDGE_CACHE", "read_only")
    result = ran(
        pytester,
        """
def test_cache():
    import os
    assert os.environ["FAIRMARK_JUDGE_CACHE"] == "off"
""",
        "--fairmark-cache=off",
    )
    result.assert_outcomes(passed=1)
    import os

    assert os.environ["FAIRMARK_JUDGE_CACHE"] == "read_only"


def test_a_run_that_grades_nothing_imports_nothing_of_fairmark_but_the_plugin(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
import sys

def test_nothing():
    loaded = sorted(name for name in sys.modules if name.split(".")[0] == "fairmark")
    assert loaded == ["fairmark", "fairmark.testing", "fairmark.testing.outcomes", "fairmark.testing.plugin"]
"""
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.thorough
def test_workers_of_xdist_report_the_same_and_share_the_budget(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_answers=HEAD
        + """
@pytest.mark.parametrize("said", ["Paris", "Rome"] * 3)
def test_said(fairmark, said):
    fairmark.assert_grade(EXACT, said, PARIS)

@pytest.mark.parametrize("number", range(4))
def test_judged(fairmark, number):
    fairmark.assert_grade(TONE, str(number), judge=FakeJudge(1.0))

def test_judge_is_down(fairmark):
    fairmark.assert_grade(TONE, "Hello")

@pytest.mark.fairmark(data=ROWS, graders=EXACT, pass_rate=0.3)
def test_file(): ...

def test_budget(request, fairmark):
    fairmark.grade(EXACT, "Paris", PARIS)
    assert fairmark._session.budget.tokens == 5000
"""
    )
    result = pytester.runpytest_subprocess(
        "-n", "2", "-p", "no:cacheprovider", "--junitxml=junit.xml", "--fairmark-budget-tokens=10000"
    )
    result.assert_outcomes(passed=9, failed=3, errors=1)
    result.stdout.fnmatch_lines(
        ["*ERROR at grading of test_judge_is_down*", "fairmark: judges were asked 5 times, 480 tokens, *"]
    )
    suite = ET.parse(pytester.path / "junit.xml").getroot()[0]  # noqa: S314
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["13", "3", "1"]
    assert sum(one.get("name") == "fairmark.exact.reward" for one in suite.iter("property")) == 7
