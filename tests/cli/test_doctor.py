"""fairmark doctor."""

import json

from tests.cli.conftest import Run


def test_a_machine_that_can_run_python_graders_is_told_so(fairmark: Run) -> None:
    done = fairmark("doctor")
    assert done.returncode == 0
    for name in ("Python", "bubblewrap", "seccomp", "user namespaces", "python graders"):
        assert f"ok    {name}" in done.stdout


def test_what_is_missing_is_named_with_its_fix_and_exit_code_1(fairmark: Run) -> None:
    """Without bubblewrap on the path nothing can be isolated, and nothing is."""
    done = fairmark("doctor", env={"PATH": "/nonexistent"})
    assert done.returncode == 1
    assert "FAIL  bubblewrap" in done.stdout
    assert "apt-get install bubblewrap" in done.stdout
    assert "FAIL  python graders" in done.stdout


def test_without_isolation_a_python_grade_is_refused_with_the_reason(fairmark: Run) -> None:
    grader = '{"type": "python", "source": "def grade(sample, item): return 1"}'
    done = fairmark("grade", grader, env={"PATH": "/nonexistent"})
    assert done.returncode == 3
    assert '"python_grader_server_error_type": "sandbox"' in done.stdout
    assert "The sandbox needs bubblewrap, and it is not installed." in done.stderr
    assert "fairmark doctor" in done.stderr


def test_a_wrong_setting_is_told_by_the_grade_it_prevents(fairmark: Run) -> None:
    grader = '{"type": "python", "source": "def grade(sample, item): return 1"}'
    done = fairmark("grade", grader, env={"FAIRMARK_SANDBOX": "docker"})
    assert done.returncode == 3
    assert done.stderr == 'python: FAIRMARK_SANDBOX: found "docker". Use one of: bubblewrap, none.\n'
    assert fairmark("doctor", env={"FAIRMARK_SANDBOX": "docker"}).returncode == 2


def test_no_isolation_must_be_asked_for_and_is_warned_about_each_time(fairmark: Run) -> None:
    grader = '{"type": "python", "source": "def grade(sample, item): return open(\\"/etc/passwd\\") is not None"}'
    done = fairmark("grade", grader, env={"FAIRMARK_SANDBOX": "none"})
    assert done.returncode == 0
    assert "FAIRMARK_SANDBOX=none: graders' code runs with all your rights" in done.stderr
    assert "FAIRMARK_SANDBOX=none" in json.loads(done.stdout)["warnings"][0]
    assert "note  isolation" in fairmark("doctor", env={"FAIRMARK_SANDBOX": "none"}).stdout
