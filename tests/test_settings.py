"""Settings from the file and the environment."""

from pathlib import Path

import pytest

from fairmark.errors import InvalidSettings
from fairmark.settings import Settings, read


def test_without_anything_the_defaults_hold(tmp_path: Path) -> None:
    assert read(tmp_path / "fairmark.toml", {}) == Settings()


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "fairmark.toml"
    file.write_text('python_timeout_s = 5\nsandbox_isolation = "per_grade"\nhome = "~/x"\n[models]\na = 1\n')
    found = read(file, {"FAIRMARK_PYTHON_TIMEOUT_S": "0.5", "FAIRMARK_SANDBOX": ""})
    assert (found.python_timeout_s, found.sandbox_isolation, found.sandbox) == (0.5, "per_grade", "bubblewrap")
    assert found.home == Path("~/x").expanduser()


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"FAIRMARK_SANDBOX": "docker"}, 'FAIRMARK_SANDBOX: found "docker". Use one of: bubblewrap, none.'),
        (
            {"FAIRMARK_PYTHON_TIMEOUT_S": "soon"},
            'FAIRMARK_PYTHON_TIMEOUT_S: found a string ("soon"). It takes a number, 0 or more.',
        ),
        (
            {"FAIRMARK_PYTHON_MEMORY_MB": "-1"},
            'FAIRMARK_PYTHON_MEMORY_MB: found a string ("-1"). It takes a number, 0 or more.',
        ),
        (
            {"FAIRMARK_PYTHON_TIMEOUT_S": "inf"},
            'FAIRMARK_PYTHON_TIMEOUT_S: found a string ("inf"). It takes a number, 0 or more.',
        ),
    ],
)
def test_a_wrong_variable_is_told_with_what_is_allowed(
    tmp_path: Path, environment: dict[str, str], message: str
) -> None:
    with pytest.raises(InvalidSettings) as error:
        read(tmp_path / "none.toml", environment)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("python_timeout_s = true", "python_timeout_s: found true. It takes a number, 0 or more."),
        ("sandbox = 5", "sandbox: found a number (5). It takes a string."),
        ("sandbox = ", "not TOML: "),
    ],
)
def test_a_wrong_file_is_told_with_its_name(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "fairmark.toml"
    file.write_text(text)
    with pytest.raises(InvalidSettings) as error:
        read(file, {})
    assert str(error.value).startswith(f"{file}: {message}")


def test_the_data_folder_is_the_home_or_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings(home=Path("/h")).data_folder == Path("/h")
    monkeypatch.setenv("XDG_DATA_HOME", "/d")
    assert Settings().data_folder == Path("/d/fairmark")


def test_a_file_that_may_not_be_looked_at_is_no_file(tmp_path: Path) -> None:
    assert read(tmp_path, {}) == Settings()  # a folder of that name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("judge_timeot_s = 5", "judge_timeot_s: unknown. Did you mean judge_timeout_s? There are: home, sandbox, "),
        ("[modles.x]\na = 1", "modles: unknown. Did you mean models? There are: home, "),
        ("colour = 1", "colour: unknown. There are: home, "),
    ],
)
def test_an_unknown_key_of_the_file_is_told(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "fairmark.toml").write_text(text)
    with pytest.raises(InvalidSettings) as failure:
        read(tmp_path / "fairmark.toml", {})
    assert str(failure.value).startswith(f"{tmp_path}/fairmark.toml: {message}")
