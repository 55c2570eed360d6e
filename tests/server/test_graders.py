"""Graders over HTTP: run, validate, rewards."""

import concurrent.futures
import http.client
import json
from typing import Any

import pytest

from fairmark import errors
from fairmark.longjson import LONG
from tests.server.client import EXACT, RUN, VALIDATE, Server, run_body, wait_for

SIMILAR = {
    "type": "text_similarity",
    "input": "{{sample.output_text}}",
    "reference": "{{item.answer}}",
    "evaluation_metric": "fuzzy_match",
}

MULTI = {"type": "multi", "graders": {"a": EXACT, "b": SIMILAR}, "calculate_output": "(a + b) / 2"}

PYTHON = {"type": "python", "source": "def grade(sample, item):\n    return 0.25\n"}


@pytest.mark.parametrize(
    ("grader", "sample", "reward"),
    [(EXACT, "Paris", 1.0), (EXACT, "Rome", 0.0), (SIMILAR, "Pariz", 0.8), (MULTI, "Pariz", 0.4), (PYTHON, "", 0.25)],
)
def test_a_run_gives_the_reward_twice_and_all_that_the_wire_format_names(
    server: Server, grader: dict[str, Any], sample: str, reward: float
) -> None:
    answer = server.post(RUN, run_body(grader, sample))
    assert answer.status == 200
    result = answer.json()
    assert result["reward"] == result["score"] == reward
    assert result["status"] == "graded"
    assert tuple(result["metadata"]["errors"]) == errors.ERROR_KEYS
    assert result["metadata"]["name"] == grader.get("name", grader["type"])
    assert result["metadata"]["token_usage"] is None
    assert result["metadata"]["execution_time"] > 0


def test_a_failing_grader_is_a_200_with_its_flag(server: Server) -> None:
    answer = server.post(RUN, run_body({**EXACT, "reference": "{{item.missing}}"}))
    assert answer.status == 200
    result = answer.json()
    assert (result["reward"], result["status"], result["passed"]) == (0.0, "error", False)
    assert result["metadata"]["errors"]["invalid_variable_error"] is True
    broken = {**PYTHON, "source": "def grade(sample, item):\n    return 1 / 0\n"}
    result = server.post(RUN, run_body(broken)).json()
    assert result["metadata"]["errors"]["python_grader_runtime_error"] is True


@pytest.mark.parametrize("route", [RUN, VALIDATE])
def test_an_invalid_grader_is_refused_with_every_problem_and_the_path_of_the_first(server: Server, route: str) -> None:
    wrong = {"type": "string_check", "input": "{{nothing.x}}", "operation": "equals"}
    answer = server.post(route, run_body(wrong))
    assert answer.status == 400
    assert answer.error["param"] in ("grader.input", "grader.reference")
    for place in ("grader.input: ", "grader.reference: ", "grader.operation: "):
        assert place in answer.error["message"]
    assert {each["path"] for each in answer.json()["problems"]} == {
        "grader.input",
        "grader.reference",
        "grader.operation",
    }


@pytest.mark.parametrize(
    ("change", "param", "code"),
    [
        ({"operation": "equals"}, "grader.operation", "invalid_value"),
        ({"input": 5}, "grader.input", "invalid_type"),
        ({"type": None}, "grader.type", "missing_required_parameter"),
        ({"type": "magic"}, "grader.type", "invalid_value"),
    ],
)
def test_the_code_of_a_problem_is_that_of_the_error(
    server: Server, change: dict[str, Any], param: str, code: str
) -> None:
    error = server.post(RUN, run_body({**EXACT, **change})).error
    assert (error["type"], error["param"], error["code"]) == ("invalid_request_error", param, code)


def test_a_path_inside_a_multi_grader_is_told_in_full(server: Server) -> None:
    wrong = {**MULTI, "graders": {"a": {**EXACT, "operation": "equals"}, "b": SIMILAR}}
    assert server.post(RUN, run_body(wrong)).error["param"] == "grader.graders.a.operation"


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        ({"model_sample": "x"}, "grader", "missing_required_parameter"),
        ({"grader": EXACT}, "model_sample", "missing_required_parameter"),
        ({"grader": EXACT, "model_sample": None}, "model_sample", "invalid_type"),
        ({"grader": EXACT, "model_sample": 5}, "model_sample", "invalid_type"),
        ({"grader": EXACT, "model_sample": "x", "item": [1]}, "item", "invalid_type"),
        ({"grader": "exact", "model_sample": "x"}, "grader", "invalid_type"),
        ({"grader": None, "model_sample": "x"}, "grader", "invalid_type"),
        ([], None, "invalid_type"),
    ],
)
def test_a_wrong_body_is_refused_by_the_name_of_what_is_wrong(
    server: Server, body: Any, param: str | None, code: str
) -> None:
    answer = server.post(RUN, body)
    assert answer.status == 400
    assert (answer.error["param"], answer.error["code"]) == (param, code)


def test_json_that_breaks_off_is_told_with_line_and_column(server: Server) -> None:
    answer = server.request("POST", RUN, body=b'{\n "grader": {},\n "model_sample": }')
    assert answer.status == 400
    assert "line 3 column 18" in answer.error["message"]
    assert server.request("POST", RUN, body=b"").error["message"] == "The body is not JSON: it is empty."
    assert "UTF-8" in server.request("POST", RUN, body=b'{"a": "\xff"}').error["message"]


def test_a_reference_answer_is_a_field_of_the_item_unless_the_item_has_one(server: Server) -> None:
    grader = {**EXACT, "reference": "{{item.reference_answer}}"}
    body = {"grader": grader, "model_sample": "Paris", "reference_answer": "Paris"}
    assert server.post(RUN, body).json()["reward"] == 1.0
    assert server.post(RUN, {**body, "item": {"reference_answer": "Rome"}}).json()["reward"] == 0.0
    assert server.post(RUN, {**body, "item": {"other": 1}}).json()["reward"] == 1.0


def test_a_sample_may_be_an_object(server: Server) -> None:
    sample = {"choices": [{"message": {"role": "assistant", "content": "Paris"}}]}
    assert server.post(RUN, run_body(sample=sample)).json()["reward"] == 1.0


def test_half_an_emoji_and_huge_numbers_go_through(server: Server) -> None:
    body = b'{"grader": %b, "model_sample": "\\ud83d", "item": {"answer": "\\ud83d", "n": 1%b}}'
    answer = server.request("POST", RUN, body=body % (json.dumps(EXACT).encode(), b"0" * 50))
    assert answer.json()["reward"] == 1.0
    named = {**EXACT, "name": "\ud83d"}
    assert server.post(RUN, run_body(named)).json()["metadata"]["name"] == "\ud83d"


def test_a_body_nested_too_deeply_is_refused_and_harms_nobody(server: Server) -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    answer = server.request("POST", RUN, body=b'{"grader": {}, "model_sample": "x", "item": {"a": %b}}' % deep)
    assert answer.status == 400
    assert server.get("/healthz").status == 200


def test_validate_echoes_the_normalised_grader(server: Server) -> None:
    answer = server.post(VALIDATE, {"grader": {**EXACT, "operation": "neq", "referense": "x"}})
    assert answer.status == 200
    assert answer.json()["grader"] == {**EXACT, "operation": "ne", "referense": "x"}
    assert answer.json()["valid"] is True
    assert "Did you mean reference?" in answer.json()["warnings"][0]


def test_validate_says_that_an_invalid_grader_is_not_valid(server: Server) -> None:
    answer = server.post(VALIDATE, {"grader": {**PYTHON, "source": "def grade(:"}})
    assert (answer.status, answer.json()["valid"]) == (400, False)
    assert answer.error["param"] == "grader.source"


def rows(count: int) -> list[dict[str, Any]]:
    return [{"item": {"answer": str(index)}, "sample": str(index - index % 3)} for index in range(count)]


def test_rewards_come_in_the_order_of_the_rows(server: Server) -> None:
    answer = server.post("/v1/rewards", {"grader": EXACT, "rows": rows(2000)})
    assert answer.status == 200
    assert [result["reward"] for result in answer.json()["rewards"]] == [
        1.0 if index % 3 == 0 else 0.0 for index in range(2000)
    ]


def test_an_answer_too_long_to_be_held_is_sent_as_it_grows_and_is_the_same(server: Server) -> None:
    answer = server.post("/v1/rewards", {"grader": EXACT, "rows": rows(12_000)})
    assert answer.headers["transfer-encoding"] == "chunked"
    assert sum(result["reward"] for result in answer.json()["rewards"]) == 4000
    assert len(answer.json()["rewards"]) == 12_000


@pytest.mark.parametrize("how", ["stream", "accept"])
@pytest.mark.parametrize("grader", [EXACT, PYTHON])
def test_a_stream_is_a_result_a_line(server: Server, how: str, grader: dict[str, Any]) -> None:
    body = {"grader": grader, "rows": rows(100), **({"stream": True} if how == "stream" else {})}
    headers = {"accept": "application/x-ndjson"} if how == "accept" else {}
    answer = server.post("/v1/rewards", body, headers)
    assert answer.headers["content-type"] == "application/x-ndjson"
    results = [json.loads(line) for line in answer.body.splitlines()]
    expected = [0.25] * 100 if grader is PYTHON else [1.0 if index % 3 == 0 else 0.0 for index in range(100)]
    assert [result["reward"] for result in results] == expected


def test_a_row_that_is_no_object_fails_alone(server: Server) -> None:
    given: list[Any] = [
        *rows(1),
        7,
        None,
        "text",
        [],
        {"item": {"answer": "1"}, "sample": 5},
        {"answer": "x", "sample": "x"},
    ]
    found = server.post("/v1/rewards", {"grader": EXACT, "rows": given}).json()["rewards"]
    assert [result["status"] for result in found] == ["graded", *["error"] * 5, "graded"]
    assert found[1]["error"] == "row: expected an object, found a number (7)."
    assert found[6]["reward"] == 1.0


def test_a_deadline_is_for_the_whole_request(server: Server) -> None:
    similar = {
        "type": "text_similarity",
        "input": "{{sample.output_text}}",
        "reference": "{{item.answer}}",
        "evaluation_metric": "fuzzy_match",
        "pass_threshold": 0.5,
    }
    endless = {"item": {"answer": "ab" * 2_000_000}, "sample": "ba" * 2_000_000}
    body = {"grader": similar, "rows": [*rows(1), endless], "deadline_s": 2}
    results = server.post("/v1/rewards", body).json()["rewards"]
    assert [result["status"] for result in results] == ["graded", "error"]
    assert results[1]["metadata"]["errors"]["unresponsive_reward_error"] is True
    assert results[1]["error"] == "not graded: the deadline of 2 s for the whole call has passed."


@pytest.mark.parametrize("deadline_s", [0, -1, "2", True, [], 1e300])
def test_a_wrong_deadline_is_told(server: Server, deadline_s: Any) -> None:
    refused = server.post("/v1/rewards", {"grader": EXACT, "rows": [], "deadline_s": deadline_s})
    assert (refused.status, refused.json()["error"]["param"]) == (400, "deadline_s")
    assert refused.json()["error"]["message"].startswith("deadline_s: found ")


def test_no_rows_are_no_rewards(server: Server) -> None:
    assert server.post("/v1/rewards", {"grader": EXACT, "rows": []}).json() == {"rewards": []}


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"rows": {}}, "rows"),
        ({"rows": None}, "rows"),
        ({"stream": "yes"}, "stream"),
        ({"budget": 5}, "budget"),
        ({"budget": {"tokens": -1}}, "budget.tokens"),
        ({"budget": {"euros": 1}}, "budget.euros"),
        ({"grader": {**EXACT, "operation": "?"}}, "grader.operation"),
    ],
)
def test_wrong_rewards_requests_are_refused(server: Server, change: dict[str, Any], param: str) -> None:
    answer = server.post("/v1/rewards", {"grader": EXACT, "rows": [], **change})
    assert (answer.status, answer.error["param"]) == (400, param)


def test_500_clients_at_once_all_get_their_own_answer(server: Server) -> None:
    def ask(index: int) -> tuple[int, float]:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        try:
            sample = str(index) if index % 2 else "no"
            body = json.dumps({"grader": EXACT, "model_sample": sample, "item": {"answer": str(index)}})
            connection.request("POST", RUN, body)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())["reward"]
        finally:
            connection.close()

    with concurrent.futures.ThreadPoolExecutor(500) as clients:
        found = list(clients.map(ask, range(500)))
    assert found == [(200, float(index % 2)) for index in range(500)]


def test_a_client_that_goes_away_ends_the_work_for_it(server: Server) -> None:
    """Each row would take a second in the sandbox; soon after the client is gone nothing is graded any more."""
    slow = {**PYTHON, "source": "import time\ndef grade(sample, item):\n    time.sleep(1)\n    return 1\n"}
    body = json.dumps({"grader": slow, "rows": [{"item": {}}] * 2000}).encode()
    with server.connect() as connection:
        connection.sendall(
            b"POST /v1/rewards HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        )
        wait_for(lambda: in_flight(server) == 2)  # the other one is the look itself
    wait_for(lambda: in_flight(server) == 1)


def in_flight(server: Server) -> float:
    return server.gauge("fairmark_requests_in_flight")


def test_long_texts_do_not_keep_others_waiting_and_are_stopped_at_the_deadline(start: Any) -> None:
    """A metric over two texts of a megabyte and a half takes minutes inside one C call, which nothing can interrupt."""
    server = start(env={"FAIRMARK_PYTHON_TIMEOUT_S": "3"})
    long = {"grader": SIMILAR, "model_sample": "ab" * 750_000, "item": {"answer": "ba" * 750_000 + "x"}}
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        asked = thread.submit(server.post, RUN, long)
        wait_for(lambda: in_flight(server) == 2)
        assert server.post(RUN, run_body()).json()["reward"] == 1.0
        assert not asked.done()
        result = asked.result().json()
    assert result["status"] == "error"
    assert result["metadata"]["errors"]["unresponsive_reward_error"] is True


def test_long_rows_among_short_ones_are_graded_in_their_place(server: Server) -> None:
    long = {"item": {"answer": "a" * 200_000}, "sample": "a" * 200_000}
    given = [{"item": {"answer": "a"}, "sample": "a"}, long, {"item": {"answer": "a"}, "sample": "b"}, long]
    found = server.post("/v1/rewards", {"grader": SIMILAR, "rows": given}).json()["rewards"]
    assert [result["reward"] for result in found] == [1.0, 1.0, 0.0, 1.0]


LONG_LIST = [{"a": number, "c": "c" * 200, "b": ["x"]} for number in range(2_500)]
IN_LONG = {**EXACT, "input": "{{sample.output_text}}", "reference": "{{item.list[2499].a}}"}
CODE = {"type": "python", "source": "def grade(sample, item):\n    return item['list'][-1]['a'] / len(item['list'])\n"}


@pytest.mark.parametrize(
    ("grader", "reward"), [(IN_LONG, 1.0), (CODE, 0.9996), ({**MULTI, "graders": {"a": IN_LONG, "b": CODE}}, 0.9998)]
)
def test_a_long_item_is_graded_as_a_short_one_is(server: Server, grader: dict[str, Any], reward: float) -> None:
    long = {"answer": "2499", "list": LONG_LIST}
    assert len(json.dumps(LONG_LIST)) > LONG
    for body in (
        {"grader": grader, "model_sample": "2499", "item": long},
        {"reference_answer": "2499", "item": long, "grader": grader, "model_sample": {"output_text": "2499"}},
    ):
        result = server.post(RUN, body).json()
        assert (result["status"], result["error"]) == ("graded", None)
        assert result["reward"] == pytest.approx(reward, abs=1e-5)
    short = {"item": {"list": LONG_LIST[-1:] * 2_500}, "sample": "2499"}
    given = [short, {"item": long, "sample": "2499"}, {"item": long, "sample": "1"}, short, {"item": 1}, "none"]
    found = server.post("/v1/rewards", {"rows": given, "grader": grader}).json()["rewards"]
    assert [result["status"] for result in found] == ["graded"] * 4 + ["error"] * 2
    assert [found[place]["reward"] for place in (0, 1, 3)] == pytest.approx([reward] * 3, abs=1e-4)
    if grader is IN_LONG:
        assert found[2]["reward"] == 0.0


LONG_BODIES = {
    RUN: {"grader": EXACT, "model_sample": "x", "item": {"list": LONG_LIST}},
    "/v1/rewards": {"grader": EXACT, "rows": [{"item": {"list": LONG_LIST}, "sample": "x"}]},
}


@pytest.mark.parametrize(
    ("path", "old", "new", "code", "param"),
    [
        (RUN, '"b": ["x"]}]', '"b": ["x"}]', "invalid_json", None),
        ("/v1/rewards", '"b": ["x"]}]', '"b": ["x"}]', "invalid_json", None),
        (RUN, '["x"]', '["\xff"]', "invalid_json", None),
        ("/v1/rewards", '["x"]', '["\xff"]', "invalid_json", None),
        (RUN, '"grader"', '"greder"', "missing_required_parameter", "grader"),
        ("/v1/rewards", '"grader"', '"greder"', "missing_required_parameter", "grader"),
        (RUN, '"model_sample"', '"sample"', "missing_required_parameter", "model_sample"),
        ("/v1/rewards", '"rows"', '"row"', "missing_required_parameter", "rows"),
        (RUN, '{"list": ', '["list", ', "invalid_json", None),
        (RUN, '"x", "item": {"list"', '7, "item": {"list"', "invalid_type", "model_sample"),
        ("/v1/rewards", '"rows"', '"stream": 1, "rows"', "invalid_type", "stream"),
    ],
)
def test_what_is_wrong_with_a_long_body_is_told_as_of_a_short_one(
    server: Server, path: str, old: str, new: str, code: str, param: str | None
) -> None:
    body = json.dumps(LONG_BODIES[path]).replace(old, new).encode("latin-1")
    assert len(body) > LONG
    answer = server.request("POST", path, body=body, headers={"content-type": "application/json"})
    assert (answer.status, answer.error["code"], answer.error["param"]) == (400, code, param)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "http://8.8.8.8", "http://example.invalid/reward"])
def test_a_grader_cannot_make_the_server_ask_an_address_of_its_choosing(server: Server, url: str) -> None:
    grader = {"type": "endpoint", "url": url}
    result = server.post(RUN, run_body(grader, "Paris", item={"prompt": "Where?"})).json()
    assert (result["status"], result["reward"]) == ("error", 0.0)
    assert "is not among those that this server may ask" in result["error"]
