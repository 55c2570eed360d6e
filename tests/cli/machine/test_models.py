"""fairmark models: what is configured, whether it answers, what can be fetched."""

import re
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fairmark.judges.retired import RETIRED
from tests.cli.conftest import Run
from tests.hosted import KEY, Size, World, hosting


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


@pytest.mark.thorough
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


def test_the_retired_ones_come_with_aliases_that_only_a_paste_puts_in_place(fairmark: Run, tmp_path: Path) -> None:
    done = fairmark("models", "retired", cwd=tmp_path)
    assert done.returncode == 0
    assert re.search(r"^o3-mini +2026-10-23 +gone +gpt-5\.6-sol$", done.stdout, re.MULTILINE)
    assert re.search(r"^gpt-5\.1 +2027-04-01 +(going|gone) +none named$", done.stdout, re.MULTILINE)
    block = done.stdout[done.stdout.index("[aliases]") :]
    aliases = tomllib.loads(block)["aliases"]
    assert aliases["o3-mini"] == "gpt-5.6-sol"
    assert "gpt-5.1" not in aliases
    for name, ends in RETIRED.items():
        if ends.replacement and ends.gone > datetime.now(UTC).date():
            assert name not in aliases
            assert f'# from {ends.gone}: "{name}" = "{ends.replacement}"' in block
    (tmp_path / "fairmark.toml").write_text(block)
    assert "o3-mini  →  gpt-5.6-sol" in fairmark("models", "list", cwd=tmp_path).stdout


def test_a_refresh_shows_where_a_providers_dates_differ(fairmark: Run, tmp_path: Path) -> None:
    with hosting(World(Size(evals=1))) as hosted:
        env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": hosted.base_url}
        assert (
            f"openai ({hosted.base_url}) tells no dates." in fairmark("models", "retired", "--refresh", env=env).stdout
        )
        hosted.world.ends = {
            "o3-mini": "2026-10-23",
            "gpt-4.1": "2027-02-01",
            "gpt-6-luna": "2030-01-01",
            "odd": "soon",
        }
        done = fairmark("models", "retired", "--refresh", env=env, cwd=tmp_path)
        assert done.returncode == 0
        told = done.stdout.partition("tells 3 dates; these differ")[2].splitlines()[1:]
        assert [line.split(maxsplit=2) for line in told] == [
            ["MODEL", "ENDS", "LIST ABOVE"],
            ["gpt-4.1", "2027-02-01", "2027-01-14"],
            ["gpt-6-luna", "2030-01-01", "not in it"],
        ]
        assert KEY not in done.stdout + done.stderr


def test_a_refresh_without_somebody_to_ask_is_an_error(fairmark: Run, tmp_path: Path) -> None:
    done = fairmark("models", "retired", "--refresh", cwd=tmp_path)
    assert done.returncode == 2
    assert "--refresh: no provider" in done.stderr
    env = {"OPENAI_API_KEY": "sk-secret", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    done = fairmark("models", "retired", "--refresh", env=env, cwd=tmp_path)
    assert done.returncode == 3
    assert "openai: cannot connect to 127.0.0.1:9" in done.stderr
