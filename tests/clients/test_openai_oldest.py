"""The oldest openai package we serve."""

from tests.clients.conftest import Client


def test_the_oldest_client_takes_the_same_road(client: Client) -> None:
    facts = client("openai_oldest", "openai_oldest")
    assert facts["version"] == "1.78.0"
    assert facts["validated"] == "StringCheckGrader"
    assert (facts["reward"], facts["multi"]) == (1.0, 2.0)
    status, counts = facts["inline"]
    assert (status, counts["total"], counts["passed"], counts["failed"], counts["errored"]) == ("completed", 4, 1, 3, 0)
    assert facts["from_file"][1]["passed"] == 25
    assert facts["pages"] == 25
    # They are plain dicts there, keyed as on the wire.
    assert [row[0]["passed"] for row in facts["results"]] == [True, False, False, False]
    assert facts["results"][0][0]["name"] == facts["criterion"]
    assert facts["canceled"] == ["canceled", "canceled"]
    assert facts["cancel_finished"] == "completed"
    assert (facts["bad_grader"]["class"], facts["bad_grader"]["param"]) == ("BadRequestError", "grader.operation")
    assert facts["deleted"]["deleted"] is True
