"""The models that have a name here: of the settings, by alias, and on this machine."""

from pathlib import Path

import pytest

from fairmark.judges.configured import configured, owner_of
from fairmark.judges.models import read_registry

SETTINGS = """
[providers.house]
base_url = "http://127.0.0.1:1/v1"

[models."judge"]
provider = "house"

[models."many-*"]
provider = "house"

[aliases]
"old-judge" = "judge"
"lost" = "nobody-knows"
"o?" = "judge"
"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fairmark.toml").write_text(SETTINGS)
    return tmp_path


def test_names_lead_to_their_providers_and_patterns_are_no_names(desk: Path) -> None:
    found = {name: owner for name, owner in configured(desk / "home").items() if not name.startswith("local/")}
    assert found == {"judge": "house", "old-judge": "house"}


def test_files_on_this_machine_are_models_of_its_own(desk: Path) -> None:
    folder = desk / "home" / "models"
    folder.mkdir(parents=True)
    (folder / "mine.gguf").write_text("")
    assert configured(desk / "home")["local/mine"] == "local"


def test_a_name_that_leads_nowhere_has_no_owner(desk: Path) -> None:
    registry = read_registry()
    assert (owner_of(registry, "lost"), owner_of(registry, "many-7")) == (None, "house")
