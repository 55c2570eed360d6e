"""NeMo Gym's resources server: rollouts are verified, and what they got is summed up.

A row that could not be graded has reward 0, the sign by which Gym puts it among its failures and tries it again, and
the one by which NeMo RL leaves it out of the loss.
"""

import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from fairmark.readiness import models
from fairmark.result import Result
from fairmark.row import is_chat
from fairmark.spec import GraderSpec

Json = dict[str, Any]
TASK = "_ng_task_index"
REVERIFY_MODE = "stateless"
"""A response can be verified again, with the same outcome."""
MOST_APART = 1e-6
"""NeMo RL stops where the parts of a reward do not sum up to it; it takes ten times this."""
# What Gym's rows have beside their data.
_NO_COLUMNS = ("responses_create_params", "response", "agent_ref", "instance_config")


class VerifyRequest(msgspec.Struct):
    """The fields that must be there; the row's own stand beside them."""

    responses_create_params: dict[str, Any]
    response: dict[str, Any]


class AggregateRequest(msgspec.Struct):
    verify_responses: list[dict[str, Any]]


def row_of(body: Json) -> Json:
    """A rollout as a row: the row's own fields are the item, with what was asked as its `messages`, and the last that
    the assistant said is the sample, with all tool calls of the rollout."""
    item = {name: value for name, value in body.items() if name not in _NO_COLUMNS and not name.startswith("_ng_")}
    asked = body["responses_create_params"].get("input")
    if isinstance(asked, str):
        item.setdefault("prompt", asked)
    elif is_chat(asked):
        item.setdefault("messages", asked)
    return {"item": item, "sample": _sample(body["response"].get("output"))}


def _sample(output: Any) -> Any:
    """An empty chat, which cannot be graded, where the model said and called nothing."""
    steps = [step for step in output if isinstance(step, dict)] if isinstance(output, list) else []
    said = [step for step in steps if step.get("type", "message") == "message" and step.get("role") == "assistant"]
    calls = [
        {
            "id": step.get("call_id") or step.get("id"),
            "type": "function",
            "function": {"name": step.get("name"), "arguments": step.get("arguments")},
        }
        for step in steps
        if step.get("type") == "function_call"
    ]
    if not said and not calls:
        return []
    return {"output_text": _text(said[-1].get("content")) if said else "", "output_tools": calls}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def verified(spec: GraderSpec, body: Json, result: Result) -> Json:
    """The request with what it got, by names that are the same for every row."""
    parts = {key: result.grade.sub_rewards.get(key, 0.0) if result.ok else 0.0 for key in spec.children}
    reward = result.reward_or(0.0)
    answer: Json = {
        **body,
        "reward": reward,
        **{f"{spec.name}/{key}": value for key, value in parts.items()},
        f"{spec.name}/failed": float(not result.ok),
    }
    if is_sum(spec) and abs(sum(parts.values()) - reward) <= MOST_APART:
        answer["reward_components"] = parts
    if not result.ok:
        own = body.get("instance_config")
        answer["instance_config"] = {**(own if isinstance(own, dict) else {}), "mask_sample": True}
        answer["_ng_failure_class"] = "judge_failed" if any(models(spec)) else "grader_failed"
        answer["_ng_failure_judge_error"] = result.error or result.skipped
    return answer


def is_sum(spec: GraderSpec) -> bool:
    """Whether the reward of a multi grader is the sum of its parts, whatever the row."""
    formula = str(spec.echo().get("calculate_output", ""))
    return bool(spec.children) and sorted(re.split(r"\s*\+\s*", formula.strip())) == sorted(spec.children)


def aggregate(responses: Sequence[Mapping[str, Any]]) -> Json:
    """Statistics of every number, for each task and for all, by the names of Gym's own."""
    by_task: dict[Any, list[Mapping[str, Any]]] = {}
    for response in responses:
        by_task.setdefault(response.get(TASK, 0), []).append(response)
    of_all = _statistics(responses)
    return {
        "group_level_metrics": [{**_statistics(rows), TASK: task} for task, rows in by_task.items()],
        "agent_metrics": of_all,
        "key_metrics": {name: value for name, value in of_all.items() if name.startswith("mean/")},
    }


def _statistics(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    columns: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row.items():
            if isinstance(value, (int, float)) and not name.startswith("_ng_"):
                columns.setdefault(name, []).append(float(value))
    measures: dict[str, Callable[[list[float]], float]] = {
        "mean": statistics.fmean,
        "max": max,
        "min": min,
        "median": statistics.median,
    }
    told = {f"{measure}/{name}": of(values) for name, values in columns.items() for measure, of in measures.items()}
    told |= {f"std/{name}": statistics.stdev(values) for name, values in columns.items() if len(values) > 1}
    return told
