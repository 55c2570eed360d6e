"""A run as OpenAI's API takes it, as the form that starts one holds it: field by field."""

from typing import Any

from fairmark import jsontext
from fairmark.evals.eval_calls import MOST_METADATA

# A field of the form -> what the API calls it, first as it is sent from here.
PARAMETERS = {
    "temperature": ("temperature",),
    "top_p": ("top_p",),
    "max_tokens": ("max_completions_tokens", "max_completion_tokens", "max_tokens"),
    "seed": ("seed",),
    "reasoning_effort": ("reasoning_effort",),
}


def as_filled(body: dict[str, Any]) -> dict[str, Any]:
    """The fields of the form by name, the rows that came with it as JSONL, and what there is no field for."""
    data_source, budget = body.get("data_source"), body.get("budget")
    source: dict[str, Any] = data_source if isinstance(data_source, dict) else {}
    fields: dict[str, str] = {"name": _text(body.get("name"))}
    rows = ""
    match source.get("source"):
        case {"type": "file_content", "content": [*content]}:
            rows = "".join(jsontext.encode(row).decode() + "\n" for row in content)
        case {"type": "file_id", "id": str() as file_id}:
            fields["file_id"] = file_id
    if source.get("type") in ("completions", "responses"):
        fields |= {"answers": "model", "model": _text(source.get("model"))} | _asked(source)
    else:
        fields["answers"] = "rows"
    if isinstance(budget, dict):
        fields |= {name: _text(budget.get(name)) for name in ("dollars", "tokens")}
    deadline = body.get("deadline_s")
    if isinstance(deadline, (int, float)):
        fields["minutes"] = f"{deadline / 60:g}"
    metadata = body.get("metadata")
    pairs_given = [[str(key), str(value)] for key, value in metadata.items()] if isinstance(metadata, dict) else []
    known = ("name", "metadata", "data_source", "budget", "deadline_s", "eval_id")
    left = [name for name in body if name not in known]
    words = "Filled in." + (f" Left out: {', '.join(left[:5])}." if left else "")
    return {"fields": fields, "rows": rows, "metadata": pairs_given[:MOST_METADATA], "words": words}


def _asked(source: dict[str, Any]) -> dict[str, str]:
    """Prompts in their fields; whatever else the messages are stays JSON."""
    fields: dict[str, str] = {}
    messages = source.get("input_messages")
    match messages:
        case {"type": "template", "template": [{"role": "user", "content": str() as prompt}]}:
            fields["prompt"] = prompt
        case {
            "type": "template",
            "template": [
                {"role": "system" | "developer", "content": str() as system},
                {"role": "user", "content": str() as prompt},
            ],
        }:
            fields |= {"system": system, "prompt": prompt}
        case None:
            pass
        case _:
            fields["messages"] = jsontext.encode_pretty(messages)
    match source.get("sampling_params"):
        case {**parameters}:
            rest = dict(parameters)
            for field_name, names in PARAMETERS.items():
                for name in names:
                    if isinstance(rest.get(name), (int, float, str)) and not isinstance(rest[name], bool):
                        fields[field_name] = _text(rest.pop(name))
            if rest:
                fields["parameters"] = jsontext.encode_pretty(rest)
    return fields


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else jsontext.encode(value).decode()
