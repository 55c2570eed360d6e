"""A run that was pasted, field by field: what the form has no field for stays JSON, or is said."""

import json
from typing import Any

from fairmark.web.runs.filling import as_filled

TEMPLATE = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "{{ item.q }}"}]


def run(**source: Any) -> dict[str, Any]:
    return as_filled({"name": "R", "data_source": {"type": "completions", "model": "m", **source}})


def test_prompts_parameters_limits_and_metadata_go_to_their_fields() -> None:
    parameters = {"temperature": 0.5, "max_tokens": 100, "seed": 7, "reasoning_effort": "low", "tools": [{}]}
    messages = {"type": "template", "template": TEMPLATE}
    body = {"type": "completions", "model": "m", "input_messages": messages, "sampling_params": parameters}
    found = as_filled(
        {
            "name": "R",
            "data_source": body,
            "metadata": {"team": "geo"},
            "budget": {"dollars": 1.5},
            "deadline_s": 90,
            "colour": "red",
        }
    )
    assert json.loads(found["fields"].pop("parameters")) == {"tools": [{}]}
    assert found["fields"] == {
        "name": "R",
        "answers": "model",
        "model": "m",
        "system": "Be brief.",
        "prompt": "{{ item.q }}",
        "temperature": "0.5",
        "max_tokens": "100",
        "seed": "7",
        "reasoning_effort": "low",
        "dollars": "1.5",
        "tokens": "",
        "minutes": "1.5",
    }
    assert found["metadata"] == [["team", "geo"]]
    assert found["words"] == "Filled in. Left out: colour."


def test_messages_that_are_no_two_prompts_stay_whole() -> None:
    for messages in (
        {"type": "item_reference", "item_reference": "item.chat"},
        {"type": "template", "template": [*TEMPLATE, {"role": "assistant", "content": "x"}]},
        {"type": "template", "template": [{"role": "user", "content": [{"type": "input_text", "text": "x"}]}]},
    ):
        fields = run(input_messages=messages)["fields"]
        assert json.loads(fields["messages"]) == messages
        assert "prompt" not in fields


def test_rows_in_it_become_a_file_and_files_are_named() -> None:
    rows = [{"item": {"q": "ü"}, "sample": "x"}, {"item": {"q": 2}}]
    found = as_filled({"data_source": {"type": "jsonl", "source": {"type": "file_content", "content": rows}}})
    assert [json.loads(line) for line in found["rows"].splitlines()] == rows
    assert found["fields"]["answers"] == "rows"
    named = run(source={"type": "file_id", "id": "file-1"})
    assert (named["fields"]["file_id"], named["rows"]) == ("file-1", "")


def test_what_is_of_the_wrong_shape_is_left_out_and_breaks_nothing() -> None:
    body = {"name": 7, "data_source": [], "metadata": "x", "budget": 3, "deadline_s": "soon"}
    assert as_filled(body)["fields"] == {"name": "7", "answers": "rows"}
    assert run(input_messages=None, sampling_params=[1])["fields"]["model"] == "m"
