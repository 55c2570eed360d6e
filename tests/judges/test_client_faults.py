"""Whatever a judge's server does, a grade ends in time, tells what happened, and never passes for a bad answer."""

import socket

import pytest

from tests.judges.faults import (
    Answer,
    Behaviour,
    Cut,
    FaultServer,
    Raw,
    Status,
)
from tests.judges.misbehaving import KEY, RETRIES, SERVER, Setup, assert_failed, flags, setup

__all__ = ["setup"]


def test_a_proper_answer_is_graded_and_asked_for_once(setup: Setup) -> None:
    result = setup.grade(Answer())
    assert (result.status, result.reward) == ("graded", 0.75)
    assert flags(result) == set()
    [request] = setup.server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"


# What passes: the server fails once, and answers when it is asked again.

PASSING: dict[str, Behaviour] = {
    "408": Status(408),
    "409": Status(409),
    "429": Status(429),
    "429 with a time": Status(429, retry_after=0.05),
    "429 with a date": Status(429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT"),
    "429 with milliseconds": Status(429, retry_after_ms=50),
    "429 with nonsense": Status(429, retry_after="soon"),
    "500": Status(500),
    "502": Status(502),
    "503": Status(503),
    "503 with a time": Status(503, retry_after=0.05),
    "504": Status(504),
    "cut before the head": Cut("before"),
    "cut in the head": Cut("head"),
    "cut in the body": Cut("body"),
    "a web page": Raw(b"<html>busy</html>", "text/html"),
    "half a JSON": Raw(b'{"choices": [{"message": {"content": "'),
    "a length that is too long": Raw(b'{"choices": []}', length=1000),
    "nothing at all": Raw(b""),
    "a list": Raw(b"[]"),
    "no UTF-8": Raw(b'{"choices": "\xff\xfe"}'),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=list(PASSING))
def test_what_may_pass_is_asked_again(setup: Setup, fault: Behaviour) -> None:
    result = setup.grade(fault, Answer())
    assert (result.status, result.reward) == ("graded", 0.75)
    assert setup.asked == 2
    assert result.judgements[0].attempts == 2


@pytest.mark.parametrize("fault", PASSING.values(), ids=list(PASSING))
def test_what_does_not_pass_is_given_up_after_the_retries(setup: Setup, fault: Behaviour) -> None:
    result = setup.grade(always=fault)
    assert_failed(result, SERVER, "judge", f"asked {RETRIES + 1} times")
    assert setup.asked == RETRIES + 1
    assert result.errors["model_grader_server_error_details"] == result.error


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (Status(503, "we are full"), "503: we are full"),
        (Cut("before"), "closed the connection before it answered"),
        (Cut("body"), "cut in the middle of the answer"),
        (Raw(b"<html>busy</html>", "text/html"), "text/html"),
        (Raw(b"<html>busy</html>", "text/html"), "busy"),
    ],
)
def test_a_failure_tells_what_the_server_did(setup: Setup, fault: Behaviour, told: str) -> None:
    assert_failed(setup.grade(always=fault), SERVER, told)


def test_a_connection_that_ends_after_an_answer_costs_the_next_question_nothing_but_time(setup: Setup) -> None:
    assert setup.grade(Answer(then_cut=True), sample="one").reward == 0.75
    assert setup.grade(Answer(then_cut=True), sample="two").reward == 0.75
    assert setup.grade(Cut("before"), Answer(), sample="three").reward == 0.75


def test_a_server_that_is_not_there_is_told_by_its_address(setup: Setup) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    setup.judge = setup.open(f"http://127.0.0.1:{port}")
    assert_failed(setup.grade(), SERVER, f"127.0.0.1:{port}", f"asked {RETRIES + 1} times")


# What does not pass: asking again would get the same.


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 413, 422])
def test_what_the_server_will_never_take_is_asked_once(setup: Setup, status: int) -> None:
    result = setup.grade(always=Status(status, "Incorrect. Look here."))
    assert_failed(result, SERVER, f"{status}: Incorrect. Look here.")
    assert setup.asked == 1


def test_an_account_without_money_is_asked_once(setup: Setup) -> None:
    result = setup.grade(always=Status(429, "You exceeded your quota.", code="insufficient_quota"))
    assert_failed(result, SERVER, "You exceeded your quota.")
    assert setup.asked == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_told_and_nobody_else_gets_the_key(setup: Setup, status: int) -> None:
    with FaultServer() as other:
        result = setup.grade(always=Status(status, location=f"{other.url}/v1/chat/completions"))
        assert_failed(result, SERVER, str(status), "redirect")
        assert other.requests == []
    assert setup.asked == 1
