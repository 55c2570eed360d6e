"""The openai package, newest and oldest, asks for reinforcement jobs."""

import pytest

from tests.clients.conftest import Facts, Server, Started


@pytest.fixture(scope="module", params=["openai", "openai_oldest"])
def facts(request: pytest.FixtureRequest, server: Server) -> Facts:
    return Started(server, request.param, "openai_jobs").facts()


def test_a_job_is_what_was_asked_for(facts: Facts) -> None:
    job = facts["created"]
    assert (facts["class"], facts["method"]) == ("FineTuningJob", "StringCheckGrader")
    assert (job["object"], job["status"], job["model"]) == ("fine_tuning.job", "validating_files", "o4-mini-2025-04-16")
    assert (job["seed"], job["user_provided_suffix"], job["metadata"]) == (42, "capitals", {"team": "geography"})
    assert job["integrations"] == [{"type": "wandb", "wandb": {"project": "capitals", "tags": ["a"]}}]
    asked = job["method"]["reinforcement"]["hyperparameters"]
    assert (asked["n_epochs"], asked["reasoning_effort"], asked["batch_size"]) == (2, "medium", "auto")


def test_it_ends_honestly(facts: Facts) -> None:
    job = facts["done"]
    code, message, param = facts["error"]
    assert (job["status"], code, param) == ("failed", "no_trainer", None)
    assert (job["fine_tuned_model"], job["trained_tokens"]) == (None, None)
    assert job["result_files"][0] in message
    assert facts["bundle"][0] == "fine-tune-results"
    assert {"grader.json", "train.jsonl", "validation.jsonl", "reward.py", "train_trl.py"} <= set(facts["bundle"][1])
    assert [counts["passed"] for counts in facts["runs"]] == [1, 1]
    assert facts["checkpoints"] == []


def test_its_events_come_the_newest_first_and_hold_the_baseline(facts: Facts) -> None:
    events = facts["events"]
    assert facts["event_class"] == "FineTuningJobEvent"
    assert events[0]["message"].startswith("The job failed")
    assert events[-1]["message"] == "Created fine-tuning job."
    (metrics,) = [event for event in events if event["type"] == "metrics"]
    assert (metrics["object"], metrics["level"]) == ("fine_tuning.job.event", "info")
    assert (metrics["data"]["step"], metrics["data"]["train_mean_reward"]) == (0, 0.5)
    assert {event["level"] for event in events} == {"info", "warn", "error"}


def test_lists_page_and_filter(facts: Facts) -> None:
    newest_first = facts["all"][::-1]
    assert facts["listed"] == newest_first
    assert facts["listed_asynchronously"] == newest_first
    assert facts["of_team"] == [facts["all"][0]]
    assert facts["without_metadata"] == newest_first[:2]


def test_jobs_are_cancelled_paused_and_resumed(facts: Facts) -> None:
    assert facts["cancelled"] == "cancelled"
    assert facts["paused"] == [True, False]


def test_what_is_refused_is_raised_as_its_own_class(facts: Facts) -> None:
    assert (facts["supervised"]["class"], facts["supervised"]["code"]) == ("BadRequestError", "unsupported_method")
    assert (facts["unknown_file"]["class"], facts["unknown_file"]["param"]) == ("BadRequestError", "training_file")
    assert facts["unknown_job"]["class"] == "NotFoundError"
