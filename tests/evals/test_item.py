import json
from typing import Any

import pytest

from fairmark.evals.item import encode_item, given_sample, made_sample
from fairmark.evals.sampling import Sampled
from fairmark.evals.source import SourceRow, open_source
from fairmark.store import ids
from tests.evals.working import SAMPLED

NOTHING: dict[str, Any] = {
    "input": [],
    "output": [],
    "finish_reason": "stop",
    "model": "",
    "usage": {"total_tokens": 0, "completion_tokens": 0, "prompt_tokens": 0, "cached_tokens": 0},
    "error": None,
    "temperature": 1.0,
    "max_completion_tokens": 0,
    "top_p": 1.0,
    "seed": 0,
}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def said(content: str, **more: Any) -> list[dict[str, Any]]:
    empty = {"tool_calls": None, "tool_call_id": None, "function_call": None}
    return [{"role": "assistant", "content": content, **empty, **more}]


def test_an_item_has_the_fields_of_the_wire_and_the_bare_item_of_its_row() -> None:
    row = SourceRow(7, {"a": "1"}, None)
    results = [{"name": "exact-1", "score": 1.0, "passed": True}]
    body = encode_item("eval_1", "evalrun_1", 1_767_225_600, row, "pass", results, NOTHING)
    assert json.loads(body) == {
        "object": "eval.run.output_item",
        "id": ids.of_item("evalrun_1", 7),
        "run_id": "evalrun_1",
        "eval_id": "eval_1",
        "created_at": 1_767_225_600,
        "status": "pass",
        "datasource_item_id": 7,
        "datasource_item": {"a": "1"},
        "results": results,
        "sample": NOTHING,
    }


@pytest.mark.parametrize("given", [None, {}, 5, ["x"]])
def test_a_row_without_a_readable_sample_shows_none(given: Any) -> None:
    assert given_sample(given) == NOTHING


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("Paris", {"output": said("Paris")}),
        ("", {"output": said("")}),
        ({"output_text": ""}, {"output": said("")}),
        ({"output_text": "", "output_tools": [CALL]}, {"output": said("", tool_calls=[CALL])}),
        ({"output_text": "I look.", "output_tools": [CALL]}, {"output": said("I look.", tool_calls=[CALL])}),
        ({"output_tools": [CALL]}, {"output": said("", tool_calls=[CALL])}),
        ({"output_text": "Paris", "output_tools": []}, {"output": said("Paris")}),
        ({"output_text": "Paris", "output_tools": "f"}, {"output": said("Paris")}),
        (
            {"output_tools": [CALL], "choices": [{"message": {"role": "assistant", "content": "I look."}}]},
            {"output": said("I look.", tool_calls=[CALL])},
        ),
        ({"output_text": "Paris"}, {"output": said("Paris")}),
        ({"model": "m", "output_text": "Paris"}, {"output": said("Paris"), "model": "m"}),
        (
            {
                "model": "m",
                "choices": [
                    {"message": {"role": "assistant", "content": None, "tool_calls": [CALL]}, "finish_reason": "length"}
                ],
                "usage": {
                    "prompt_tokens": 10,
                    "completion_tokens": 5,
                    "total_tokens": 15,
                    "prompt_tokens_details": {"cached_tokens": 4},
                },
            },
            {
                "output": said("", tool_calls=[CALL]),
                "model": "m",
                "finish_reason": "length",
                "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "cached_tokens": 4},
            },
        ),
        ({"choices": [{"message": {"content": [{"type": "text", "text": "Pa"}, "ris"]}}]}, {"output": said("Paris")}),
    ],
)
def test_a_rows_own_sample_is_shown_as_messages(given: Any, shown: dict[str, Any]) -> None:
    assert given_sample(given) == {**NOTHING, **shown}


def test_a_made_sample_shows_what_was_asked_how_and_what_came() -> None:
    parameters = {"temperature": 0.2, "top_p": 0.9, "seed": 42, "max_completion_tokens": 64}
    source = {"type": "file_content", "content": [{}]}
    how = open_source({**SAMPLED, "source": source, "sampling_params": parameters}).sampling
    assert how is not None
    image = {"type": "image_url", "image_url": {"url": "http://x/y"}}
    sampled = Sampled(
        [{"role": "user", "content": [{"type": "text", "text": "What is "}, image]}],
        {
            "model": "student-2026",
            "choices": [{"message": {"role": "assistant", "content": "A cat."}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        },
    )
    asked = {"role": "user", "content": "What is <image>http://x/y</image>"}
    assert made_sample(sampled, how) == {
        "input": [{**asked, "tool_calls": None, "tool_call_id": None, "function_call": None}],
        "output": said("A cat."),
        "finish_reason": "stop",
        "model": "student-2026",
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "cached_tokens": 0},
        "error": None,
        "temperature": 0.2,
        "max_completion_tokens": 64,
        "top_p": 0.9,
        "seed": 42,
    }
    failed = made_sample(Sampled([], {}, error="it answered 503", code="model_grader_server_error"), how)
    assert failed["error"] == {"code": "model_grader_server_error", "message": "it answered 503"}
    assert (failed["output"], failed["model"], failed["input"]) == ([], "house/student", [])
