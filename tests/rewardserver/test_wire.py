"""Requests into rows, results into responses: Adaptive's contract and OpenRLHF's, without a server."""

import json
from typing import Any

import pytest

from fairmark.errors import Refusal
from fairmark.judgement import Judgement
from fairmark.parse import parse
from fairmark.result import Grade, Result
from fairmark.rewardserver import wire

SPEC = parse({"type": "string_check", "input": "a", "reference": "a", "operation": "eq"})


def result(reward: float = 1.0, **grade: Any) -> Result:
    return Result(SPEC, Grade(reward, **grade), 0.0)


def request(*turns: tuple[str, str], metadata: Any = None) -> wire.RewardRequest:
    said = [{"role": role, "content": content} for role, content in turns]
    return wire.read(json.dumps({"turns": said, "metadata": metadata}).encode(), wire.RewardRequest)


def test_the_assistants_last_turn_is_the_sample_and_the_rest_the_item() -> None:
    row = wire.row_of(request(("user", "Hi"), ("assistant", "Yo"), metadata={"a": 1, "messages": "covered"}))
    assert row == {"item": {"a": 1, "messages": [{"role": "user", "content": "Hi"}]}, "sample": "Yo"}
    asked = wire.row_of(request(("assistant", "Yo"), ("user", "Hi")))
    assert (asked["sample"], len(asked["item"]["messages"])) == (None, 2)
    assert wire.row_of(request()) == {"item": {"messages": []}, "sample": None}


@pytest.mark.parametrize(
    ("body", "kind", "loc"),
    [
        (b"{", "json_invalid", ["body"]),
        (b'{"turns": []}', "value_error", ["body"]),
        (b'{"turns": [{"role": "user"}], "metadata": null}', "value_error", ["body", "turns", 0]),
        (b'{"turns": [], "metadata": null, "odd": 1}', "extra_forbidden", ["body"]),
        (b'{"turns": 5, "metadata": null}', "value_error", ["body", "turns"]),
    ],
)
def test_what_does_not_fit_is_a_422_with_its_place(body: bytes, kind: str, loc: list[Any]) -> None:
    with pytest.raises(Refusal) as refused:
        wire.read(body, wire.RewardRequest)
    [told] = refused.value.detail
    assert (refused.value.status, told["type"], told["loc"]) == (422, kind, loc)


def test_half_an_emoji_is_read() -> None:
    body = b'{"turns": [{"role": "user", "content": "\\ud83d"}], "metadata": null}'
    assert wire.read(body, wire.RewardRequest).turns[0].content == "\ud83d"


@pytest.mark.parametrize(
    ("query", "prompt", "sample"),
    [
        ("Q: a? A: b</s>", "Q: a? A: ", "b"),
        ("b<|im_end|>\n<|endoftext|>", "", "b"),
        ("b <\uff5cend\uff5c> <pad><pad>", "", "b"),
        ("a </s> b", "", "a </s> b"),
        ("other", "Q:", "other"),
    ],
)
def test_the_sample_is_the_query_without_its_prompt_and_the_marks_at_its_end(
    query: str, prompt: str, sample: str
) -> None:
    [row] = wire.rows_of(wire.RemoteReward([query], [prompt], [{"answer": "x"}]))
    assert row["sample"] == sample
    assert row["item"] == {"answer": "x", "query": query, "prompt": prompt, "label": {"answer": "x"}}


def test_columns_have_the_same_length() -> None:
    with pytest.raises(Refusal) as refused:
        wire.rows_of(wire.RemoteReward(["a", "b"], labels=["x"]))
    assert refused.value.detail[0]["msg"] == "1 labels for 2 queries; there must be as many"


def test_a_response_tells_only_what_there_is_to_tell() -> None:
    assert wire.response(result(), 7) == {"reward": 1.0, "metadata": {"status": "graded", "passed": True}, "id": 7}
    failed = wire.response(result(0.0, error="it broke"))
    assert failed["metadata"] == {"status": "error", "passed": False, "reason": "it broke", "error": "it broke"}


def test_the_reason_is_the_judges_own_words() -> None:
    steps = [{"description": "d", "conclusion": "first."}, {"description": "second.", "conclusion": ""}]
    judged = Judgement("m", [], value={"steps": steps, "result": 1})
    assert wire.response(result(judgements=(judged,)))["metadata"]["reason"] == "first. second."


def test_openrlhf_gets_numbers_for_all_rows_of_all_parts() -> None:
    parts = parse({"type": "multi", "graders": {"a": SPEC.echo()}, "calculate_output": "a"})
    answer = wire.remote_rewards(parts, [result(0.5, sub_rewards={"a": 1.0}), result(0.0, error="it broke")])
    assert answer == {
        "rewards": [0.5, 0.0],
        "scores": [0.5, 0.0],
        "extra_logs": {"fairmark/error": [0.0, 1.0], "fairmark/a": [1.0, 0.0]},
    }
