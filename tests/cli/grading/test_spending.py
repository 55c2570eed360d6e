"""fairmark eval by judges: what they took, budgets, and models that are not there."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.grading.evaluating import CAPITALS, EXACT, JUDGED, data, judging, lines, statuses
from tests.judges.faults import FaultServer, Raw, Status


def test_the_summary_shows_what_judges_took(fairmark: Run, server: FaultServer, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    source = data(tmp_path / "d.jsonl", 4)
    done = fairmark(
        "eval", source, "--grader", JUDGED, "--grader", EXACT, "-o", str(out), env=judging(server, tmp_path)
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "judges: 480 tokens"
    assert "skipped" not in done.stdout
    result = lines(out)[0]["results"]["judged"]
    assert (result["reward"], result["passed"], result["status"]) == (0.75, True, "graded")
    (judgement,) = result["judgements"]
    assert (judgement["result"], judgement["usage"]["total_tokens"], judgement["cost"]) == (0.75, 120, None)
    assert "input" not in judgement
    assert "judgements" not in lines(out)[0]["results"]["exact"]


def test_rows_beyond_the_budget_are_skipped_and_counted_apart(
    fairmark: Run, server: FaultServer, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    arguments = ["eval", data(tmp_path / "d.jsonl", 5), "--grader", JUDGED, "--grader", EXACT, "-o", str(out)]
    done = fairmark(*arguments, "--budget-tokens", "300", env=judging(server, tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    heading, judged, exact = done.stdout.splitlines()[:3]
    assert heading.split()[6:8] == ["errors", "skipped"]
    assert judged.split()[:7] == ["judged", "0.7500", "100.0%", "3", "0", "0", "2"]
    assert exact.split()[:7] == ["exact", "0.8000", "80.0%", "4", "1", "0", "0"]
    assert (
        "judged: 2 of 5 rows were skipped. The first:\n  not asked: the budget of 300 tokens is spent." in done.stdout
    )
    assert done.stdout.endswith(f"; results in {out}; --resume grades the skipped rows\njudges: 360 tokens\n")
    assert [status for _, status in statuses(out)] == ["graded"] * 3 + ["skipped"] * 2
    skipped = lines(out)[4]["results"]["judged"]
    assert (skipped["passed"], skipped["skipped"]) == (None, "not asked: the budget of 300 tokens is spent.")
    assert len(server.requests) == 3


def test_all_graders_of_a_run_share_the_budget(fairmark: Run, server: FaultServer, tmp_path: Path) -> None:
    other = JUDGED.replace("Rate", "Judge").replace("judged", "other")
    arguments = ["eval", data(tmp_path / "d.jsonl", 20), "--grader", JUDGED, "--grader", other]
    done = fairmark(*arguments, "--budget-tokens", "1000", env=judging(server, tmp_path))
    assert len(server.requests) == 9
    assert done.stdout.splitlines()[-1] == "judges: 1,080 tokens"


@pytest.mark.parametrize(("fail_under", "code"), [("0.6", 0), ("0.61", 1)])
def test_a_skipped_row_counts_as_not_passed(
    fairmark: Run, server: FaultServer, tmp_path: Path, fail_under: str, code: int
) -> None:
    arguments = ["eval", data(tmp_path / "d.jsonl", 5), "--grader", JUDGED, "--fail-under", fail_under]
    done = fairmark(*arguments, "--budget-tokens", "300", env=judging(server, tmp_path))
    assert done.returncode == code
    assert done.stderr == (f"judged: 0.6000 is below {fail_under}\n" if code else "")


def test_a_budget_of_nothing_grades_nothing(fairmark: Run, server: FaultServer, tmp_path: Path) -> None:
    arguments = ["eval", data(tmp_path / "d.jsonl", 3), "--grader", JUDGED, "--budget-tokens", "0"]
    done = fairmark(*arguments, env=judging(server, tmp_path))
    assert done.returncode == 3
    assert server.requests == []


def test_a_budget_in_dollars_stops_by_what_models_cost(fairmark: Run, server: FaultServer, tmp_path: Path) -> None:
    source = data(tmp_path / "d.jsonl", 5)
    (tmp_path / "fairmark.toml").write_text(
        f"""
        [providers.house]
        base_url = "{server.url}/v1"
        [models.judge]
        provider = "house"
        price_in = 10
        price_out = 100
        """
    )
    arguments = ["eval", source, "--grader", JUDGED, "--budget-dollars", "0.005"]
    done = fairmark(*arguments, env=judging(server, tmp_path), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(server.requests) == 2
    assert "not asked: the budget of $0.005 is spent." in done.stdout
    assert done.stdout.splitlines()[-1] == "judges: 240 tokens, $0.0060"
    both = ["--grader", JUDGED.replace('"judge"', '"unknown/price"')]
    done = fairmark("eval", source, "--grader", JUDGED, *both, env=judging(server, tmp_path), cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "judges: 1,200 tokens, at least $0.0150 (not every model has a price)"


def test_a_budget_in_dollars_for_a_model_without_a_price_is_an_error_on_every_row(
    fairmark: Run, server: FaultServer, tmp_path: Path
) -> None:
    arguments = ["eval", data(tmp_path / "d.jsonl", 2), "--grader", JUDGED, "--budget-dollars", "1"]
    done = fairmark(*arguments, env=judging(server, tmp_path))
    assert done.returncode == 3
    assert "judge: a budget in dollars is set, and this model has no price." in done.stdout
    assert server.requests == []


@pytest.mark.parametrize("wrong", [("--budget-tokens", "-1"), ("--budget-dollars", "-1"), ("--budget-dollars", "nan")])
def test_a_wrong_budget_is_exit_code_2(fairmark: Run, wrong: tuple[str, str]) -> None:
    done = fairmark("eval", *CAPITALS, *wrong)
    assert done.returncode == 2
    assert wrong[0] in done.stderr


def test_a_broken_judge_is_errors_and_not_bad_answers(fairmark: Run, server: FaultServer, tmp_path: Path) -> None:
    server.always(Status(401, "bad key"))
    done = fairmark("eval", data(tmp_path / "d.jsonl", 2), "--grader", JUDGED, env=judging(server, tmp_path))
    assert done.returncode == 3
    assert "judged: 2 of 2 rows could not be graded:\n  2 × judge: the server answered 401: bad key" in done.stdout


@pytest.mark.parametrize(
    ("listed", "told"),
    [
        (True, '$.model: model "judge": openai does not list it at '),
        (False, '$.model: unknown model "judge". Configured: '),
    ],
)
def test_a_model_that_is_not_there_is_exit_code_2_before_anything_is_asked(
    fairmark: Run, server: FaultServer, tmp_path: Path, listed: bool, told: str
) -> None:
    server.always(Raw(b'{"object": "list", "data": [{"id": "judge-2"}, {"id": "student"}]}'), "/models")
    env = judging(server, tmp_path)
    if not listed:
        del env["OPENAI_BASE_URL"]
    out = tmp_path / "out.jsonl"
    done = fairmark("eval", data(tmp_path / "d.jsonl", 4), "--grader", JUDGED, "-o", str(out), env=env, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert ("Did you mean judge-2?" in done.stderr) == listed
    assert [request.path for request in server.requests] == ["/v1/models"] * listed
    assert not out.exists()
    checked = fairmark("validate", JUDGED, env=env, cwd=tmp_path)  # without asking anybody
    assert checked.returncode == 0
    assert len(server.requests) == listed


def test_a_model_that_is_listed_is_asked(fairmark: Run, server: FaultServer, tmp_path: Path) -> None:
    server.always(Raw(b'{"object": "list", "data": [{"id": "judge"}]}'), "/models")
    env = judging(server, tmp_path)
    done = fairmark("eval", data(tmp_path / "d.jsonl", 4), "--grader", JUDGED, "--workers", "2", env=env, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(server.requests) == 1 + 4
