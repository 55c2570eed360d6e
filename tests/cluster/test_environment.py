"""Which settings reach other machines: those of whoever grades, and the keys that they name."""

from pathlib import Path

from fairmark.cluster.environment import variables

TABLES = """
judge_concurrency = 8
[providers.house]
base_url = "http://judges.example/v1"
key_env = "HOUSE_KEY"
headers = { "X-Team" = "${TEAM_TOKEN} and more" }
[models."house-*"]
provider = "house"
requests_per_minute = 60
"""


def test_keys_that_the_settings_name_go_along_and_no_others(tmp_path: Path) -> None:
    file = tmp_path / "fairmark.toml"
    file.write_text(TABLES)
    told = variables(
        {
            "OPENAI_API_KEY": "sk-1",
            "HOUSE_KEY": "sk-2",
            "TEAM_TOKEN": "t",
            "AWS_SECRET_ACCESS_KEY": "none of ours",
            "FAIRMARK_PYTHON_TIMEOUT_S": "5",
            "FAIRMARK_DB": "postgresql://u:password@h/d",
            "FAIRMARK_HOME": "/home/here",
            "FAIRMARK_IMPORT_KEYS": "ADMIN",
        },
        file,
    )
    assert told == {
        "OPENAI_API_KEY": "sk-1",
        "HOUSE_KEY": "sk-2",
        "TEAM_TOKEN": "t",
        "FAIRMARK_PYTHON_TIMEOUT_S": "5",
        "FAIRMARK_SANDBOX_RUNNERS": "2",
        "FAIRMARK_TOML": TABLES,
    }


def test_without_a_file_and_without_keys_hardly_anything_goes_along(tmp_path: Path) -> None:
    assert variables({"FAIRMARK_SANDBOX_RUNNERS": "7"}, tmp_path / "none.toml") == {"FAIRMARK_SANDBOX_RUNNERS": "7"}
