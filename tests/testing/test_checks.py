"""The checks themselves, without a test run around them. Through pytest: test_plugin.py."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fairmark import Budget, FakeJudge
from fairmark.testing.checks import PytestChecks, Session
from fairmark.testing.outcomes import Below, Ungraded

EXACT = {
    "type": "string_check",
    "name": "exact",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "operation": "eq",
}
ROWS = [{"item": {"answer": "a"}, "sample": said} for said in "aab"]
NA = {"type": "binary_judge", "name": "polite", "model": "m", "criteria": "Polite."}


def checks(folder: Path, budget: Budget | None = None, judge: Any = None) -> PytestChecks:
    node = SimpleNamespace(path=folder / "test_it.py", stash=pytest.Stash(), user_properties=[], name="test_it")
    return PytestChecks(cast("pytest.Item", node), Session(budget), judge)


@pytest.mark.parametrize(("rate", "enough"), [(2 / 3, True), (0.667, False), ({"exact": 0.6}, True), (0, True)])
def test_the_share_that_passes_has_to_reach_the_rate(tmp_path: Path, rate: Any, enough: bool) -> None:
    check = checks(tmp_path)
    if enough:
        check.check_file((ROWS, EXACT, rate), {})
    else:
        with pytest.raises(Below, match=r"exact: 2 of 3 rows pass \(66.7%\), fewer than 66.7%"):
            check.check_file((ROWS, EXACT, rate), {})
    assert [result.reward for result in check.results["exact"]] == [1.0, 1.0, 0.0]


def test_a_file_beside_the_test_goes_before_one_where_pytest_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tests").mkdir()
    for folder, said in ((tmp_path, "b"), (tmp_path / "tests", "a")):
        (folder / "rows.jsonl").write_text(f'{{"answer": "a", "sample": "{said}"}}\n')
    (tmp_path / "other.jsonl").write_text('{"answer": "a", "sample": "b"}\n')
    monkeypatch.chdir(tmp_path)
    checks(tmp_path / "tests").check_file(("rows.jsonl", EXACT), {})
    with pytest.raises(Below):
        checks(tmp_path / "tests").check_file(("other.jsonl", EXACT), {})


def test_rows_that_a_judge_leaves_out_count_neither_way_and_all_of_them_is_an_error(tmp_path: Path) -> None:
    left_out = {"reasoning": "no reply", "score": "NA", "steps": [], "result": "NA"}
    rows = [{"item": {}, "sample": "a"}, {"item": {}, "sample": "b"}]
    passes = {**left_out, "score": "PASS", "result": "PASS"}
    checks(tmp_path, judge=FakeJudge([left_out, passes])).check_file((rows, NA), {})
    with pytest.raises(Ungraded, match=r"polite: no row was graded\. The first was left out: "):
        checks(tmp_path, judge=FakeJudge(left_out)).check_file((rows, NA), {})


def test_rows_beyond_the_budget_are_an_error_whatever_the_others_are(tmp_path: Path) -> None:
    tone = {"type": "score_model", "name": "tone", "model": "m", "input": [{"role": "user", "content": "x"}]}
    check = checks(tmp_path, Budget(tokens=0), FakeJudge(1.0))
    with pytest.raises(Ungraded, match=r"tone: 3 of 3 rows were not asked: the budget of 0 tokens is spent\."):
        check.check_file((ROWS, tone), {})


@pytest.mark.parametrize("least", [True, "0.5", float("nan"), [1]])
def test_what_is_enough_is_a_number(tmp_path: Path, least: Any) -> None:
    with pytest.raises(Ungraded, match="at_least: found"):
        checks(tmp_path).assert_grade(EXACT, "a", {"answer": "a"}, at_least=least)


def test_several_graders_are_all_told(tmp_path: Path) -> None:
    graders = [EXACT, EXACT, {**EXACT, "name": "never", "reference": "z"}]
    with pytest.raises(Below) as failed:
        checks(tmp_path).check_file((ROWS, graders), {"pass_rate": 0.5})
    assert str(failed.value).startswith("never: 0 of 3 rows pass (0.0%), fewer than 50.0%.\n  row 1: ")
    check = checks(tmp_path)
    check.check_file((ROWS, [EXACT, EXACT]), {"pass_rate": 0.5})
    assert list(check.results) == ["exact", "exact (2)"]
