"""Numbers that a request may write and that fit nowhere: refused where they are given, not where they are used."""

from typing import Any

import pytest

from tests.server.client import EXACT, Server

EVAL = {"data_source_config": {"type": "custom", "item_schema": {}}, "testing_criteria": [EXACT]}
ROWS = {"type": "jsonl", "source": {"type": "file_content", "content": [{"item": {"answer": "a"}, "sample": "a"}]}}


@pytest.mark.parametrize(
    ("options", "param"),
    [
        ({"deadline_s": 10**400}, "deadline_s"),
        ({"budget": {"tokens": 10**400}}, "budget.tokens"),
        ({"budget": {"dollars": 10**400}}, "budget.dollars"),
    ],
)
def test_a_limit_of_a_run_that_no_float_holds_is_refused(server: Server, options: dict[str, Any], param: str) -> None:
    eval_id = server.post("/v1/evals", EVAL).json()["id"]
    answer = server.post(f"/v1/evals/{eval_id}/runs", {"data_source": ROWS, **options})
    assert (answer.status, answer.error["param"], answer.error["code"]) == (400, param, "invalid_value")


@pytest.mark.parametrize("limit", ["%D9%A3", "%EF%BC%93", "3.0", "+3", "-3", "0", "101", "1" * 5000])
def test_the_length_of_a_page_is_written_in_plain_digits(server: Server, limit: str) -> None:
    answer = server.get(f"/v1/evals?limit={limit}")
    assert (answer.status, answer.error["param"]) == (400, "limit")


def test_an_empty_parameter_of_a_list_is_as_good_as_none(server: Server) -> None:
    server.post("/v1/evals", EVAL)
    assert server.get("/v1/evals?limit=&order=&order_by=&after=").json() == server.get("/v1/evals").json()
