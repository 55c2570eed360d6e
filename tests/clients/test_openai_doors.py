"""The newest openai package comes in by every door: OpenAI's, Azure's and Foundry's addresses and keys."""

from tests.clients.conftest import Client


def test_every_way_to_construct_a_client_reaches_every_route(client: Client) -> None:
    facts = client("openai", "openai_doors")
    assert len(facts["roads"]) == 14
    for name, road in facts["roads"].items():
        assert road == [1.0, "completed", 1, "pass", '{"item": {"answer": "Paris"}}', "seen"], name
    assert facts["async"] == [1.0, True]
