"""What is not kept of a judge: failures, and keys anywhere. Settings that are likely wrong are told."""

import json
import logging
import socket
from collections.abc import Callable

import pytest

from tests.judges.faults import (
    SCORE,
    Answer,
    Behaviour,
    Cut,
    Raw,
    Status,
)
from tests.judges.misbehaving import KEY, RETRIES, SERVER, UNREADABLE, Setup, assert_failed, setup

__all__ = ["setup"]


# The cache and the key.


@pytest.mark.parametrize(
    "fault",
    [Status(401), Raw(b"<html>"), Answer(""), Answer(None, refusal="no"), Answer(SCORE, finish_reason="length")],
    ids=["401", "html", "empty", "refusal", "cut off"],
)
def test_a_failure_is_not_kept_for_next_time(setup: Setup, fault: Behaviour) -> None:
    assert setup.grade(*[fault] * (RETRIES + 1)).status == "error"
    assert setup.kept() == 0
    setup.server.forget()
    assert setup.grade(Answer()).status == "graded"
    assert setup.kept() == 1
    asked = setup.asked
    assert setup.grade(Status(500)).reward == 0.75
    assert setup.asked == asked


LEAKS: dict[str, Callable[[], Behaviour]] = {
    "401": lambda: Status(401, f"Incorrect API key provided: {KEY}. You can find your API key elsewhere."),
    "400": lambda: Status(400, f"bad header Authorization: Bearer {KEY}"),
    "503": lambda: Status(503, f"{KEY} {KEY}"),
    "429": lambda: Status(429, f"limit reached for {KEY}", retry_after=0.01),
    "a web page": lambda: Raw(f"<html>Authorization: Bearer {KEY}</html>".encode(), "text/html"),
    "a content type": lambda: Raw(b"<html>", f"text/{KEY}"),
    "at the end of what is shown": lambda: Status(401, "x" * 285 + KEY),
    "in the middle of what is read": lambda: Raw(b"x" * 1985 + KEY.encode(), "text/html"),
    "broken over lines": lambda: Raw(f"<p>\n{KEY}\n</p>".encode(), "text/html"),
    "an error in a 200": lambda: Raw(json.dumps({"error": {"message": f"key {KEY}"}}).encode()),
    "a redirect": lambda: Status(302, location=f"http://127.0.0.1:9/?key={KEY}"),
    "the reason": lambda: Cut("body"),
}


@pytest.mark.parametrize("fault", LEAKS.values(), ids=list(LEAKS))
def test_the_key_stands_in_no_result_error_log_or_file(
    setup: Setup, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], fault: Callable[[], Behaviour]
) -> None:
    caplog.set_level(logging.DEBUG)
    result = setup.grade(*[fault()] * (RETRIES + 1))
    setup.server.forget()
    assert result.status == "error"
    assert setup.grade(Answer(), sample="kept").status == "graded"
    setup.close()
    assert f"Bearer {KEY}" in setup.server.requests[0].headers["authorization"]
    captured = capfd.readouterr()
    shown = "\n".join([result.model_dump_json(), repr(result), caplog.text, captured.out, captured.err])
    # A part of a key is a part of a secret.
    assert KEY[:12] not in shown
    files = [path for path in setup.home.rglob("*") if path.is_file()]
    assert files
    assert all(KEY[:12].encode() not in path.read_bytes() for path in files)


@pytest.mark.parametrize("key", ["m", "EMPTY", "none", KEY])
def test_what_a_judge_says_is_an_answer_and_stays_as_it_was_given(setup: Setup, key: str) -> None:
    setup.judge = setup.open(key=key)
    said = json.dumps({"steps": [{"description": f"Is it {key}?", "conclusion": "mostly none"}], "result": 0.75})
    result = setup.grade(Answer(said))
    assert (result.status, result.reward) == ("graded", 0.75)
    assert result.judgements[0].output == said
    assert result.judgements[0].value["steps"][0]["description"] == f"Is it {key}?"


def test_a_key_that_an_answer_repeats_stands_in_no_error(setup: Setup) -> None:
    result = setup.grade(always=Answer(f"Your key is {KEY}."))
    assert_failed(result, UNREADABLE, "Your key is ***.")
    assert KEY[:12] not in str(result.error)


# Settings that are likely wrong.


@pytest.mark.parametrize("end", [".", ""])
def test_a_key_that_is_not_taken_is_told_with_its_variable_and_the_address(setup: Setup, end: str) -> None:
    result = setup.grade(always=Status(401, f"Incorrect API key provided{end}"))
    assert result.error == (
        f"judge: the server answered 401: Incorrect API key provided. It was asked at {setup.server.url}/v1 "
        "(OPENAI_BASE_URL). The key OPENAI_API_KEY may be wrong, or for another server."
    )
    setup.judge = setup.open(key="")
    assert_failed(setup.grade(sample="other"), SERVER, "The key OPENAI_API_KEY is not set.")


@pytest.mark.parametrize(
    "fault", [Status(404, "Not Found"), Raw(b"<html>hello</html>", "text/html")], ids=["404", "page"]
)
def test_an_address_without_v1_is_told_with_the_one_that_is_likely_meant(setup: Setup, fault: Behaviour) -> None:
    setup.judge = setup.open(path="")
    url = setup.server.url
    told = f"{url} (OPENAI_BASE_URL). The path of that address has no /v1; most servers have it: try {url}/v1."
    assert_failed(setup.grade(always=fault), SERVER, told)


def test_an_unknown_model_is_not_taken_for_a_wrong_address(setup: Setup) -> None:
    setup.judge = setup.open(path="/api")
    result = setup.grade(always=Status(404, "The model `judge` does not exist"))
    assert_failed(result, SERVER, "does not exist")
    assert "/v1" not in str(result.error)


def test_a_server_that_cannot_be_reached_is_told_with_the_setting_of_its_address(setup: Setup) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    setup.judge = setup.open(f"http://127.0.0.1:{port}")
    assert_failed(setup.grade(), SERVER, f"It was asked at http://127.0.0.1:{port}/v1 (OPENAI_BASE_URL).")
