"""The reward server as NeMo Gym's agents and NeMo RL ask it."""

from collections.abc import Iterator
from typing import Any

import pytest

from fairmark.parse import parse
from fairmark.rewardserver import nemo
from tests.rewardserver.test_app import ask, serving

EXACT = {
    "type": "string_check", "name": "exact", "operation": "eq",
    "input": "{{ sample.output_text }}", "reference": "{{ item.expected }}",
}  # fmt: skip
CODE = {"type": "python", "name": "code", "source": "def grade(sample, item):\n    return 1 / item['n']\n"}
BOTH = {"type": "multi", "name": "both", "graders": {"exact": EXACT, "code": CODE}, "calculate_output": "exact + code"}


def message(*texts: str) -> dict[str, Any]:
    parts = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": parts}


def request(*output: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "responses_create_params": {"input": [{"role": "user", "content": "2+2?"}], "tools": []},
        "response": {"id": "r", "object": "response", "output": list(output)},
        "_ng_task_index": 3,
        **fields,
    }


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("nemo"), BOTH) as url:
        yield url


def test_a_rollout_is_verified_and_comes_back_with_its_reward(url: str) -> None:
    body = request({"type": "reasoning", "summary": []}, message("4"), expected="4", n=2)
    answer = ask(f"{url}/verify", body).body
    assert answer == {
        **body, "reward": 1.5, "both/exact": 1.0, "both/code": 0.5, "both/failed": 0.0,
        "reward_components": {"exact": 1.0, "code": 0.5},
    }  # fmt: skip


def test_a_failure_is_put_aside_and_left_out_of_the_loss(url: str) -> None:
    body = request(message("4"), expected="4", n=0, instance_config={"seed": 1})
    answer = ask(f"{url}/verify", body).body
    assert answer["reward"] == 0.0
    assert answer["_ng_failure_class"] == "grader_failed"
    assert "ZeroDivisionError" in answer["_ng_failure_judge_error"]
    assert answer["instance_config"] == {"seed": 1, "mask_sample": True}
    assert answer["reward_components"] == {"exact": 0.0, "code": 0.0}
    assert (answer["both/exact"], answer["both/failed"]) == (0.0, 1.0)


def test_a_rollout_without_an_answer_has_failed(url: str) -> None:
    assert ask(f"{url}/verify", request(expected="", n=1)).body["both/failed"] == 1.0


def test_the_other_routes_of_a_resources_server(url: str) -> None:
    assert ask(f"{url}/seed_session", request()).body == {}
    assert ask(f"{url}/reverify_mode").body == "stateless"
    responses = [
        {"_ng_task_index": task, "reward": reward, "note": "x"} for task, reward in ((0, 1.0), (0, 0.0), (1, 0.5))
    ]
    told = ask(f"{url}/aggregate_metrics", {"verify_responses": responses}).body
    assert told["key_metrics"] == {"mean/reward": 0.5}
    assert told["agent_metrics"]["std/reward"] == 0.5
    assert [(group["_ng_task_index"], group["mean/reward"]) for group in told["group_level_metrics"]] == [
        (0, 0.5),
        (1, 0.5),
    ]
    assert ask(f"{url}/aggregate_metrics", {"verify_responses": []}).body["agent_metrics"] == {}


@pytest.mark.parametrize("body", [{}, {"response": {}}, {"responses_create_params": {}, "response": "4"}, []])
def test_another_body_is_refused(url: str, body: Any) -> None:
    assert ask(f"{url}/verify", body).status == 422


def test_the_last_message_counts_and_all_tool_calls() -> None:
    call = {"type": "function_call", "call_id": "c", "id": "f", "name": "add", "arguments": "{}"}
    row = nemo.row_of(request(message("a"), call, {"type": "function_call_output"}, message("b", "c"), expected="x"))
    assert row == {
        "item": {"expected": "x", "messages": [{"role": "user", "content": "2+2?"}]},
        "sample": {
            "output_text": "bc",
            "output_tools": [{"id": "c", "type": "function", "function": {"name": "add", "arguments": "{}"}}],
        },
    }


@pytest.mark.parametrize(
    ("formula", "expected"),
    [("exact + code", True), ("code+exact", True), ("exact", False), ("exact + 2 * code", False)],
)
def test_parts_are_told_only_where_they_sum_up_whatever_the_row(formula: str, expected: bool) -> None:
    assert nemo.is_sum(parse({**BOTH, "calculate_output": formula})) is expected
    assert nemo.is_sum(parse(EXACT)) is False
