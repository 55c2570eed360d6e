"""Streams folded into what they tell."""

import json
from typing import Any

import pytest

from fairmark.completions.folding import BrokenStream, fold_chat, fold_response
from tests.completions.provider import chat_chunks, completion, response, response_events

TOOL = {"type": "function", "function": {"name": "look"}}


def stream(*events: Any, done: bool = True) -> bytes:
    told = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    return (told + ("data: [DONE]\n\n" if done else "")).encode()


def delta(index: int = 0, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": index, "delta": more, "finish_reason": finish}]}


@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("tools", [[], [TOOL]])
def test_a_stream_of_chunks_becomes_the_completion_it_tells(tools: list[Any], ends: bytes) -> None:
    made = completion({"model": "m", "messages": [{"role": "user", "content": "grüße"}], "tools": tools}, 1)
    told = b": a comment\n\n" + b"".join(chat_chunks(made))
    assert fold_chat(told.replace(b"\n", ends)) == made


def test_choices_tool_calls_and_what_nobody_knows_go_to_their_likes() -> None:
    folded = fold_chat(
        stream(
            {"id": "", "choices": [], "prompt_filter_results": [1]},
            delta(1, content="b", reasoning_content="be"),
            delta(0, role="assistant", content="a", refusal=None),
            delta(1, content="c", reasoning_content="cause"),
            delta(
                0,
                tool_calls=[{"index": 1, "id": "t1", "type": "function", "function": {"name": "g", "arguments": "{"}}],
            ),
            delta(0, tool_calls=[{"index": 0, "id": "t0", "type": "function", "function": {"name": "f"}}]),
            delta(0, tool_calls=[{"index": 1, "id": "t1", "function": {"arguments": "}"}}]),
            {"id": "c", "choices": [{"index": 0, "delta": {}, "logprobs": {"content": [{"token": "a"}]}}]},
            {"id": "c", "choices": [{"index": 0, "delta": {}, "logprobs": {"content": [{"token": "b"}]}}]},
            delta(0, "tool_calls"),
            delta(1, "stop"),
            {"id": "c", "choices": [], "usage": {"total_tokens": 3}},
        )
    )
    first, second = folded["choices"]
    assert folded["id"] == "c"
    assert folded["usage"] == {"total_tokens": 3}
    assert first["message"]["content"] == "a"
    assert first["message"]["tool_calls"] == [
        {"id": "t0", "type": "function", "function": {"name": "f"}},
        {"id": "t1", "type": "function", "function": {"name": "g", "arguments": "{}"}},
    ]
    assert first["logprobs"] == {"content": [{"token": "a"}, {"token": "b"}]}
    assert (first["finish_reason"], second["finish_reason"]) == ("tool_calls", "stop")
    assert (second["message"]["content"], second["message"]["reasoning_content"]) == ("bc", "because")


def test_what_every_chunk_says_again_is_said_once_in_the_end() -> None:
    found = {"hate": {"filtered": False, "severity": "safe"}, "custom_blocklists": {"details": [{"id": "list"}]}}
    chunks = [delta(content="a"), delta(content="b"), delta(0, "stop")]
    for number, chunk in enumerate(chunks):
        chunk["choices"][0]["content_filter_results"] = found
        chunk["obfuscation"] = "x" * number
    folded = fold_chat(stream(*chunks))
    assert folded["choices"][0]["content_filter_results"] == found
    assert folded["choices"][0]["message"]["content"] == "ab"
    assert "obfuscation" not in folded


@pytest.mark.parametrize(
    "told",
    [
        b"",
        b"data: [DONE]\n\n",
        b"data: {\n\n",
        b"data: 5\n\n",
        stream(delta(content="a")),
        stream(delta(0, "stop", content="a"), delta(1, content="b")),
        stream(delta(0, "stop", content="a"), {"error": {"message": "overloaded"}}),
    ],
)
def test_what_did_not_come_to_its_end_is_broken(told: bytes) -> None:
    with pytest.raises(BrokenStream):
        fold_chat(told)


def test_an_end_without_the_last_word_is_an_end() -> None:
    assert fold_chat(stream(delta(0, "stop", content="a"), done=False))["choices"][0]["message"]["content"] == "a"


def test_a_response_is_what_its_last_event_holds() -> None:
    made = response({"model": "m", "input": "hello"}, 1)
    events = response_events(made)
    assert fold_response(b"".join(events)) == made
    with pytest.raises(BrokenStream):
        fold_response(b"".join(events[:-1]))
    with pytest.raises(BrokenStream):
        fold_response(stream({"type": "response.failed", "response": made}))
    cut_off = {"type": "response.incomplete", "response": {**made, "status": "incomplete"}}
    assert fold_response(stream(cut_off))["status"] == "incomplete"
