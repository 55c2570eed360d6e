"""An output item: the wire form of one row of a run."""

from collections.abc import Mapping, Sequence
from typing import Any

from fairmark import jsontext
from fairmark.errors import GradingFailed
from fairmark.evals.criteria import Outcome, flat
from fairmark.evals.sampling import Sampled, output_messages
from fairmark.evals.source import Sampling, SourceRow
from fairmark.row import first_message, read_sample
from fairmark.store import ids

_NO_TOKENS = {"total_tokens": 0, "completion_tokens": 0, "prompt_tokens": 0, "cached_tokens": 0}


def encode_item(
    eval_id: str,
    run_id: str,
    created_at: int,
    row: SourceRow,
    outcome: Outcome,
    results: Sequence[Mapping[str, Any]],
    sample: Mapping[str, Any],
) -> bytes:
    return jsontext.encode(
        {
            "object": "eval.run.output_item",
            "id": ids.of_item(run_id, row.position),
            "run_id": run_id,
            "eval_id": eval_id,
            "created_at": created_at,
            "status": outcome,
            "datasource_item_id": row.position,
            "datasource_item": row.item,
            "results": results,
            "sample": sample,
        }
    )


def given_sample(sample: Any) -> dict[str, Any]:
    """The item's `sample` where the row brought its own, be it none or one that cannot be read."""
    members, text = _read(sample)
    return {
        "input": [],
        "output": output_messages(members, text),
        "finish_reason": _finish_reason(members),
        "model": members.get("model") if isinstance(members.get("model"), str) else "",
        "usage": _usage(members.get("usage")),
        "error": None,
        "temperature": 1.0,
        "max_completion_tokens": 0,
        "top_p": 1.0,
        "seed": 0,
    }


def _read(value: Any) -> tuple[Mapping[str, Any], str | None]:
    """A sample's members and its text, as graders see them; as much of them as there is where it cannot be read."""
    try:
        sample = read_sample(value)
    except GradingFailed:
        return (value, None) if isinstance(value, Mapping) else ({}, None)
    if sample.is_absent:
        return {}, None
    if isinstance(value, str):
        return {}, value
    # Whatever has one of these is a sample as it stands, and nothing in it need be worked out.
    is_plain = isinstance(value, Mapping) and ("output_text" in value or "choices" in value)
    return (value if is_plain else sample.members), sample.text


def made_sample(sampled: Sampled, how: Sampling) -> dict[str, Any]:
    """The item's `sample` where we asked for it."""
    sampling = how.sampling
    error = None
    if sampled.error is not None:
        error = {"code": sampled.code or "error", "message": sampled.error}
    return {
        "input": [
            {
                "role": message["role"],
                "content": flat(message.get("content") or ""),
                "tool_calls": message.get("tool_calls"),
                "tool_call_id": message.get("tool_call_id"),
                "function_call": message.get("function_call"),
            }
            for message in sampled.messages
        ],
        "output": output_messages(sampled.reply, None),
        "finish_reason": _finish_reason(sampled.reply),
        "model": sampled.reply.get("model") or how.model,
        "usage": _usage(sampled.reply.get("usage")),
        "error": error,
        "temperature": sampling.get("temperature", 1.0),
        "max_completion_tokens": sampling.get("max_completions_tokens", 0),
        "top_p": sampling.get("top_p", 1.0),
        "seed": sampling.get("seed", 0),
    }


def _finish_reason(reply: Mapping[str, Any]) -> str:
    if not first_message(reply):
        return "stop"
    reason = reply["choices"][0].get("finish_reason")
    return reason if isinstance(reason, str) else "stop"


def _usage(usage: Any) -> dict[str, int]:
    if not isinstance(usage, Mapping):
        return dict(_NO_TOKENS)
    details = usage.get("prompt_tokens_details")
    counts = {**usage, "cached_tokens": details.get("cached_tokens", 0)} if isinstance(details, Mapping) else usage
    return {name: value if isinstance(value := counts.get(name), int) else 0 for name in _NO_TOKENS}
