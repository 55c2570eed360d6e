"""Batches, retries and deadlines towards reward servers, over real HTTP."""

import resource
import socket
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import fairmark
from fairmark.endpoints import Offline, Online, aprobe, probe
from fairmark.endpoints.addresses import read_allowed
from fairmark.endpoints.base import EndpointScore, Target
from fairmark.endpoints.client import EndpointClient
from fairmark.errors import GradingFailed
from fairmark.outbound.limits import Breaker
from fairmark.parse import parse
from fairmark.run import CONTEXT, grade_parts
from fairmark.settings import Settings
from fairmark.text.thread import Thread
from fairmark.work import eventloop
from tests.endpoints.rewards import Refusing, Rewards, Setup, answering
from tests.judges.faults import Behaviour, Cut, Endless, Huge, Raw, Status

SECRET = "not-to-be-seen-0123456789"  # noqa: S105


def flags(result: fairmark.Result) -> set[str]:
    return {name for name, value in result.errors.items() if value is True}


def assert_failed(result: fairmark.Result, *words: str, flag: str = "other_error") -> None:
    assert (result.status, result.reward) == ("error", 0.0)
    assert flags(result) == {flag}
    for word in words:
        assert word in str(result.error)


# How rows travel.


def test_rows_go_in_batches_and_come_back_in_their_order(setup: Setup) -> None:
    results = setup.grade_all(["x" * length for length in range(1, 151)])
    assert [result.reward for result in results] == [float(length) for length in range(1, 151)]
    assert setup.paths == ["/batch_score"] * 3
    assert sorted(len(request.body["requests"]) for request in setup.server.requests) == [22, 64, 64]


def test_a_request_has_turns_and_metadata_and_nothing_else(setup: Setup) -> None:
    item = {"messages": [{"role": "user", "content": "2+2?"}], "metadata": {"expected": "4"}}
    (result,) = setup.grade_rows([(item, "4")])
    assert (result.reward, result.printed) == (1.0, "1 letters")
    (request,) = setup.server.requests
    turns = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}]
    assert request.body == {"requests": [{"turns": turns, "metadata": {"expected": "4"}}]}


def test_a_server_without_batches_is_asked_row_by_row_and_remembered(setup: Setup) -> None:
    setup.server.always(Rewards(batches=False))
    assert [result.reward for result in setup.grade_all(["a", "bb", "ccc"])] == [1.0, 2.0, 3.0]
    assert sorted(setup.paths) == ["/batch_score", "/score", "/score", "/score"]
    assert setup.grade("dddd").reward == 4.0
    assert setup.paths.count("/batch_score") == 1


def test_a_server_below_a_path_is_asked_there(setup: Setup) -> None:
    setup.grade(url=f"{setup.server.url}/team/rewards/")
    assert setup.paths == ["/team/rewards/batch_score"]


def test_half_an_emoji_and_a_row_too_deep_are_no_trouble_for_the_others(setup: Setup) -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    results = setup.grade_rows([({}, "ok"), ({"deep": deep}, "x"), ({}, "half \ud83d")])
    assert [result.reward for result in results] == [2.0, 0.0, 6.0]
    assert results[1].error == "the row is nested too deeply."


# What passes, and what does not.

PASSING: dict[str, Behaviour] = {
    "429": Status(429, retry_after=0.01),
    "502": Status(502),
    "503": Status(503),
    "504": Status(504),
    "cut before": Cut("before"),
    "cut in the head": Cut("head"),
    "cut in the body": Cut("body"),
    "shorter than told": Raw(b"{}", length=50),
}


@pytest.mark.parametrize("behaviour", PASSING.values(), ids=PASSING)
def test_what_may_pass_is_tried_again(setup: Setup, behaviour: Behaviour) -> None:
    setup.server.script(behaviour)
    assert setup.grade().reward == 4.0
    assert len(setup.server.requests) == 2


@pytest.mark.parametrize("name", ["429", "503", "cut before"])
def test_after_four_attempts_it_is_a_failure(setup: Setup, name: str) -> None:
    setup.server.always(PASSING[name])
    assert_failed(setup.grade(), "It was asked 4 times.", flag="unresponsive_reward_error")
    assert len(setup.server.requests) == 4


@pytest.mark.parametrize("status", [400, 401, 403, 410, 422, 500, 501])
def test_other_refusals_fail_the_row_at_once(setup: Setup, status: int) -> None:
    setup.server.always(Status(status, "because of this"))
    assert_failed(setup.grade(), f"answered /batch_score with {status}", "because of this")
    assert len(setup.server.requests) == 1


@pytest.mark.parametrize("status", [400, 413, 422, 500])
def test_a_row_that_a_batch_is_refused_for_fails_alone(setup: Setup, status: int) -> None:
    setup.server.always(Refusing(frozenset({"bad"}), status))
    samples = ["ok"] * 64
    samples[41] = "bad"
    results = setup.grade_all(samples)
    assert [index for index, result in enumerate(results) if result.status != "graded"] == [41]
    assert_failed(results[41], "not to be scored")
    assert len(setup.server.requests) <= 13  # halves of halves, not 64 single rows


def test_a_wrong_key_is_not_asked_about_row_by_row(setup: Setup) -> None:
    setup.server.always(Status(401, "no key"))
    assert {result.status for result in setup.grade_all(["x"] * 64)} == {"error"}
    assert len(setup.server.requests) == 1


def test_a_server_that_is_down_is_a_failure_of_every_row(setup: Setup) -> None:
    with socket.socket() as bound:  # bound and not listening: nobody answers there
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        setup.client = EndpointClient(read_allowed("127.0.0.1"))
        results = setup.grade_all(["x"] * 70, url=f"http://127.0.0.1:{port}")
    for result in results:
        assert_failed(result, "cannot connect", "It was asked 4 times.", flag="unresponsive_reward_error")
    eventloop.run(setup.client.close())


def test_a_server_that_is_slow_is_given_up_at_the_deadline(setup: Setup) -> None:
    setup.server.always(Rewards(before_s=60))
    started = time.monotonic()
    assert_failed(setup.grade(timeout_s=0.2), "no answer within 0.2 s", flag="unresponsive_reward_error")
    assert time.monotonic() - started < 30
    assert len(setup.server.requests) == 1


def test_a_body_that_never_ends_is_given_up_at_the_deadline(setup: Setup) -> None:
    setup.server.always(Endless(chunk=10, pause_s=0.01))
    assert_failed(setup.grade(timeout_s=0.2), "no answer within 0.2 s", flag="unresponsive_reward_error")


def test_a_pause_beyond_the_deadline_is_not_waited_for(setup: Setup) -> None:
    setup.server.always(Status(503, retry_after=3600))
    started = time.monotonic()
    assert_failed(setup.grade(timeout_s=5), "503", flag="unresponsive_reward_error")
    assert time.monotonic() - started < 4


def test_a_dead_server_is_not_asked_again_and_again(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Breaker, "OVER_S", 0.0)
    setup.server.always(Status(503))
    results = setup.grade_all([str(number) for number in range(64)], batch_size=1, timeout_s=1)
    for result in results:
        assert_failed(result, "the endpoint", flag="unresponsive_reward_error")
    assert any("no answer within 1 s: the server answered none of the last 10" in str(each.error) for each in results)
    assert len(setup.server.requests) < 100


def test_a_server_that_comes_back_is_waited_for(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Breaker, "FAILURES", 2)
    monkeypatch.setattr(Breaker, "OVER_S", 0.0)
    monkeypatch.setattr(Breaker, "PAUSE_S", 0.01)
    setup.server.script(*[Cut("before")] * 12)
    results = setup.grade_all([str(number) for number in range(10)], batch_size=1)
    assert [result.status for result in results] == ["graded"] * 10


# What it says.

NO_NUMBERS: dict[str, Any] = {
    "NaN": float("nan"),
    "infinity": float("-inf"),
    "text": "1.0",
    "true": True,
    "null": None,
    "list": [1],
    "too large": 10**400,
}


@pytest.mark.parametrize("reward", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_a_reward_that_is_no_finite_number_fails_its_row_alone(setup: Setup, reward: Any) -> None:
    setup.server.always(answering({"responses": [{"reward": reward, "metadata": {}}, {"reward": 3, "metadata": {}}]}))
    first, second = setup.grade_all(["a", "b"])
    assert_failed(first, "the endpoint's reward: found", "It must be a finite number.")
    assert (second.status, second.reward) == ("graded", 3.0)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_wrong_number_of_responses_fails_the_whole_batch(setup: Setup, count: int) -> None:
    setup.server.always(answering({"responses": [{"reward": 1, "metadata": {}}] * count}))
    for result in setup.grade_all(["a", "b"]):
        assert_failed(result, f"{count} responses to 2 requests")
    assert len(setup.server.requests) == 1


@pytest.mark.parametrize(
    "value", [[], {}, "text", {"responses": {}}, {"responses": [1]}, {"responses": [{}]}, None], ids=repr
)
def test_an_answer_of_another_form_is_a_failure(setup: Setup, value: Any) -> None:
    setup.server.always(answering(value))
    assert_failed(setup.grade(), "the endpoint")


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"responses": [', b"[" * 100_000, b"\xff\xfe", b"9" * 5000])
def test_an_answer_that_is_not_json_is_a_failure(setup: Setup, body: bytes) -> None:
    setup.server.always(Raw(body))
    assert setup.grade().status == "error"


@pytest.mark.parametrize(
    ("metadata", "shown"),
    [
        ({"reason": "13 is prime"}, "13 is prime"),
        ({"feedback": "no scary letters"}, "no scary letters"),
        ({"reason": "this", "feedback": "not this"}, "this"),
        ({"reason": 5, "feedback": "this"}, "this"),
        ({}, None),
        ({"reason": ""}, None),
        (None, None),
    ],
)
def test_the_reason_stands_on_the_result(setup: Setup, metadata: Any, shown: str | None) -> None:
    setup.server.always(answering({"responses": [{"reward": 0.5, "metadata": metadata}]}))
    result = setup.grade()
    assert (result.reward, result.printed) == (0.5, shown)


def test_a_server_that_could_not_score_is_no_zero(setup: Setup) -> None:
    said = {"status": "error", "error": "the judge is down"}
    setup.server.always(answering({"responses": [{"reward": 0.0, "metadata": said}]}))
    assert_failed(setup.grade(), "the endpoint could not score this: the judge is down")


def test_a_server_that_left_a_row_out_makes_it_skipped(setup: Setup) -> None:
    said = {"status": "skipped", "skipped": "the budget is spent"}
    setup.server.always(answering({"responses": [{"reward": 0.0, "metadata": said}]}))
    result = setup.grade()
    assert result.status == "skipped"
    assert "the budget is spent" in str(result.skipped)


@pytest.mark.parametrize("told", [True, False])
def test_an_answer_that_is_too_long_is_neither_read_nor_asked_for_again(setup: Setup, told: bool) -> None:
    setup.server.always(Huge(told=told))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert_failed(setup.grade(), "more than 1 MiB")
    assert len(setup.server.requests) == 1
    assert setup.server.sent < 20_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


def test_a_batch_may_answer_more_than_a_single_row(setup: Setup) -> None:
    padding = "x" * 900_000
    responses = [{"reward": 1.0, "metadata": {"more": padding}}] * 3
    setup.server.always(answering({"responses": responses}))
    assert [result.reward for result in setup.grade_all(["a", "b", "c"])] == [1.0, 1.0, 1.0]


# Where it may lead.


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed(setup: Setup, status: int) -> None:
    setup.server.always(Status(status, location=f"{setup.server.url}/elsewhere"))
    assert_failed(setup.grade(), f"answered {status} and points elsewhere; redirects are not followed")
    assert setup.paths == ["/batch_score"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1"])
def test_this_machine_is_refused_in_every_spelling(setup: Setup, host: str) -> None:
    port = setup.netloc.rpartition(":")[2]
    setup.client = EndpointClient(read_allowed("10.0.0.0/8, rewards.internal"))
    assert_failed(setup.grade(url=f"http://{host}:{port}"), "is not a public address", "FAIRMARK_ENDPOINT_ALLOW")
    assert setup.server.requests == []
    eventloop.run(setup.client.close())


@pytest.mark.parametrize("host", ["[::1]", "[::ffff:127.0.0.1]", "[fe80::1]", "169.254.169.254", "10.0.0.1"])
def test_other_private_addresses_are_refused(setup: Setup, host: str) -> None:
    assert_failed(setup.grade(url=f"http://{host}/latest/meta-data"), "is not a public address")


@pytest.mark.parametrize("host", ["127.1", "2130706433"])
def test_an_allowed_address_is_reached_by_its_other_spellings(setup: Setup, host: str) -> None:
    assert setup.grade(url=f"http://{host}:{setup.netloc.rpartition(':')[2]}").reward == 4.0


class Names:
    """A directory that gives another answer each time."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def scored(names: Names, setup: Setup, client: EndpointClient | None = None) -> EndpointScore | Exception:
    """What comes of one conversation with a server of this name."""
    port = setup.netloc.rpartition(":")[2]
    asking = client or EndpointClient(read_allowed("127.0.0.1"), names)

    async def ask() -> EndpointScore | Exception:
        target = Target(f"http://rewards.example:{port}", timeout_s=20)
        (outcome,) = await asking.score(target, [Thread([("assistant", "four")], {})])
        await asking.close()
        return outcome

    return eventloop.run(ask())


def test_a_name_that_leads_to_an_allowed_address_is_asked_there(setup: Setup) -> None:
    outcome = scored(Names(["127.0.0.1"]), setup)
    assert isinstance(outcome, EndpointScore)
    assert (outcome.reward, outcome.reason) == (4.0, "4 letters")
    assert setup.server.requests[0].headers["host"].startswith("rewards.example:")


def test_only_the_addresses_that_were_looked_at_are_connected_to(setup: Setup) -> None:
    names = Names(["127.0.0.1"], ["127.0.0.2"])
    asking = EndpointClient(read_allowed("127.0.0.1"), names)
    assert isinstance(scored(names, setup, asking), EndpointScore)
    assert names.asked == 1  # looked up and connected in one go: there is no second answer to slip in
    outcome = scored(names, setup, asking)
    assert isinstance(outcome, GradingFailed)
    assert "rewards.example leads to 127.0.0.2, which is not a public address" in str(outcome)
    assert len(setup.server.requests) == 1


def test_of_several_addresses_only_the_permitted_are_used(setup: Setup) -> None:
    assert isinstance(scored(Names(["10.0.0.1", "169.254.169.254", "127.0.0.1"]), setup), EndpointScore)


def test_a_name_that_leads_nowhere_is_a_failure(setup: Setup) -> None:
    async def none(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(-2, "Name or service not known")

    asking = EndpointClient(read_allowed(""), none)
    outcome = scored(Names([]), setup, asking)
    assert "Name or service not known" in str(outcome)


def test_proxies_of_the_environment_are_not_used(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert setup.grade().reward == 4.0


# Secrets.


def test_headers_are_sent_with_variables_filled_in(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRMARK_SECRET_REWARDS", SECRET)
    setup.grade(headers={"Authorization": "Bearer ${FAIRMARK_SECRET_REWARDS}", "X-Team": "a"})
    sent = setup.server.requests[0].headers
    assert (sent["authorization"], sent["x-team"]) == (f"Bearer {SECRET}", "a")


@pytest.mark.parametrize(
    "behaviour",
    [
        Status(401, f"wrong key {SECRET}"),
        Raw(f"you sent {SECRET}".encode()),
        answering({"responses": [{"reward": SECRET, "metadata": {}}]}),
        answering({"responses": [{"reward": 0, "metadata": {"status": "error", "error": SECRET}}]}),
        answering({"responses": [{"reward": 0, "metadata": {"status": "skipped", "skipped": SECRET}}]}),
    ],
    ids=["refused", "no JSON", "reward", "error", "skipped"],
)
def test_a_secret_that_the_server_repeats_is_not_shown(
    setup: Setup, monkeypatch: pytest.MonkeyPatch, behaviour: Behaviour
) -> None:
    monkeypatch.setenv("FAIRMARK_SECRET_REWARDS", SECRET)
    setup.server.always(behaviour)
    shown = setup.grade(headers={"X-Key": "${FAIRMARK_SECRET_REWARDS}"}).model_dump_json()
    assert SECRET not in shown
    assert "***" in shown


@pytest.mark.parametrize("secret", [SECRET, "prime"])
def test_the_reason_of_a_reward_is_an_answer_and_stays_as_it_was_given(
    setup: Setup, monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    monkeypatch.setenv("FAIRMARK_SECRET_REWARDS", secret)
    setup.server.always(answering({"responses": [{"reward": 1, "metadata": {"reason": f"13 is {secret}"}}]}))
    assert setup.grade(headers={"X-Key": "${FAIRMARK_SECRET_REWARDS}"}).printed == f"13 is {secret}"


def test_a_variable_that_is_not_there_is_told_by_its_name(setup: Setup) -> None:
    result = setup.grade(headers={"X-Key": "${FAIRMARK_SECRET_MISSING}"})
    assert_failed(result, "header X-Key: the environment has no variable FAIRMARK_SECRET_MISSING.")
    assert setup.server.requests == []


def test_a_variable_cannot_smuggle_in_a_header(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRMARK_SECRET_REWARDS", "a\r\nX-Evil: 1")
    assert_failed(setup.grade(headers={"X-Key": "${FAIRMARK_SECRET_REWARDS}"}), "characters that a header cannot have")


# Whether it is there.


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process's own client, opened anew with this machine on the list."""
    monkeypatch.setattr("fairmark.settings.settings", lambda: Settings(endpoint_allow="127.0.0.1"))
    monkeypatch.setattr("fairmark.endpoints.chosen._opened", None)


@pytest.mark.usefixtures("allowed")
def test_a_probe_tells_what_a_server_says_of_itself(setup: Setup) -> None:
    assert probe(setup.server.url) == Online("tests", "7", "Scores by length.")
    assert eventloop.run(aprobe(setup.server.url)) == Online("tests", "7", "Scores by length.")


@pytest.mark.usefixtures("allowed")
def test_a_probe_tells_why_a_server_is_offline(setup: Setup) -> None:
    setup.server.script(Status(503, "busy"), answering({"name": 1}), Rewards(before_s=60))
    assert "busy" in error_of(probe(setup.server.url))
    assert "/info" in error_of(probe(setup.server.url))
    assert "no answer within 0.2 s" in error_of(probe(setup.server.url, timeout_s=0.2))
    assert "cannot connect" in error_of(probe("http://127.0.0.1:1"))
    assert "$.url" in error_of(probe("nonsense"))
    assert "not a public address" in error_of(probe("http://10.0.0.1"))


def error_of(found: Online | Offline) -> str:
    assert isinstance(found, Offline)
    return found.error


@pytest.mark.usefixtures("allowed")
def test_the_public_calls_reach_the_server_from_any_loop(setup: Setup) -> None:
    grader = setup.grader()
    rows = [{"item": {}, "sample": "x" * length} for length in range(300)]
    assert [result.reward for result in fairmark.grade_many(grader, rows)] == [float(length) for length in range(300)]
    weighted = {"type": "multi", "graders": {"remote": grader}, "calculate_output": "remote / 2"}
    assert fairmark.grade(weighted, "four").reward == 2.0


def test_rows_of_a_context_with_another_way_to_endpoints_go_there() -> None:
    class Fake:
        async def score(self, target: Target, threads: Sequence[Thread]) -> list[Any]:
            return [EndpointScore(float("nan")), EndpointScore(2.0, "because")][-len(threads) :]

    context = replace(CONTEXT, endpoints=Fake())
    spec = parse({"type": "endpoint", "url": "https://rewards.example"})
    results = eventloop.run(grade_parts(spec, [({}, "a"), ({}, "b")], context))
    assert [result.status for result in results] == ["error", "graded"]
