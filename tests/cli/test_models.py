"""fairmark models: what is configured, whether it answers, what can be fetched."""

from pathlib import Path

from tests.cli.conftest import Run


def test_the_list_shows_models_aliases_and_providers_and_no_key(fairmark: Run, tmp_path: Path) -> None:
    (tmp_path / "fairmark.toml").write_text(
        '[providers.house]\nbase_url = "http://127.0.0.1:9/v1"\nkey_env = "HOUSE_KEY"\n'
        '[models.judge]\nprovider = "house"\nmodel = "big-1"\n[aliases]\n"gpt-4o*" = "judge"\n'
    )
    done = fairmark("models", "list", env={"HOUSE_KEY": "sk-secret", "FAIRMARK_HOME": str(tmp_path)}, cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.splitlines()[:6] == [
        "models:",
        "  judge  →  house/big-1",
        "aliases:",
        "  gpt-4o*  →  judge",
        "providers:",
        "  house/…  http://127.0.0.1:9/v1",
    ]
    assert "sk-secret" not in done.stdout + done.stderr


def test_the_providers_of_the_environment_serve_every_other_name(fairmark: Run, tmp_path: Path) -> None:
    env = {"OPENAI_API_KEY": "sk-secret", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "FAIRMARK_HOME": str(tmp_path)}
    assert "openai/…  http://127.0.0.1:9/v1  (every other name)" in fairmark("models", "list", env=env).stdout


def test_the_embedded_model_answers_a_test_and_is_named_for_what_it_is(fairmark: Run, tmp_path: Path) -> None:
    done = fairmark("models", "test", "local/smollm2", env={"FAIRMARK_HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith('local/smollm2: answered "')
    assert "As a judge it is at chance" in done.stdout


def test_a_model_that_cannot_be_reached_is_told_in_a_sentence(fairmark: Run, tmp_path: Path) -> None:
    env = {
        "OPENAI_API_KEY": "sk-secret",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "FAIRMARK_HOME": str(tmp_path),
        "FAIRMARK_JUDGE_RETRIES": "0",
    }
    done = fairmark("models", "test", "gpt-4.1", env=env)
    assert done.returncode == 3
    assert done.stdout == ""
    assert "gpt-4.1: cannot connect to 127.0.0.1:9" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_model_is_exit_code_2_and_lists_what_there_is(fairmark: Run, tmp_path: Path) -> None:
    for command in ("test", "pull"):
        done = fairmark("models", command, "nonsense", env={"FAIRMARK_HOME": str(tmp_path)})
        assert done.returncode == 2
        assert '"nonsense"' in done.stderr
        assert "smollm2" in done.stderr or "local/…" in done.stderr


def test_a_wrong_file_is_told_with_its_key_and_what_is_allowed(fairmark: Run, tmp_path: Path) -> None:
    (tmp_path / "fairmark.toml").write_text('[models.judge]\nprovider = "house"\n')
    done = fairmark("models", "list", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == 'fairmark.toml: models."judge".provider: unknown provider "house". Use one of: local.\n'
