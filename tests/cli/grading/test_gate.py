"""Whether a build passes: drops that the rows can show, costs, time, and what nobody can tell."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fairmark.cli.grading.gate import BuildGate, GateLimits
from fairmark.data.results import StoredJudgement, StoredResult, StoredUsage
from fairmark.data.tally import Tally
from tests.cli.conftest import Run
from tests.cli.grading.evaluating import EXACT
from tests.data.test_comparison import side


class Build:
    """Evaluates twenty rows, of which some are wrong or cannot be graded."""

    def __init__(self, fairmark: Run, folder: Path) -> None:
        self.fairmark = fairmark
        self.folder = folder

    def run(self, wrong: int, *more: str, broken: int = 0, summary: str = "") -> tuple[int, str]:
        rows = [
            "{}" if n < broken else f'{{"item": {{"a": "{n}"}}, "sample": "{"no" if n < broken + wrong else n}"}}'
            for n in range(20)
        ]
        (self.folder / "rows.jsonl").write_text("\n".join(rows) + "\n")
        env = {"FAIRMARK_HOME": str(self.folder / "home"), **({"GITHUB_STEP_SUMMARY": summary} if summary else {})}
        done = self.fairmark("eval", str(self.folder / "rows.jsonl"), "--grader", EXACT, "-q", *more, env=env)
        return done.returncode, done.stderr


@pytest.fixture
def build(fairmark: Run, tmp_path: Path) -> Build:
    return Build(fairmark, tmp_path)


def test_only_a_drop_that_the_rows_can_show_fails(build: Build) -> None:
    assert build.run(1, "--name", "main") == (0, "")
    assert build.run(4, "--fail-on-regression", "main") == (0, "")
    status, said = build.run(12, "--fail-on-regression", "main")
    assert status == 1
    assert said.startswith("exact: worse by 55.0 points, p < 0.001 than main (")
    assert said.endswith("): 11 rows lost, 0 gained\n")
    assert len(said.splitlines()) == 1


def test_the_last_run_of_a_name_counts_and_a_run_is_not_its_own_baseline(build: Build) -> None:
    status, said = build.run(0, "--name", "main", "--fail-on-regression", "main")
    assert (status, said) == (0, '--fail-on-regression: there is no run "main" of rows yet: nothing is compared.\n')
    assert build.run(12, "--name", "main", "--fail-on-regression", "main")[0] == 1
    assert build.run(12, "--fail-on-regression", "main")[0] == 0


def test_a_results_file_is_a_baseline_too_without_any_store(build: Build) -> None:
    out = str(build.folder / "base.jsonl")
    assert build.run(0, "--no-store", "-o", out)[0] == 0
    assert build.run(12, "--no-store", "--fail-on-regression", out)[0] == 1
    assert not (build.folder / "home").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--fail-on-regression", "maim"], '"maim": no run has this id or name'),
        (["--fail-on-regression", "absent.jsonl"], "absent.jsonl: no such file"),
        (["--max-cost", "-1"], "--max-cost: found -1. It takes a number, 0 or more."),
        (["--max-seconds-per-row", "nan"], "--max-seconds-per-row: found nan."),
    ],
)
def test_what_is_wrong_is_told_before_a_row_is_graded(build: Build, words: list[str], told: str) -> None:
    assert build.run(0, "--name", "main")[0] == 0
    out = build.folder / "out.jsonl"
    status, said = build.run(0, *words, "-o", str(out))
    assert status == 2
    assert told in said
    assert not out.exists()


def test_rows_that_can_no_longer_be_graded_are_no_pass(build: Build) -> None:
    assert build.run(1, "--name", "main")[0] == 0
    status, said = build.run(0, "--fail-on-regression", "main", broken=10)
    assert status == 3
    assert "exact: 10 of 20 rows were not graded, 0 of 20 in main" in said


def test_a_row_that_takes_too_long_fails(build: Build) -> None:
    status, said = build.run(0, "--max-seconds-per-row", "0")
    assert status == 1
    assert " s a row are more than 0" in said


def test_the_summary_is_written_and_added_to_a_workflows(build: Build) -> None:
    step, own = build.folder / "step.md", build.folder / "own.md"
    step.write_text("before\n")
    assert build.run(5, "--fail-under", "0.9", "--summary", str(own), summary=str(step))[0] == 1
    assert own.read_text().startswith("### ❌ rows: failed\n\n- exact: 0.7500 is below 0.9\n")
    assert step.read_text() == f"before\n{own.read_text()}"


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ('{"item": {"a": "1"}, "response": "1"}', "exact: no row has the sample that it asks for"),
        ('{"item": {"b": "1"}, "sample": "1"}', "exact: not one row could be graded."),
    ],
)
def test_a_run_that_graded_nothing_has_not_passed(fairmark: Run, tmp_path: Path, row: str, says: str) -> None:
    (tmp_path / "rows.jsonl").write_text(row)
    summary = tmp_path / "own.md"
    asked = ["--fail-under", "0.9", "--summary", str(summary), "-q"]
    done = fairmark("eval", str(tmp_path / "rows.jsonl"), "--grader", EXACT, *asked)
    assert done.returncode == 3
    assert says in done.stderr
    assert summary.read_text().startswith(f"### ⚠️ rows: could not tell\n\n- {says}")


@pytest.mark.parametrize("name", ["rows.jsonl", "linked.jsonl", "exact.json", "base.jsonl", "out.jsonl"])
def test_the_summary_is_written_over_nothing_that_is_read_or_written(fairmark: Run, tmp_path: Path, name: str) -> None:
    base = '{"row": 1, "results": {"exact": {"reward": 1.0, "passed": true, "status": "graded"}}, "item": {"a": "1"}}\n'
    files = {"rows.jsonl": '{"item": {"a": "1"}, "sample": "1"}\n', "exact.json": EXACT, "base.jsonl": base}
    for path, content in files.items():
        (tmp_path / path).write_text(content)
    (tmp_path / "linked.jsonl").symlink_to("rows.jsonl")
    told = fairmark(
        *("eval", "rows.jsonl", "--grader", "exact.json", "-o", "out.jsonl"),
        *("--fail-on-regression", "base.jsonl", "--summary", name),
        cwd=tmp_path,
    )
    assert told.returncode == 2
    assert name in told.stderr
    assert {path: (tmp_path / path).read_text() for path in files} == files


def test_a_database_that_is_read_is_never_the_output(fairmark: Run, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "rows.db")) as database:
        database.execute("create table rows as select '1' as a, '1' as sample")
        database.commit()
    asked = ["eval", "sqlite:///rows.db", "--sql", "select * from rows", "--grader", EXACT]
    told = fairmark(*asked, "-o", "rows.db", "--overwrite", cwd=tmp_path)
    assert told.returncode == 2
    assert fairmark(*asked, cwd=tmp_path).returncode == 0


def spent(cost: float | None) -> Tally:
    tally = Tally.of(["judged"])
    tally.add({"judged": StoredResult(1.0, True, judgements=[StoredJudgement(StoredUsage(10), cost)])})
    return tally


@pytest.mark.parametrize(
    ("cost", "failures", "unknown"),
    [
        (0.25, [], []),
        (0.75, ["judges cost $0.7500, more than $0.5"], []),
        (None, [], ["--max-cost: not every model has a price, so that nobody knows what they cost"]),
    ],
)
def test_costs_are_held_to_their_limit(cost: float | None, failures: list[str], unknown: list[str]) -> None:
    gate = BuildGate(GateLimits(max_cost=0.5))
    gate.judge(spent(cost), 1.0, 1)
    assert (gate.failures, gate.unknown) == (failures, unknown)


def test_a_gate_compares_by_all_graders_at_once() -> None:
    labels = ["a", "b", "c", "d"]
    gate = BuildGate(GateLimits(baseline="main"), side("main", dict.fromkeys(labels, "p" * 6)))
    gate.now = side("this run", {**dict.fromkeys(labels, "p" * 6), "a": "f" * 6})
    gate.judge(Tally.of(labels), 1.0, 6)
    assert gate.failures == []


def test_a_baseline_is_not_replaced_by_what_is_held_against_it(build: Build) -> None:
    """The second run would pass."""
    out = str(build.folder / "base.jsonl")
    assert build.run(0, "--no-store", "-o", out)[0] == 0
    status, said = build.run(12, "--no-store", "--fail-on-regression", out, "-o", out, "--overwrite")
    assert status == 2
    assert "this is the file that is read" in said
    assert build.run(12, "--no-store", "--fail-on-regression", out)[0] == 1
