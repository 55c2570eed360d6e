"""What the form of a new eval asks of the server: forms of kinds, problems by grader, and what was pasted."""

import json
from typing import Any

import pytest

from tests.server.client import EXACT, Server
from tests.web.forms import get, post_json

ASKED = [{"role": "user", "content": "Good?"}]


def asked(server: Server, path: str, **body: Any) -> dict[str, Any]:
    answer = post_json(server, path, body)
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json()
    return found


def problems(server: Server, text: str) -> list[tuple[Any, ...]]:
    found = asked(server, "/evals/new/check", graders=text)["problems"]
    return [(each["grader"], each["path"], each["isWarning"]) for each in found]


@pytest.mark.parametrize(
    ("graders", "expected"),
    [
        ("", []),
        (json.dumps(EXACT), []),
        (json.dumps([EXACT, {**EXACT, "operation": "equals"}]), [(1, "$.operation", False)]),
        (json.dumps([{"type": "nothing", "name": "x"}, 7]), [(0, "$.type", False), (1, "$", False)]),
        ("[{]", [(None, "$", False)]),
        (
            json.dumps({"type": "score_model", "name": "j", "model": "nobody", "input": ASKED, "range": [0, 1]}),
            [(0, "$.model", True)],
        ),
    ],
)
def test_problems_are_told_by_grader_and_place(server: Server, graders: str, expected: list[Any]) -> None:
    assert problems(server, graders) == expected


def test_every_kind_that_grades_has_its_form_and_a_beginning(server: Server) -> None:
    for kind in ("string_check", "score_model", "multi", "function"):
        answer = get(server, f"/evals/new/forms/{kind}")
        assert answer.status == 200
        assert f'data-kind="{kind}"' in answer.body.decode()
        assert "Name of the criterion" in answer.body.decode()
    assert get(server, "/evals/new/forms/nothing").status == 404


def test_what_was_pasted_comes_back_as_the_form_holds_it(server: Server) -> None:
    body = {
        "name": "E",
        "data_source_config": {"type": "custom", "item_schema": {"type": "object"}},
        "testing_criteria": [{"type": "registered", "key": "strict"}, {**EXACT, "id": "exact-1"}],
        "object": "eval",
    }
    found = asked(server, "/evals/new/paste", text=json.dumps(body))
    assert (found["what"], found["name"], found["picked"]) == ("eval", "E", ["strict"])
    assert json.loads(found["graders"]) == EXACT
    assert json.loads(found["schema"]) == {"type": "object"}
    assert found["words"] == "Filled in: 2 criteria. Left out: object."


@pytest.mark.parametrize(
    ("text", "words"), [("{", "neither JSON"), ('{"data_source": {}}', "This is a run"), (7, "string")]
)
def test_what_cannot_be_used_is_an_error_in_words(server: Server, text: object, words: str) -> None:
    answer = post_json(server, "/evals/new/paste", {"text": text})
    assert answer.status == 400
    assert words in answer.json()["error"]["message"]
