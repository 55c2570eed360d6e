"""Try a model: one question, asked as a label_model grader would ask it."""

from datetime import UTC, datetime
from typing import Any


def question(model: str) -> dict[str, Any]:
    """The grader that asks it. The time in it makes it a new question each time, which no cache can answer."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return {
        "type": "label_model",
        "name": "test",
        "model": model,
        "input": [{"role": "user", "content": f"It is {now}. Is Paris the capital of France? Answer yes or no."}],
        "labels": ["yes", "no"],
        "passing_labels": ["yes"],
        # A small model may go on for ever.
        "sampling_params": {"temperature": 0, "max_completions_tokens": 1000},
    }
