"""What is pasted is known for what it is: bodies of the API, graders, and curl commands of several shells."""

import json

import pytest

from fairmark.errors import InvalidData
from fairmark.web.evals.pasting import read, split_references

GRADER = {"type": "string_check", "name": "it's", "input": "a\\b", "operation": "eq", "reference": "$x"}
EVAL = {"name": "E", "data_source_config": {"type": "custom"}, "testing_criteria": [GRADER]}
RUN = {"name": "R", "data_source": {"type": "jsonl", "source": {"type": "file_id", "id": "file-1"}}}
QUOTED = json.dumps(EVAL).replace("'", "'\\''")


@pytest.mark.parametrize(
    ("text", "what", "value"),
    [
        (json.dumps(EVAL), "eval", EVAL),
        (f"\N{BYTE ORDER MARK}\n {json.dumps(GRADER, indent=2)}\n", "graders", [GRADER]),
        (json.dumps([GRADER, GRADER]), "graders", [GRADER, GRADER]),
        (json.dumps({"grader": GRADER, "item": {}, "model_sample": "x"}), "graders", [GRADER]),
        (json.dumps(RUN), "run", RUN),
        (json.dumps(RUN["data_source"]), "run", {"data_source": RUN["data_source"]}),
        (f"curl https://h.test/v1/evals -H 'A: B' -d '{QUOTED}'", "eval", EVAL),
        (f"$ curl -X POST https://h.test \\\n  --data-raw '{QUOTED}' \\\r\n  --compressed", "eval", EVAL),
        (f"curl.exe --json='{QUOTED}' https://h.test", "eval", EVAL),
        ('curl h.test -d"{\\"type\\": \\"python\\"}"', "graders", [{"type": "python"}]),
        ('curl h.test --data-raw $\'{"type": "python"}\'', "graders", [{"type": "python"}]),
        ('curl h.test -d \'{"type":\n "python"}\'', "graders", [{"type": "python"}]),
    ],
)
def test_it_is_known_for_what_it_is(text: str, what: str, value: object) -> None:
    assert read(text) == (what, value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (" \n", "There is nothing in it"),
        ("client.evals.create()", "neither JSON"),
        ("[]", "Found a list of 0"),
        ("[1]", "Found a list"),
        ('"x"', "Found a string"),
        ('{"messages": []}', "has messages, and no part by which it is known"),
        ("curl https://h.test", "sends nothing"),
        ("curl https://h.test -d @eval.json", "sends the file eval.json, which is not in it"),
        ("curl https://h.test -d '{", "is cut off: no closing quotation"),
        ("curl https://h.test -d a=b", "neither JSON"),
    ],
)
def test_of_anything_else_it_is_said_why_not(text: str, words: str) -> None:
    with pytest.raises(InvalidData) as told:
        read(text)
    assert words.lower() in str(told.value).lower()


def test_references_that_change_nothing_are_keys_and_the_rest_stays() -> None:
    plain = {"type": "registered", "key": "exact", "id": "x-1"}
    named = {"type": "registered", "key": "exact", "name": "strict"}
    assert split_references([plain, named, GRADER]) == (["exact"], [named, GRADER])
