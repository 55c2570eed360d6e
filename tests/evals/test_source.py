import json
from pathlib import Path
from typing import Any

import pytest

from fairmark.errors import InvalidSource
from fairmark.evals.source import SourceRow, UploadedFile, find_file, open_source, unused_fields
from fairmark.store import Store
from fairmark.text.messages import Messages
from fairmark.text.template import Variable
from tests.evals.working import PROJECT, SAMPLED, new_file

ROWS = {"type": "file_content", "content": [{"item": {"a": "1"}}]}
SPEECH = {"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "wav"}}


def sampled(kind: str = "completions", **parameters: Any) -> dict[str, Any]:
    return {**SAMPLED, "type": kind, "source": ROWS, "sampling_params": parameters}


def messages(**given: Any) -> dict[str, Any]:
    return {**SAMPLED, "source": ROWS, "input_messages": given}


def inline(*content: Any) -> dict[str, Any]:
    return {"type": "jsonl", "source": {"type": "file_content", "content": list(content)}}


@pytest.mark.parametrize(
    ("given", "path", "code", "says"),
    [
        (5, "", "invalid_type", "a number (5)"),
        ({"source": ROWS}, ".type", "missing_required_parameter", "jsonl, completions, responses"),
        ({"type": "csv", "source": ROWS}, ".type", "invalid_value", '"csv"'),
        ({"type": "jsonl"}, ".source", "missing_required_parameter", "missing"),
        ({"type": "jsonl", "source": "f"}, ".source", "invalid_type", "a string"),
        ({"type": "jsonl", "source": {}}, ".source.type", "missing_required_parameter", "file_id"),
        ({"type": "jsonl", "source": {"type": "url"}}, ".source.type", "invalid_value", '"url"'),
        ({"type": "jsonl", "source": {"type": "file_id"}}, ".source.id", "file_not_found", "null"),
        ({"type": "jsonl", "source": {"type": "file_id", "id": ""}}, ".source.id", "file_not_found", '""'),
        ({"type": "jsonl", "source": {"type": "file_id", "id": "file-x"}}, ".source.id", "file_not_found", "file-x"),
        (inline(), ".source.content", "invalid_value", "an empty list"),
        ({"type": "jsonl", "source": {"type": "file_content"}}, ".source.content", "invalid_value", "null"),
        ({**SAMPLED, "source": ROWS, "model": None}, ".model", "missing_required_parameter", "missing"),
        ({**SAMPLED, "source": ROWS, "model": 5}, ".model", "invalid_type", "a number (5)"),
        ({**SAMPLED, "source": ROWS, "input_messages": None}, ".input_messages", "missing_required_parameter", "item"),
        ({**SAMPLED, "source": ROWS, "input_messages": "hello"}, ".input_messages", "invalid_value", "hello"),
        (messages(type="template"), ".input_messages", "invalid_value", "template"),
        (messages(type="template", template=[]), ".input_messages.template", None, "messages"),
        (
            messages(type="template", template=[{"role": "king", "content": "x"}]),
            ".input_messages.template[0].role",
            "invalid_value",
            "king",
        ),
        (
            messages(type="template", template=[{"role": "user", "content": "{{ sample.output_text }}"}]),
            ".input_messages.template",
            "invalid_value",
            "no sample yet",
        ),
        (
            messages(type="template", template=[{"role": "user", "content": "{{ row.x }}"}]),
            ".input_messages.template[0].content",
            "invalid_value",
            "namespace",
        ),
        (messages(type="item_reference", item_reference="messages"), ".input_messages.item_reference", None, "item."),
        (messages(type="item_reference", item_reference=""), ".input_messages.item_reference", None, "item."),
        (messages(type="item_reference", item_reference="sample.x"), ".input_messages.item_reference", None, "item"),
        ({**SAMPLED, "source": ROWS, "sampling_params": 5}, ".sampling_params", "invalid_value", "a number"),
        (sampled(temperature="hot"), ".sampling_params.temperature", "invalid_type", "hot"),
        (sampled(max_completion_tokens=0), ".sampling_params.max_completion_tokens", "invalid_value", "1 or more"),
        (sampled(reasoning_effort="huge"), ".sampling_params.reasoning_effort", "invalid_value", "huge"),
        (sampled(response_format={"type": "xml"}), ".sampling_params.response_format", "invalid_value", "json_object"),
        (sampled(response_format="json"), ".sampling_params.response_format", "invalid_value", "json_object"),
        (sampled("responses", text={"format": {"type": "x"}}), ".sampling_params.text.format", None, "json_object"),
        (sampled("responses", text="json"), ".sampling_params.text", "invalid_type", '"json"'),
        (sampled(tools={}) | {"sampling_params": {"tools": "all"}}, ".sampling_params.tools", None, "128"),
        (
            sampled(tools=[{"type": "function", "function": {"name": "f"}}] * 129),
            ".sampling_params.tools",
            "invalid_value",
            "128",
        ),
        (sampled(tools=[{"type": "web_search"}]), ".sampling_params.tools[0].type", "unsupported_tool", "web"),
        (
            sampled("responses", tools=[{"type": "mcp", "server_url": "x"}, {"name": "f"}]),
            ".sampling_params.tools[1]",
            "invalid_value",
            "a type",
        ),
        (sampled("responses", tools=[{"type": "mcp"}] * 129), ".sampling_params.tools", "invalid_value", "128"),
        (sampled(tools=[5]), ".sampling_params.tools[0]", "invalid_value", "function"),
        (inline({"item": {}}, "x"), ".source.content[1]", "invalid_value", "a string"),
        (inline({"item": {}}, {"item": {}}, None), ".source.content[2]", "invalid_value", "null"),
    ],
)
def test_a_source_that_cannot_be_used_is_refused_with_its_path(
    given: Any, path: str, code: str | None, says: str
) -> None:
    with pytest.raises(InvalidSource) as refused:
        open_source(given).check()
    assert refused.value.path == f"data_source{path}"
    assert refused.value.code == code or code is None
    assert says in str(refused.value)


def uploaded(tmp_path: Path, content: str | bytes, name: str = "rows.jsonl") -> UploadedFile:
    path = tmp_path / "file-0123"  # as the store has it: without an ending
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return UploadedFile(path, name)


BY_ID = {"type": "jsonl", "source": {"type": "file_id", "id": "file-0123"}}


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        ('{"item": {"a": 1}}\n{"item": {"a": 2}, "sample": {"output_text": "x"}}\n', "rows.jsonl", None),
        ('\ufeff{"item": {"a": 1}}\r\n\r\n{"item": {"a": 2}, "sample": {"output_text": "x"}}\r\n', "rows.json", None),
        ('{"a": 1}\n{"a": 2, "sample": {"output_text": "x"}}', "rows.jsonl", None),
        ('[{"item": {"a": 1}},\n {"item": {"a": 2}, "sample": {"output_text": "x"}}]', "rows.json", None),
        ("a\n1\n2\n", "Rows.CSV", [("1", None), ("2", None)]),
        ('a,sample\n1,x\n2,"y, z"\n', "rows.csv", [("1", "x"), ("2", "y, z")]),
    ],
)
def test_files_are_read_as_jsonl_one_array_or_csv(
    tmp_path: Path, content: str, name: str, expected: list[tuple[str, str | None]] | None
) -> None:
    source = open_source(BY_ID, uploaded(tmp_path, content, name))
    assert source.check() == 2
    found = list(source.rows())
    if expected is None:
        assert found == [SourceRow(0, {"a": 1}, None), SourceRow(1, {"a": 2}, {"output_text": "x"})]
    else:
        assert found == [SourceRow(at, {"a": a}, sample) for at, (a, sample) in enumerate(expected)]


@pytest.mark.parametrize(
    ("content", "name", "says"),
    [
        ('{"a": 1}\n\n{"a": 2\n', "rows.jsonl", "line 3: not JSON"),
        ('{"a": 1}\n[1]\n', "rows.jsonl", "line 2"),
        ('{"a": 1}\n"x"\n', "rows.jsonl", "line 2: row: expected an object"),
        (b'{"a": 1}\n{"a": "\xff"}\n', "rows.jsonl", "line 2: not JSON"),
        ('[{"a": 1}, 5]', "rows.json", "element 2"),
        ('[{"a": 1}', "rows.json", "not a JSON array"),
        ("a,b\n1,2\n3\n", "rows.csv", "line 3: it has 1 values, the header has 2"),
        ("", "rows.jsonl", "there are no rows in it"),
        ("\n\n", "rows.jsonl", "there are no rows in it"),
        ("a,b\n", "rows.csv", "there are no rows in it"),
        ('{"a": 1}\n{"a": ' + "[" * 300 + "]" * 300 + "}\n", "rows.jsonl", "line 2: row: nested deeper than 200"),
    ],
)
def test_the_first_bad_line_of_a_file_is_told_by_its_number(
    tmp_path: Path, content: str | bytes, name: str, says: str
) -> None:
    with pytest.raises(InvalidSource) as refused:
        open_source(BY_ID, uploaded(tmp_path, content, name)).check()
    assert says in str(refused.value)
    assert refused.value.path == "data_source.source.id"
    assert str(tmp_path) not in str(refused.value)


def test_a_file_that_was_deleted_is_told_without_its_place_on_disk(tmp_path: Path) -> None:
    file = uploaded(tmp_path, "{}")
    file.path.unlink()
    with pytest.raises(InvalidSource, match=r"content is not on this server: it was deleted") as refused:
        open_source(BY_ID, file).check()
    assert str(tmp_path) not in str(refused.value)


def test_positions_count_rows_and_not_lines(tmp_path: Path) -> None:
    rows = open_source(BY_ID, uploaded(tmp_path, '\n{"a": 1}\n\n\n{"a": 2}\n')).rows()
    assert [row.position for row in rows] == [0, 1]


def test_an_inline_row_is_an_item_with_or_without_a_sample_or_a_flat_object() -> None:
    source = open_source(inline({"item": {"a": 1}, "sample": {"output_text": "x"}}, {"item": {}}, {"a": 2}))
    assert [(row.item, row.sample) for row in source.rows()] == [
        ({"a": 1}, {"output_text": "x"}),
        ({}, None),
        ({"a": 2}, None),
    ]


async def test_a_file_is_found_by_its_id_in_its_own_project_only(store: Store) -> None:
    source = {"source": await new_file(store, b'{"a": 1}', "rows.csv")}
    found = await find_file(store, PROJECT, source)
    assert found is not None
    assert (found.path.read_bytes(), found.name) == (b'{"a": 1}', "rows.csv")
    assert await find_file(store, "another", source) is None
    for other in ("", "file-unknown", "../../etc/passwd", "x\0y", None, 5):
        assert await find_file(store, PROJECT, {"source": {"type": "file_id", "id": other}}) is None
    assert await find_file(store, PROJECT, {"source": ROWS}) is None


@pytest.mark.parametrize(
    "given",
    [
        {"type": "jsonl", "source": ROWS},
        {"type": "jsonl", "source": ROWS, "model": "m", "input_messages": "ignored"},
        {"type": "completions", "source": ROWS},
        {"type": "responses", "source": ROWS, "sampling_params": {"temperature": 0}},
    ],
)
def test_without_model_and_messages_nothing_is_sampled(given: dict[str, Any]) -> None:
    assert open_source(given).sampling is None


SCHEMA = {"name": "answer", "schema": {"type": "object"}, "strict": True}
TOOL = {"name": "look_up", "parameters": {"type": "object"}}


@pytest.mark.parametrize(
    ("given", "sampling", "more"),
    [
        (sampled(temperature=0.5, seed=42, top_p=1), {"temperature": 0.5, "seed": 42, "top_p": 1}, {}),
        (sampled(max_completion_tokens=5), {"max_completions_tokens": 5}, {}),
        (sampled(max_completions_tokens=5, temperature=None), {"max_completions_tokens": 5}, {}),
        (sampled(max_tokens=5), {"max_completions_tokens": 5}, {}),
        (sampled(response_format={"type": "text"}), None, {}),
        (sampled(response_format={"type": "json_object"}), None, {"response_format": {"type": "json_object"}}),
        (
            sampled(response_format={"type": "json_schema", "json_schema": SCHEMA}),
            None,
            {"response_format": {"type": "json_schema", "json_schema": SCHEMA}},
        ),
        (
            sampled("responses", text={"format": {"type": "json_schema", **SCHEMA}}),
            None,
            {"response_format": {"type": "json_schema", "json_schema": SCHEMA}},
        ),
        (sampled("responses", text={"format": {"type": "text"}}), None, {}),
        (
            sampled(tools=[{"type": "function", "function": TOOL}]),
            None,
            {"tools": [{"type": "function", "function": TOOL}]},
        ),
        (
            sampled("responses", tools=[{"type": "function", **TOOL}]),
            None,
            {"tools": [{"type": "function", "function": TOOL}]},
        ),
        (sampled() | SPEECH, None, SPEECH),
    ],
)
def test_sampling_parameters_become_those_of_chat_completions(
    given: dict[str, Any], sampling: dict[str, Any] | None, more: dict[str, Any]
) -> None:
    found = open_source(given).sampling
    assert found is not None
    assert found.more == more
    assert sampling is None or found.sampling == sampling


def test_messages_are_a_template_or_a_path_into_the_item() -> None:
    template = open_source(sampled()).sampling
    reference = open_source(messages(type="item_reference", item_reference="item.chats[0]")).sampling
    assert template is not None
    assert isinstance(template.messages, Messages)
    assert reference is not None
    assert isinstance(reference.messages, Variable)
    assert str(reference.messages) == "{{ item.chats[0] }}"


def test_a_file_is_read_line_by_line(tmp_path: Path) -> None:
    """The second of two rows is not looked at before it is asked for."""
    file = uploaded(tmp_path, json.dumps({"a": "x" * 100_000}) + "\n" + "not JSON\n")
    rows = open_source(BY_ID, file).rows()
    assert next(rows).position == 0
    with pytest.raises(InvalidSource, match="line 2"):
        next(rows)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"item": "x"}, 'item: found a string ("x"). A row is'),
        ({"item": None, "a": 1}, "item: found null. A row is"),
        ({"sample": {}}, "item: missing. The row has: sample. A row is"),
        ({"itme": {}}, "item: missing. The row has: itme. A row is"),
        ({}, "item: missing. A row is"),
    ],
)
def test_a_row_in_the_request_has_an_item(row: Any, says: str) -> None:
    with pytest.raises(InvalidSource) as failure:
        open_source(inline({"item": {"a": "1"}}, row)).check()
    assert failure.value.path == "data_source.source.content[1]"
    assert says in str(failure.value)


JSON_FORMAT = {"type": "json_object"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (sampled(temperature=0, max_tokens=5, response_format=JSON_FORMAT, modalities=["text"], top_k=None), []),
        (sampled("responses", max_completions_tokens=5, text={"format": JSON_FORMAT}), []),
        (
            sampled(temprature=0, stop="\n"),
            [
                "sampling_params.temprature: not used in a run of type completions. Did you mean temperature?",
                "sampling_params.stop: not used in a run of type completions.",
            ],
        ),
        (
            sampled(text={"format": JSON_FORMAT}),
            ["sampling_params.text: not used in a run of type completions. Use response_format."],
        ),
        (
            sampled("responses", response_format=JSON_FORMAT),
            ["sampling_params.response_format: not used in a run of type responses. Use text.format."],
        ),
        (
            sampled("responses", tool_choice="auto"),
            ["sampling_params.tool_choice: not used in a run of type responses."],
        ),
        (sampled("responses", tool_choice="auto", tools=[{"type": "web_search"}]), []),
        (
            {**inline({"item": {}}), "model": "m", "input_messages": SAMPLED["input_messages"]},
            [
                f"{name}: not used: a run of type jsonl grades its rows as they are. Use type completions or responses "
                "to ask a model."
                for name in ("model", "input_messages")
            ],
        ),
        ({"type": "completions", "source": ROWS, "sampling_params": {"stop": "x"}}, []),
    ],
)
def test_what_a_data_source_says_in_vain_is_told(given: dict[str, Any], told: list[str]) -> None:
    assert open_source(given).check() == 1
    assert unused_fields(given) == [f"data_source.{text}" for text in told]
