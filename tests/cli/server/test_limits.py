"""fairmark limits."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run


def test_limits_that_are_not_named_stay_and_none_takes_one_away(fairmark: Run, tmp_path: Path) -> None:
    home = {"FAIRMARK_HOME": str(tmp_path)}
    assert fairmark("limits", "list", env=home).stdout.splitlines()[1:] == []
    fairmark("limits", "set", "b", "--weight", "2", "--requests", "8", "--storage-mb", "5", env=home)
    changed = fairmark("limits", "set", "b", "--requests", "none", "--dollars", "1.5", "--rows", "1_000", env=home)
    assert changed.returncode == 0
    assert changed.stdout.splitlines()[1].split() == ["b", "2", "none", "none", "1.5", "1,000", "5,000,000"]
    assert fairmark("limits", "list", env=home).stdout == changed.stdout


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--requests", "many"], "--requests: found 'many'. It takes a number, or none."),
        (["--weight", "0"], "weight: found 0. It takes a number above 0, up to 1000."),
        (["--tokens", "-1"], "tokens_a_day: found -1."),
        ([], "there is nothing to set."),
    ],
)
def test_what_is_no_limit_is_told(fairmark: Run, tmp_path: Path, options: list[str], told: str) -> None:
    done = fairmark("limits", "set", "a", *options, env={"FAIRMARK_HOME": str(tmp_path)})
    assert done.returncode == 2
    assert told in done.stderr
