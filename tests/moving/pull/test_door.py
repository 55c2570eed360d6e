"""Addresses of hosted services."""

import pytest

from fairmark.errors import InvalidData
from fairmark.moving.pull.door import Door, azure_door, openai_door


@pytest.mark.parametrize(
    ("address", "base_url"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com/v1"),
        ("https://eu.api.openai.com/v1/", "https://eu.api.openai.com/v1"),
        ("https://eu.api.openai.com", "https://eu.api.openai.com/v1"),
        (" http://127.0.0.1:8000/v1 ", "http://127.0.0.1:8000/v1"),
    ],
)
def test_openai_is_wherever_the_address_says(address: str, base_url: str) -> None:
    assert openai_door(address) == Door("openai", base_url, "bearer")


RESOURCE = "https://north.openai.azure.com"
PROJECT = "https://north.services.ai.azure.com/api/projects/p"


@pytest.mark.parametrize(
    ("address", "version", "expected"),
    [
        (RESOURCE, None, (f"{RESOURCE}/openai/v1", "api-key", ())),
        (f"{RESOURCE}/openai/v1/", "preview", (f"{RESOURCE}/openai/v1", "api-key", (("api-version", "preview"),))),
        (RESOURCE, "2025-04-01-preview", (f"{RESOURCE}/openai", "api-key", (("api-version", "2025-04-01-preview"),))),
        (f"{RESOURCE}/openai", None, (f"{RESOURCE}/openai", "api-key", (("api-version", "2025-04-01-preview"),))),
        (PROJECT, None, (f"{PROJECT}/openai/v1", "bearer", ())),
    ],
)
def test_azure_has_three_doors(address: str, version: str | None, expected: tuple[object, ...]) -> None:
    door = azure_door(address, version)
    assert (door.base_url, door.auth, door.query) == expected
    # The address that goes on is the one that was made of it.
    assert azure_door(door.base_url, version) == door


def test_a_key_is_sent_as_the_door_wants_it() -> None:
    environment = {"OPENAI_ORG_ID": "org-1", "OPENAI_PROJECT_ID": ""}
    assert openai_door().headers("k", environment) == {"Authorization": "Bearer k", "OpenAI-Organization": "org-1"}
    assert azure_door(RESOURCE).headers("k", environment) == {"api-key": "k"}
    assert azure_door(RESOURCE, auth="bearer").headers("k", environment) == {"Authorization": "Bearer k"}


@pytest.mark.parametrize("address", ["api.openai.com/v1", "ftp://x/v1", "https://", "", "https://x:port/v1"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(InvalidData, match="--base-url"):
        openai_door(address)


@pytest.mark.parametrize(
    "address", ["https://me:sk-secret@x/v1", "https://x/v1?key=sk-secret", "https://x/v1#sk-secret"]
)
def test_an_address_that_may_hold_a_key_is_refused_without_being_shown(address: str) -> None:
    with pytest.raises(InvalidData) as refused:
        openai_door(address)
    assert "sk-secret" not in str(refused.value)
