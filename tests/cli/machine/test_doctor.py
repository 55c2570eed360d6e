"""fairmark doctor."""

import json
import socket
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.judges.faults import FaultServer, Status


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


def lines(text: str, *beginnings: str) -> list[list[str]]:
    """The words of the lines about these things, the mark first."""
    return [line.split() for line in text.splitlines() if line[6:].startswith(beginnings)]


def test_without_models_it_says_how_to_get_them_and_that_is_no_failure(fairmark: Run, tmp_path: Path) -> None:
    done = fairmark("doctor", cwd=tmp_path)
    assert done.returncode == 0
    assert "note  judge models" in done.stdout
    assert "none configured" in done.stdout
    assert "Set OPENAI_API_KEY (and OPENAI_BASE_URL), or describe providers in fairmark.toml" in done.stdout


@pytest.mark.parametrize(
    ("status", "mark", "words"),
    [
        (200, "ok", "answers"),
        (404, "ok", "answers (404 for its list of models)"),
        (401, "note", "answered 401: the key is missing or wrong"),
        (503, "note", "answered 503"),
    ],
)
def test_a_provider_is_asked_for_its_models_and_never_fails_the_doctor(
    fairmark: Run, tmp_path: Path, status: int, mark: str, words: str
) -> None:
    (tmp_path / "fairmark.toml").write_text('[models.mine]\nprovider = "openai"\n[aliases]\n"*" = "mine"\n')
    with FaultServer() as server:
        server.always(Status(status), "/models")
        env = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "sk-secret"}
        done = fairmark("doctor", env=env, cwd=tmp_path)
    assert done.returncode == 0
    configured, reached = lines(done.stdout, "judge models", "provider openai")
    assert configured == ["ok", "judge", "models", "openai,", "1", "models,", "1", "aliases"]
    assert (reached[0], " ".join(reached[3:])) == (mark, words)
    (request,) = server.requests
    assert (request.method, request.path, request.headers["authorization"]) == ("GET", "/v1/models", "Bearer sk-secret")
    assert "sk-secret" not in done.stdout + done.stderr


def test_a_provider_that_is_not_there_is_told_with_its_address(fairmark: Run, tmp_path: Path) -> None:
    with socket.socket() as taken:  # bound and not listening: nobody answers there, and nobody else will
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        done = fairmark("doctor", env={"OPENAI_BASE_URL": url}, cwd=tmp_path)
    assert done.returncode == 0
    assert "note  provider openai" in done.stdout
    assert f"Check that {url} is right and can be reached from here." in done.stdout


def test_models_that_are_described_wrongly_are_told_and_exit_code_2(fairmark: Run, tmp_path: Path) -> None:
    (tmp_path / "fairmark.toml").write_text("[models.mine]\n")
    done = fairmark("doctor", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        'fairmark.toml: models."mine".provider: missing. Use one of: local.\n',
    )


def test_a_cluster_without_its_package_is_told_how_to_get_it(fairmark: Run) -> None:
    done = fairmark("doctor", "--engine", "ray")
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'fairmark[ray]'" in done.stderr
