"""OpenAI's package for Node."""

import pytest

from tests.clients.conftest import Facts, Server, Started


@pytest.fixture(scope="module")
def roads(server: Server) -> Facts:
    return Started(server, "node", "node.cjs").facts()


@pytest.mark.parametrize("door", ["openai", "azure"])
def test_node_takes_the_whole_road(roads: Facts, door: str) -> None:
    facts = roads[door]
    assert facts["validated"]["name"] == "exact"
    assert facts["requestID"].startswith("req_")
    assert facts["reward"] == 1.0
    assert not any(facts["errors"].values())
    assert facts["run"]["status"] == "completed"
    counts = facts["run"]["counts"]
    assert (counts["total"], counts["passed"], counts["failed"], counts["errored"]) == (45, 23, 22, 0)
    [criterion] = facts["run"]["criteria"]
    assert criterion["testing_criteria"] == facts["criterion"]
    assert facts["positions"] == list(range(45))
    assert facts["failing"] == list(range(43, 0, -2))
    [result] = facts["results"]
    assert (result["name"], result["passed"], result["score"]) == (facts["criterion"], True, 1)
    assert facts["canceled"] == "completed"
    assert facts["deleted"] == {"object": "eval.deleted", "deleted": True, "eval_id": facts["evaluation"]}


@pytest.mark.parametrize("door", ["openai", "azure"])
def test_node_is_told_what_is_wrong(roads: Facts, door: str) -> None:
    refused = roads[door]["refused"]
    assert refused.pop("requestID").startswith("req_")
    assert refused == {
        "class": "BadRequestError",
        "isBadRequest": True,
        "status": 400,
        "param": "grader.operation",
        "code": "invalid_value",
    }
    assert roads[door]["unknown"] is True
