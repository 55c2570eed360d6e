"""fairmark config show."""

import json
from pathlib import Path

from tests.cli.conftest import Run


def test_each_value_is_shown_with_where_it_comes_from_and_secrets_are_not(fairmark: Run, tmp_path: Path) -> None:
    (tmp_path / "fairmark.toml").write_text("judge_retries = 2\n")
    env = {"FAIRMARK_MAX_FILE_MB": "7", "OPENAI_API_KEY": "sk-very-secret", "FAIRMARK_HOM": "x"}
    done = fairmark("config", "show", cwd=tmp_path, env=env)
    lines = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    assert lines["judge_retries"] == ["2", str(tmp_path / "fairmark.toml")]
    assert lines["max_file_mb"] == ["7", "FAIRMARK_MAX_FILE_MB"]
    assert lines["judge_cache"] == ["on", "default"]
    assert lines["trusted_proxies"] == ["-", "default"]
    assert lines["OPENAI_API_KEY"] == ["***", "OPENAI_API_KEY"]
    assert "sk-very-secret" not in done.stdout + done.stderr
    assert done.stderr == "warning: FAIRMARK_HOM: nobody reads it. Did you mean FAIRMARK_HOME?\n"


def test_programs_get_the_same_as_json(fairmark: Run, tmp_path: Path) -> None:
    told = json.loads(fairmark("config", "show", "--json", cwd=tmp_path, env={"FAIRMARK_SANDBOX": "none"}).stdout)
    assert (told["file"], told["unknown"]) == (None, [])
    assert {"name": "sandbox", "value": "none", "source": "environment", "place": "FAIRMARK_SANDBOX"} in told[
        "settings"
    ]


def test_a_value_that_cannot_be_is_told_with_what_is_allowed(fairmark: Run, tmp_path: Path) -> None:
    done = fairmark("config", "show", cwd=tmp_path, env={"FAIRMARK_SANDBOX": "docker"})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == 'FAIRMARK_SANDBOX: found "docker". Use one of: bubblewrap, none.\n'
