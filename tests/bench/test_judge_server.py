"""The benchmarks' judge answers each of those that ask it in a form that they can read. How fast stands in no test."""

import base64
import json
import struct
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from bench import judge_server, judges


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with judge_server.JudgeServer(latency_ms=1) as url:
        yield url


def ask(url: str, body: dict[str, Any], path: str = "/v1/chat/completions") -> dict[str, Any]:
    data = json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{url}{path}", data), timeout=10) as answer:  # noqa: S310
        content: dict[str, Any] = json.load(answer)
    return content


def says(url: str, **body: Any) -> dict[str, Any]:
    answer = ask(url, {"model": "some-model", "messages": [], **body})
    message: dict[str, Any] = answer["choices"][0]["message"]
    return message


def test_our_own_question_gets_a_score_with_its_steps(url: str) -> None:
    schema = {"type": "object", "properties": {"steps": {"type": "array"}, "result": {"type": "number"}}}
    form = {"type": "json_schema", "json_schema": {"name": "score", "schema": schema}}
    content = json.loads(says(url, response_format=form)["content"])
    assert content["result"] == 0.75
    assert set(content["steps"][0]) == {"description", "conclusion"}


def test_the_model_and_the_usage_are_those_of_a_real_answer(url: str) -> None:
    answer = ask(url, {"model": "some-model", "messages": []}, "/any/prefix/chat/completions")
    assert answer["model"] == "some-model"
    assert answer["usage"] == {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


def test_labels_in_a_schema_are_answered_by_the_first(url: str) -> None:
    schema = {"type": "object", "properties": {"result": {"type": "string", "enum": ["good", "bad"]}}}
    form = {"type": "json_schema", "json_schema": {"name": "label", "schema": schema}}
    assert json.loads(says(url, response_format=form)["content"]) == {"result": "good"}


def test_a_tool_is_called_with_arguments_that_fit_it(url: str) -> None:
    parameters = {"type": "object", "properties": {"reasons": {"type": "string"}, "choice": {"enum": ["A", "B"]}}}
    tool = {"type": "function", "function": {"name": "select_choice", "parameters": parameters}}
    [call] = says(url, tools=[tool])["tool_calls"]
    assert call["function"]["name"] == "select_choice"
    assert json.loads(call["function"]["arguments"])["choice"] == "A"


def test_a_grade_in_plain_text_is_answered_in_plain_text(url: str) -> None:
    assert says(url, messages=[{"role": "user", "content": "… GRADE: $LETTER"}])["content"].endswith("GRADE: C")


def test_a_score_with_probabilities_comes_with_them(url: str) -> None:
    answer = ask(url, {"model": "m", "messages": [{"role": "user", "content": "score, reason"}], "logprobs": True})
    choice = answer["choices"][0]
    score = str(json.loads(choice["message"]["content"])["score"])
    assert score in [token["token"] for token in choice["logprobs"]["content"]]


def test_embeddings_are_as_long_as_asked_for_and_equal_for_equal_texts(url: str) -> None:
    body = {"model": "m", "input": ["a text", "another", "a text"], "dimensions": 8}
    vectors = [each["embedding"] for each in ask(url, body, "/v1/embeddings")["data"]]
    assert [len(vector) for vector in vectors] == [8, 8, 8]
    assert vectors[0] == vectors[2] != vectors[1]
    coded = ask(url, {**body, "encoding_format": "base64"}, "/v1/embeddings")["data"][0]["embedding"]
    assert struct.unpack("<8f", base64.b64decode(coded)) == pytest.approx(vectors[0])


def test_an_example_fits_its_schema() -> None:
    schema = {"type": "object", "properties": {"list": {"type": "array", "items": {"type": "integer"}}}}
    assert judge_server.example(schema) == {"list": [1]}


def test_the_server_counts_what_it_serves_and_ends_with_its_with() -> None:
    server = judge_server.JudgeServer(latency_ms=0)
    with server as url:
        says(url)
        says(url)
        seen = judge_server.stats(url)
        assert (seen["requests"], seen["most_at_once"]) == (2, 1)
    assert server.process.poll() is not None


def test_our_side_of_the_benchmark_grades_every_row_and_asks_once_for_each() -> None:
    cost = judges.ours(20, 8)
    assert (cost["graded"], cost["requests"]) == (20, 21)  # and one before the time that counts
    assert cost["most_at_once"] <= 8
    assert cost["cpu_s"] > 0
