"""The schemas of chat completions and responses. What is passed through is the provider's business: little of it is
told here."""

from typing import Any

from fairmark.server.schemas.shapes import METADATA, STRING, Schema, list_of, maybe, shape

EXAMPLES: dict[str, Any] = {
    "ChatRequest": {
        "model": "careful",
        "messages": [{"role": "user", "content": "What is the capital of France?"}],
        "store": True,
    },
    "ResponseRequest": {"model": "careful", "input": "What is the capital of France?"},
    "EmbeddingRequest": {"model": "careful", "input": "Paris"},
    "CompletionUpdate": {"metadata": {"run": "3"}},
}


def _passed_on(what: str, stored: bool | None) -> Schema:
    known: Schema = {"stream": maybe({"type": "boolean"})} if stored is not None else {}
    if stored is not None:
        known["store"] = {
            "type": ["boolean", "null"],
            "description": f"Whether it is kept. {'Yes' if stored else 'No'}, where nothing is said.",
        }
        known["metadata"] = {"description": "Pairs of texts, to find it by where it is kept."}
    return {
        **shape({"model": {"type": "string", "minLength": 1}}, known),
        "description": f"{what} as the provider of the model takes it. All of it is passed on as it is.",
    }


def completion_schemas() -> dict[str, Schema]:
    """By the names that the table of routes uses."""
    integer: Schema = {"type": "integer"}
    return {
        "ChatRequest": _passed_on("A chat completion request,", stored=False),
        "ResponseRequest": _passed_on("A request for a response,", stored=True),
        "EmbeddingRequest": _passed_on("A request for embeddings,", stored=None),
        "Passed": {"type": "object", "description": "What the provider answered, as it came."},
        "ChatCompletion": shape(
            {
                "id": STRING,
                "object": STRING,
                "model": STRING,
                "choices": {"type": "array", "items": {"type": "object"}},
            },
            {"metadata": METADATA, "created": integer, "request_id": {"type": ["string", "null"]}, "usage": {}},
        ),
        "ChatCompletionList": list_of("ChatCompletion"),
        "CompletionUpdate": shape({"metadata": METADATA}),
        "ChatMessage": shape(
            {"id": STRING, "role": STRING},
            {"content": {"type": ["string", "null"]}, "content_parts": {"type": ["array", "null"]}},
        ),
        "ChatMessageList": list_of("ChatMessage"),
        "Response": shape({"id": STRING, "object": {"const": "response"}}, {"created_at": {"type": "number"}}),
        "InputItem": shape({"id": STRING}, {"type": STRING}),
        "InputItemList": list_of("InputItem"),
    }
