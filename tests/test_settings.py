"""Settings from the file and the environment."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from fairmark import settings
from fairmark.errors import InvalidSettings
from fairmark.judges.models import _MODEL_KEYS, _PROVIDER_KEYS
from fairmark.settings import VARIABLES, Settings, origins, read, unknown_variables, variable_of


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


def test_every_value_is_told_with_where_it_comes_from(tmp_path: Path) -> None:
    file = tmp_path / "fairmark.toml"
    file.write_text('judge_retries = 2\nmax_file_mb = 1\n[models."m"]\nprovider = "p"\n[providers.p]\nbase_url = "u"\n')
    environment = {"FAIRMARK_MAX_FILE_MB": "7", "FAIRMARK_SANDBOX": "", "FAIRMARK_DEBUG": "1", "PATH": "/bin"}
    told = {origin.name: origin[1:] for origin in origins(file, environment)}
    assert told["judge_retries"] == (2, "file", str(file))
    assert told["max_file_mb"] == (7, "environment", "FAIRMARK_MAX_FILE_MB")
    assert told["sandbox"] == ("bubblewrap", "default", "")
    assert told["models"] == (["m"], "file", str(file))
    assert told["FAIRMARK_DEBUG"] == ("1", "environment", "FAIRMARK_DEBUG")
    assert "aliases" not in told
    assert "PATH" not in told
    assert [name for name in told if name.islower()][: len(fields(Settings))] == [one.name for one in fields(Settings)]


SECRET = "hunter2-and-more"  # noqa: S105


@pytest.mark.parametrize(
    ("variable", "value", "shown"),
    [
        ("FAIRMARK_DB", f"postgresql://me:{SECRET}@db/x?password={SECRET}", "postgresql://me:***@db/x?***"),
        ("FAIRMARK_DB", f"postgresql://me:{SECRET}@{SECRET}@db/x", "postgresql://me:***@db/x"),
        ("FAIRMARK_DB", "sqlite:///rows.db", "sqlite:///rows.db"),
        ("FAIRMARK_URL", f"http://me:{SECRET}@127.0.0.1:1", "http://me:***@127.0.0.1:1"),
        ("FAIRMARK_API_KEY", SECRET, "***"),
        ("FAIRMARK_REWARD_KEY", SECRET, "***"),
        ("FAIRMARK_SECRET_ANY", SECRET, "***"),
        ("OPENAI_API_KEY", SECRET, "***"),
        ("AZURE_OPENAI_AD_TOKEN", SECRET, "***"),
    ],
)
def test_no_secret_is_told(tmp_path: Path, variable: str, value: str, shown: str) -> None:
    told = origins(tmp_path / "none.toml", {variable: value})
    assert [origin.value for origin in told if origin.place == variable] == [shown]
    assert SECRET not in repr(told)


def test_a_variable_that_nobody_reads_is_told_with_the_nearest() -> None:
    environment = {"FAIRMARK_SANDBX": "none", "FAIRMARK_SECRET_X": "x", "FAIRMARK_URL": "u", "FAIRMARK_Q": "", "A": "b"}
    assert unknown_variables(environment) == [
        "FAIRMARK_Q: nobody reads it.",
        "FAIRMARK_SANDBX: nobody reads it. Did you mean FAIRMARK_SANDBOX?",
    ]


ROOT = Path(__file__).parents[1]


def test_every_variable_in_the_code_is_known_and_stands_on_the_page_of_settings() -> None:
    code = "\n".join(path.read_text() for path in (ROOT / "src" / "fairmark").rglob("*.py"))
    named = set(re.findall(r"FAIRMARK_[A-Z_]*[A-Z]", code)) - {"FAIRMARK_SECRET_NAME"}
    ours = {variable_of(field.name) for field in fields(Settings)} | set(VARIABLES)
    assert named - ours == {"FAIRMARK_SECRET"}, "a variable is listed in VARIABLES of settings.py"
    page = (ROOT / "docs" / "settings.md").read_text()
    assert [variable for variable in sorted(ours | {"FAIRMARK_SECRET_"}) if f"`{variable}" not in page] == []


def test_every_key_of_the_file_stands_on_the_page_with_its_default() -> None:
    page = (ROOT / "docs" / "settings.md").read_text()
    for field in fields(Settings):
        default = (
            ""
            if field.default in ("", None)
            else f"{field.default:g}"
            if isinstance(field.default, float)
            else str(field.default)
        )
        assert f"| `{field.name}` | {default} |".replace("|  |", "| |") in page
    tables = {"providers": list(_PROVIDER_KEYS), "models": list(_MODEL_KEYS), "aliases": []}
    for table, keys in tables.items():
        assert f"`[{table}" in page
        assert [key for key in keys if f"`{key}`" not in page] == []


def test_the_files_text_may_stand_in_the_environment_for_machines_that_do_not_have_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(settings.TEXT, "judge_retries = 2")
    assert settings.read(Path(settings.FILE), {}).judge_retries == 2
    other = tmp_path / "other.toml"
    other.write_text("judge_retries = 3")
    assert settings.read(other, {}).judge_retries == 3
