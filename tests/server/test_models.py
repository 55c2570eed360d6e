"""The models that graders may name."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.judges.faults import FaultServer, Raw
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


@pytest.fixture
def provider() -> Iterator[FaultServer]:
    """The environment's provider. It has two models, and says so when it is asked."""
    with FaultServer() as provider:
        listed = {"object": "list", "data": [{"id": "judge-mini"}, {"id": "org/large"}]}
        provider.always(Raw(json.dumps(listed).encode()), "/models")
        yield provider


@pytest.fixture
def server(start: Start, tmp_path: Path, provider: FaultServer) -> Server:
    (tmp_path / "fairmark.toml").write_text(TOML)
    return start(env={"OPENAI_API_KEY": "sk-secret", "OPENAI_BASE_URL": f"{provider.url}/v1"})


def test_models_and_aliases_with_a_name_are_listed(server: Server) -> None:
    answer = server.get("/v1/models")
    assert answer.json()["object"] == "list"
    models = {model["id"]: model for model in answer.json()["data"]}
    assert {"acme/judge", "gpt-4o"} <= set(models)
    assert not any("*" in name for name in models)
    assert models["gpt-4o"].pop("created") > 0
    assert models["gpt-4o"] == {"id": "gpt-4o", "object": "model", "owned_by": "acme"}
    assert "sk-secret" not in json.dumps(answer.json())


def test_one_model_is_found_by_its_name_with_slashes_and_by_a_pattern(server: Server) -> None:
    for name in ("acme/judge", "gpt-4o", "gpt-5-mini", "acme/fast-1"):
        assert server.get(f"/v1/models/{name}").json()["id"] == name
    assert server.get("/openai/models/gpt-4o").json()["owned_by"] == "acme"


def test_a_model_that_nobody_configured_is_unknown(server: Server) -> None:
    """A provider that is asked for every other name proves nothing about this one."""
    answer = server.get("/v1/models/claude")
    assert (answer.status, answer.error["code"]) == (404, "not_found")


def test_the_models_of_the_environments_provider_are_listed_and_found_by_asking_it_once(
    server: Server, provider: FaultServer
) -> None:
    listed = {model["id"]: model["owned_by"] for model in server.get("/v1/models").json()["data"]}
    assert (listed["judge-mini"], listed["org/large"]) == ("openai", "openai")
    assert server.get("/v1/models/org/large").json()["id"] == "org/large"
    assert [request.path for request in provider.requests] == ["/v1/models"]
