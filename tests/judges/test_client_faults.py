"""Whatever a judge's server does, a grade ends in time, tells what happened, and never passes for a bad answer."""

import asyncio
import contextlib
import json
import logging
import resource
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import fairmark
from fairmark.errors import NotGraded
from fairmark.judgement import Judgement
from fairmark.judges.asking import AskingJudge
from fairmark.judges.base import Question
from fairmark.judges.cache import Cache
from fairmark.judges.client import Client
from fairmark.judges.models import Provider, read_registry
from fairmark.outbound import client as client_module
from fairmark.outbound.limits import Breaker
from fairmark.settings import Settings
from fairmark.work import eventloop
from tests.judges.faults import (
    NO_JSON_SCHEMA,
    SCORE,
    Answer,
    Behaviour,
    Cut,
    Endless,
    FaultServer,
    Huge,
    Raw,
    Slow,
    Status,
)
from tests.judges.scripted import question

KEY = "sk-not-to-be-seen-0123456789abcdef"
SCORE_GRADER: dict[str, Any] = {
    "type": "score_model",
    "name": "score",
    "model": "judge",
    "input": [{"role": "user", "content": "Grade {{ sample.output_text }}."}],
    "range": [0, 1],
}
LABEL_GRADER: dict[str, Any] = {
    "type": "label_model",
    "name": "label",
    "model": "judge",
    "input": [{"role": "user", "content": "Grade {{ sample.output_text }}."}],
    "labels": ["good", "bad"],
    "passing_labels": ["good"],
}
RETRIES = 2
SERVER, REFUSAL, UNREADABLE = "model_grader_server_error", "model_grader_refusal_error", "model_grader_parse_error"
CUT_OFF, LATE = "truncated_observation_error", "unresponsive_reward_error"


class Setup:
    """A server to misbehave, a judge that asks it, and a grade by that judge."""

    def __init__(self, server: FaultServer, home: Path) -> None:
        self.server = server
        self.home = home
        self._opened: list[tuple[Client, Cache]] = []
        self.judge = self.open()

    def open(self, url: str | None = None, key: str = KEY, path: str = "/v1", **given: Any) -> AskingJudge:
        """A judge with settings that let tests end soon."""
        settings = Settings(
            **{"home": self.home, "judge_timeout_s": 20.0, "judge_deadline_s": 40.0, "judge_retries": RETRIES, **given}
        )
        environment = {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": f"{url or self.server.url}{path}"}
        client = Client(settings, _no_local_model)
        cache = Cache(settings.data_folder / "judgements.db", settings.judge_cache, 10_000_000)
        self._opened.append((client, cache))
        return AskingJudge(read_registry(self.home / "none.toml", environment), client, cache)

    def grade(
        self,
        *behaviours: Behaviour,
        always: Behaviour | None = None,
        grader: dict[str, Any] = SCORE_GRADER,
        sample: str = "Paris",
    ) -> fairmark.Result:
        self.server.script(*behaviours)
        if always is not None:
            self.server.always(always)
        return fairmark.grade(grader, sample=sample, judge=self.judge)

    @property
    def asked(self) -> int:
        return len(self.server.requests)

    def kept(self) -> int:
        """How many answers the cache holds on disk."""
        for _, cache in self._opened:
            cache.flush()
        with contextlib.closing(sqlite3.connect(self.home / "judgements.db")) as database:
            (count,) = database.execute("select count(*) from answers").fetchone()
        assert isinstance(count, int)
        return count

    def close(self) -> None:
        for client, cache in self._opened:
            eventloop.run(client.close())
            cache.close()


async def _no_local_model(name: str) -> Provider:
    raise AssertionError(f"nobody asked for the embedded model {name}")


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Setup]:
    monkeypatch.setattr(client_module, "FIRST_PAUSE_S", 0.01)
    with FaultServer() as server:
        setup = Setup(server, tmp_path)
        yield setup
        setup.close()


def flags(result: fairmark.Result) -> set[str]:
    """The flags that are set, without what explains them."""
    return {name for name, value in result.errors.items() if value is True}


def assert_failed(result: fairmark.Result, flag: str, *words: str) -> None:
    assert result.status == "error"
    assert result.reward == 0.0
    assert flag in flags(result)
    assert result.passed is False
    assert result.error is not None
    for word in words:
        assert word in result.error


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


# The form of the answer.


def test_a_server_without_json_schema_is_asked_by_a_tool_and_remembered(setup: Setup) -> None:
    first = setup.grade(NO_JSON_SCHEMA, Answer(None, arguments=SCORE), sample="one")
    second = setup.grade(Answer(None, arguments=SCORE), sample="two")
    assert (first.reward, second.reward) == (0.75, 0.75)
    bodies = [request.body for request in setup.server.requests]
    assert [("response_format" in body, "tools" in body) for body in bodies] == [
        (True, False),
        (False, True),
        (False, True),
    ]


def test_a_server_that_takes_no_form_at_all_is_asked_in_plain_text(setup: Setup) -> None:
    refusals = [
        NO_JSON_SCHEMA,
        Status(400, "tools are not supported", param="tools"),
        Status(400, "response_format json_object is not supported"),
    ]
    result = setup.grade(*refusals, Answer("Mostly right.\n\nResult: 0.75"))
    assert (result.status, result.reward) == ("graded", 0.75)
    assert setup.asked == 4
    assert "response_format" not in setup.server.requests[-1].body
    assert "tools" not in setup.server.requests[-1].body


def test_a_server_that_refuses_every_form_fails_and_does_not_go_round_in_circles(setup: Setup) -> None:
    assert_failed(setup.grade(always=NO_JSON_SCHEMA), SERVER, "not supported")
    assert setup.asked <= 4


@pytest.mark.parametrize(
    ("content", "reward"),
    [
        ('Sure! Here you are:\n```json\n{"steps": [], "result": 0.75}\n```\nAnything else?', 0.75),
        ('{"steps": [], "result": "0.75"}', 0.75),
        ([{"type": "text", "text": SCORE}], 0.75),
        ({"steps": [], "result": 0.75}, 0.75),
        ('{"steps": [], "result": 7}', 1.0),
        ('{"steps": [], "result": -7}', 0.0),
    ],
)
def test_a_sloppy_answer_is_read(setup: Setup, content: Any, reward: float) -> None:
    result = setup.grade(Answer(content))
    assert (result.status, result.reward) == ("graded", reward)
    assert setup.asked == 1


@pytest.mark.parametrize("number", [7, -7])
def test_a_number_out_of_range_is_told(setup: Setup, number: int) -> None:
    [warning] = setup.grade(Answer(json.dumps({"steps": [], "result": number}))).warnings
    assert f"the judge's number {number} is outside the range 0 to 1" in warning


UNREAD: dict[str, Any] = {
    "nothing": "",
    "null": None,
    "blank": "  \n ",
    "prose": "I like this answer very much.",
    "NaN": '{"steps": [], "result": NaN}',
    "infinity": '{"steps": [], "result": Infinity}',
    "NaN in words": '{"steps": [], "result": "NaN"}',
    "too large a number": '{"steps": [], "result": 1e999}',
    "no number": '{"steps": [], "result": "excellent"}',
    "true": '{"steps": [], "result": true}',
    "no result": '{"steps": []}',
    "half a JSON": '{"steps": [], "result": 0.',
    "a list": "[0.75]",
}


@pytest.mark.parametrize("content", UNREAD.values(), ids=list(UNREAD))
def test_an_answer_that_cannot_be_read_is_sent_back_once_and_then_told(setup: Setup, content: Any) -> None:
    result = setup.grade(always=Answer(content))
    assert_failed(result, UNREADABLE, "judge: ")
    assert flags(result) == {UNREADABLE}
    assert setup.asked == 2
    assert len(setup.server.requests[1].body["messages"]) >= len(setup.server.requests[0].body["messages"])
    assert setup.server.requests[1].body["messages"] != setup.server.requests[0].body["messages"]


@pytest.mark.parametrize("content", UNREAD.values(), ids=list(UNREAD))
def test_an_answer_that_was_sent_back_may_be_mended(setup: Setup, content: Any) -> None:
    result = setup.grade(Answer(content), Answer())
    assert (result.status, result.reward) == ("graded", 0.75)
    assert result.model_dump()["metadata"]["token_usage"]["total_tokens"] == 240  # both answers were paid for


def test_a_label_that_is_none_of_them_is_told_with_those_there_are(setup: Setup) -> None:
    result = setup.grade(always=Answer('{"steps": [], "result": "superb"}'), grader=LABEL_GRADER)
    assert_failed(result, UNREADABLE, '"superb"', "good, bad")


@pytest.mark.parametrize("choices", [b"[]", b"null", b'"x"', b"[null]", b'[{"message": null}]', b'[{"message": "x"}]'])
def test_an_answer_without_a_message_is_not_a_grade(setup: Setup, choices: bytes) -> None:
    result = setup.grade(always=Raw(b'{"choices": %b, "usage": "none", "model": 7}' % choices))
    assert_failed(result, UNREADABLE, "empty")


def test_an_error_in_an_answer_of_status_200_is_told(setup: Setup) -> None:
    result = setup.grade(always=Raw(b'{"error": {"message": "the model is loading"}}'))
    assert_failed(result, SERVER, "the model is loading")


@pytest.mark.parametrize(
    ("answer", "flag", "told"),
    [
        (Answer(None, refusal="I will not grade that."), REFUSAL, "I will not grade that."),
        (Answer("", finish_reason="content_filter"), REFUSAL, "content filter"),
        (Answer('{"steps": [{"descr', finish_reason="length"), CUT_OFF, "token limit"),
        (Answer(SCORE, finish_reason="length"), CUT_OFF, "token limit"),
    ],
)
def test_a_judge_that_refuses_or_is_cut_off_is_believed(setup: Setup, answer: Answer, flag: str, told: str) -> None:
    result = setup.grade(always=answer)
    assert_failed(result, flag, told)
    assert flags(result) == {flag}
    assert setup.asked == 1


def test_a_tool_call_that_nobody_asked_for_is_read_all_the_same(setup: Setup) -> None:
    assert setup.grade(Answer(None, arguments=SCORE, finish_reason="tool_calls")).reward == 0.75


def test_a_zipped_answer_is_unzipped(setup: Setup) -> None:
    assert setup.grade(Answer(zipped=True)).reward == 0.75


# Time and memory.


@pytest.mark.parametrize("fault", [Slow(60), Slow(60, "body"), Endless()], ids=["head", "body", "endless"])
def test_a_judge_that_takes_too_long_is_left_and_told(setup: Setup, fault: Behaviour) -> None:
    setup.judge = setup.open(judge_timeout_s=0.3)
    result = setup.grade(always=fault)
    assert_failed(result, SERVER, "no answer within 0.3 s", f"asked {RETRIES + 1} times")
    assert flags(result) == {SERVER, LATE}
    assert setup.asked == RETRIES + 1


def test_a_judge_that_is_slow_once_is_asked_again(setup: Setup) -> None:
    setup.judge = setup.open(judge_timeout_s=0.5)
    assert setup.grade(Slow(60), Answer()).reward == 0.75


@pytest.mark.parametrize(
    "fault",
    [Slow(60), Status(503), Status(429, retry_after=0.2), Cut("before"), Raw(b"<html>")],
    ids=["slow", "503", "429", "cut", "html"],
)
def test_a_question_ends_at_its_deadline_however_many_retries_are_left(setup: Setup, fault: Behaviour) -> None:
    setup.judge = setup.open(judge_timeout_s=0.4, judge_deadline_s=1.0, judge_retries=1000)
    started = time.monotonic()
    result = setup.grade(always=fault)
    assert time.monotonic() - started < 10  # not how fast, but that it does not go on for ever
    assert_failed(result, SERVER)


@pytest.mark.parametrize(
    "fault",
    [
        Status(429, "come back later", retry_after=3600),
        Status(429, "come back later", retry_after_ms=3_600_000),
        Status(503, "come back later", retry_after="Fri, 31 Dec 9999 23:59:59 GMT"),
    ],
)
def test_a_server_that_wants_more_time_than_there_is_is_not_waited_for(setup: Setup, fault: Status) -> None:
    assert_failed(setup.grade(always=fault), SERVER, "come back later")
    assert setup.asked == 1


@pytest.mark.parametrize("fault", [Status(429, retry_after=0.3), Status(429, retry_after_ms=300)])
def test_a_server_that_says_when_to_come_back_is_not_asked_before(setup: Setup, fault: Status) -> None:
    assert setup.grade(fault, Answer()).reward == 0.75
    first, second = setup.server.requests
    assert second.at - first.at >= 0.3


@pytest.mark.parametrize("told", ["-5", "nan", "inf", "", "0x10", "9" * 400])
def test_no_retry_after_breaks_the_client(setup: Setup, told: str) -> None:
    result = setup.grade(Status(429, retry_after=told), Answer())
    assert result.status == "graded" or SERVER in flags(result)
    assert "internal error" not in (result.error or "")


@pytest.mark.parametrize("told", [True, False], ids=["told", "not told"])
def test_a_huge_answer_is_neither_taken_nor_held(setup: Setup, told: bool) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = setup.grade(always=Huge(200_000_000, told))
    assert_failed(result, SERVER, "larger than 16 MB")
    assert setup.server.sent < 100_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000


def test_one_bad_row_leaves_the_others_alone(setup: Setup) -> None:
    def bad(request: Any) -> bool:
        return "row 3" in request.body["messages"][0]["content"]

    class Picky:
        async def play(self, wire: Any, request: Any) -> None:
            await (Status(400, "not this one") if bad(request) else Answer()).play(wire, request)

    setup.server.always(Picky())
    rows = [{"item": {}, "sample": f"row {number}"} for number in range(10)]
    results = fairmark.grade_many(SCORE_GRADER, rows, judge=setup.judge)
    assert [result.status for result in results] == ["graded"] * 3 + ["error"] + ["graded"] * 6
    assert_failed(results[3], SERVER, "400: not this one")


# Judges that hang.


class Hanging:
    """Never answers what holds the word, and everything else at once."""

    async def play(self, wire: Any, request: Any) -> None:
        hangs = "hang" in json.dumps([request.body["model"], request.body["messages"]])
        await (Slow(600) if hangs else Answer()).play(wire, request)


def ask_beside(setup: Setup, hanging: Sequence[Question], under_way: int, healthy: Question) -> Judgement | NotGraded:
    """What one owner gets for a healthy question, while so many of another's hanging ones are under way."""
    setup.server.always(Hanging())

    async def scenario() -> Judgement | NotGraded:
        tasks = [asyncio.create_task(setup.judge.ask([each], None, "theirs")) for each in hanging]
        while setup.asked < under_way:
            await asyncio.sleep(0.001)
        (answer,) = await setup.judge.ask([healthy], None, "ours")
        assert not any(task.done() for task in tasks)
        assert setup.asked == under_way + 1  # theirs wait for one another, and ours for nobody
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        return answer

    return eventloop.run(scenario())


@pytest.mark.parametrize(
    ("models", "under_way", "healthy"),
    [
        (["hangs"], 8, question("fine", "other")),  # another model
        (["m"], 8, question("fine", "m")),  # the same one
        ([f"hangs-{number}" for number in range(12)], 32, question("fine", "other")),  # many models of one owner
    ],
    ids=["another model", "the same model", "many models"],
)
def test_a_judge_that_hangs_keeps_nobody_else_from_his_answer(
    setup: Setup, models: list[str], under_way: int, healthy: Question
) -> None:
    setup.judge = setup.open(judge_concurrency=8)
    hanging = [question(f"hang {number}", model) for model in models for number in range(20)]
    answer = ask_beside(setup, hanging, under_way, healthy)
    assert isinstance(answer, Judgement)
    assert (answer.failure, answer.value["result"]) == (None, 0.75)


# A server that is dead.


@pytest.fixture
def quick_breaker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two questions without an answer open it, and somebody tries every hundredth of a second."""
    for name, value in (("FAILURES", 2), ("OVER_S", 0.0), ("PAUSE_S", 0.01)):
        monkeypatch.setattr(Breaker, name, value)


@pytest.mark.usefixtures("quick_breaker")
def test_a_question_that_the_server_cannot_bear_spoils_no_others(setup: Setup) -> None:
    class Picky:
        async def play(self, wire: Any, request: Any) -> None:
            bad = "poison" in request.body["messages"][0]["content"]
            await (Status(500) if bad else Answer()).play(wire, request)

    setup.server.always(Picky())
    bad = fairmark.grade({**SCORE_GRADER, "n": 5}, sample="poison", judge=setup.judge)
    assert_failed(bad, SERVER, "500")
    assert setup.asked == 5 * (RETRIES + 1)
    rows = [{"sample": f"row {number}"} for number in range(30)]
    assert [each.status for each in fairmark.grade_many(SCORE_GRADER, rows, judge=setup.judge)] == ["graded"] * 30


@pytest.mark.usefixtures("quick_breaker")
@pytest.mark.parametrize("fault", [Status(500), Cut("before"), Raw(b"<html>")], ids=["500", "cut", "html"])
def test_rows_wait_for_a_server_that_comes_back(setup: Setup, fault: Behaviour) -> None:
    setup.judge = setup.open(judge_retries=30)
    setup.server.script(*[fault] * 40)
    rows = [{"sample": f"row {number}"} for number in range(30)]
    results = fairmark.grade_many(SCORE_GRADER, rows, judge=setup.judge)
    assert [(each.status, each.reward) for each in results] == [("graded", 0.75)] * 30


@pytest.mark.usefixtures("quick_breaker")
def test_rows_wait_for_a_dead_server_until_their_deadline_and_are_errors_then(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Breaker, "PAUSE_S", 60.0)
    setup.judge = setup.open(judge_deadline_s=1.0, judge_concurrency=4)
    setup.server.always(Status(503, "we are full"))
    rows = [{"sample": f"row {number}"} for number in range(30)]
    results = fairmark.grade_many(SCORE_GRADER, rows, judge=setup.judge)
    for result in results:
        assert_failed(result, SERVER, "no answer within 1 s: the server answered none of the last 2", "we are full")
        assert flags(result) == {SERVER, LATE}
    assert setup.asked <= 8  # the others, and all that came again, waited outside


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


def test_a_key_that_is_not_taken_is_told_with_its_variable_and_the_address(setup: Setup) -> None:
    result = setup.grade(always=Status(401, "Incorrect API key provided."))
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
