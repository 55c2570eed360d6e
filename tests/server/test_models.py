"""The models that graders may name."""

import json
from pathlib import Path

from tests.server.client import Server
from tests.server.conftest import Start

TOML = """
[providers.acme]
base_url = "http://127.0.0.1:9/v1"
[models."acme/judge"]
provider = "acme"
[models."acme/fast-*"]
provider = "acme"
[aliases]
"gpt-4o" = "acme/judge"
"gpt-5*" = "acme/judge"
"""


def configured(start: Start, tmp_path: Path) -> Server:
    (tmp_path / "fairmark.toml").write_text(TOML)
    return start(env={"OPENAI_API_KEY": "sk-secret"})


def test_models_and_aliases_with_a_name_are_listed(start: Start, tmp_path: Path) -> None:
    answer = configured(start, tmp_path).get("/v1/models")
    assert answer.json()["object"] == "list"
    models = {model["id"]: model for model in answer.json()["data"]}
    assert {"acme/judge", "gpt-4o"} <= set(models)
    assert not any("*" in name for name in models)
    assert models["gpt-4o"].pop("created") > 0
    assert models["gpt-4o"] == {"id": "gpt-4o", "object": "model", "owned_by": "acme"}
    assert "sk-secret" not in json.dumps(answer.json())


def test_one_model_is_found_by_its_name_with_slashes_and_by_a_pattern(start: Start, tmp_path: Path) -> None:
    server = configured(start, tmp_path)
    for name in ("acme/judge", "gpt-4o", "gpt-5-mini", "acme/fast-1"):
        assert server.get(f"/v1/models/{name}").json()["id"] == name
    assert server.get("/openai/models/gpt-4o").json()["owned_by"] == "acme"


def test_a_model_that_nobody_configured_is_unknown(start: Start, tmp_path: Path) -> None:
    """A provider that is asked for every other name proves nothing about this one."""
    answer = configured(start, tmp_path).get("/v1/models/claude")
    assert (answer.status, answer.error["code"]) == (404, "not_found")
