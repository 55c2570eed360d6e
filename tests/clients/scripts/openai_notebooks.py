"""The newest openai package: what published notebooks do with the hosted service."""
# mypy: disable-error-code="import-not-found"

import json
from typing import Any, Literal

from openai import BadRequestError, OpenAI
from openai.types.chat import ChatCompletion
from pydantic import BaseModel

from tests.clients.scripts.facts import finished, tell

client = OpenAI()


class Symbol(BaseModel):
    name: str
    kind: Literal["function", "class"] = "function"


class Item(BaseModel):
    """Pydantic writes nested models as $defs and $refs."""

    question: str
    symbols: list[Symbol]


EXACT = {
    "type": "string_check",
    "name": "exact",
    "input": "{{sample.output_text}}",
    "reference": "{{item.answer}}",
    "operation": "eq",
}
CUSTOM = {"type": "custom", "item_schema": {"type": "object"}, "include_sample_schema": True}


def run(criteria: list[Any], rows: list[Any], **more: Any) -> tuple[Any, list[Any]]:
    config = {**CUSTOM, **more}
    eval_ = client.evals.create(name="notebook", data_source_config=config, testing_criteria=criteria)
    created = client.evals.runs.create(
        eval_.id, data_source={"type": "jsonl", "source": {"type": "file_content", "content": rows}}
    )
    done = finished(client, eval_.id, created.id)
    return done, list(client.evals.runs.output_items.list(done.id, eval_id=eval_.id))


def facts(done: Any, items: list[Any]) -> dict[str, Any]:
    return {
        "counts": done.result_counts.to_dict(),
        "passed": [[result.passed for result in item.results] for item in items],
        "scores": [[result.score for result in item.results] for item in items],
        "statuses": [item.status for item in items],
    }


# A sample that is a whole chat completion, and one that is only its model and choices.
completion = ChatCompletion.model_validate(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o-mini",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "logprobs": None,
                "message": {"role": "assistant", "content": '{"city": "Paris"}', "refusal": None},
            }
        ],
        "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12},
    }
).model_dump()
tools = {
    "model": "gpt-4o-mini",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "extract", "arguments": '{"symbols": ["a", "b"]}'},
                    }
                ],
            },
        }
    ],
}
dumped, dumped_items = run(
    [
        {**EXACT, "reference": '{"city": "Paris"}'},
        {**EXACT, "name": "json", "input": "{{sample.output_json.city}}", "reference": "Paris"},
        {
            **EXACT,
            "name": "choices",
            "input": "{{sample.choices[0].message.content}}",
            "reference": '{"city": "Paris"}',
        },
        {
            "type": "python",
            "name": "tools",
            "source": "def grade(sample, item):\n    return float(len(sample['output_tools']) == 0)\n",
        },
    ],
    [{"item": {"answer": "Paris"}, "sample": completion}],
)
called, called_items = run(
    [
        {**EXACT, "name": "name", "input": "{{sample.output_tools[0].function.name}}", "reference": "extract"},
        {
            **EXACT,
            "name": "arguments",
            "input": "{{sample.output_tools[0].function.arguments.symbols}}",
            "reference": '["a", "b"]',
        },
    ],
    [{"item": {}, "sample": tools}],
)

# Rows without a sample, though the criterion speaks of it.
bare, bare_items = run([{**EXACT, "operation": "ne"}], [{"item": {"answer": "Paris"}}], include_sample_schema=False)
missing, missing_items = run([{**EXACT, "input": "{{sample.choices[0].message.content}}"}], [{"item": {"answer": ""}}])

# A judge with a single system message, whose answer is read back as JSON.
judged, judged_items = run(
    [
        {
            "type": "score_model",
            "name": "score",
            "model": "gpt-4.1",
            "input": [
                {
                    "role": "system",
                    "content": "A grade from 1 to 7.\nReference answer: {{item.answer}}\n\nModel answer: "
                    "{{sample.output_text}}",
                }
            ],
            "range": [1, 7],
            "pass_threshold": 5.5,
        }
    ],
    [
        {"item": {"answer": "Paris"}, "sample": {"output_text": "Paris"}},
        {"item": {"answer": "Rome"}, "sample": {"output_text": "Milan"}},
    ],
)
nested = client.evals.create(
    data_source_config={"type": "custom", "item_schema": Item.model_json_schema(), "include_sample_schema": False},
    testing_criteria=[EXACT],
)
# The Azure page's prompt asks for 1 to 5 and sets no range.
clamped, clamped_items = run(
    [
        {
            "type": "score_model",
            "name": "score",
            "model": "gpt-4.1",
            "input": [
                {"role": "developer", "content": "On a scale from 1 to 5."},
                {"role": "user", "content": "Output: {{item.answer}}"},
            ],
            "image_tag": "2025-05-08",
            "pass_threshold": 0.5,
        }
    ],
    [{"item": {"answer": "Paris"}}],
)
# A model's name that somebody forgot to fill in.
PLACEHOLDER = {
    "type": "label_model",
    "name": "label",
    "model": "{{aoai_deployment_and_model}}",
    "input": [{"role": "user", "content": "{{item}}"}],
    "labels": ["positive", "negative"],
    "passing_labels": ["positive"],
}
try:
    run([PLACEHOLDER], [{"item": {"answer": "Paris"}}])
    placeholder_error = "the run was taken"
except BadRequestError as error:
    placeholder_error = error.message
# A model that speaks, and a judge that listens.
LISTENING = {
    "type": "score_model",
    "name": "listening",
    "model": "gpt-audio",
    "input": [
        {"role": "system", "content": "Score what you hear."},
        {
            "role": "user",
            "content": {
                "type": "input_audio",
                "input_audio": {"data": "{{ sample.output_audio.data }}", "format": "wav"},
            },
        },
    ],
    "pass_threshold": 0.2,
}
listening = client.evals.create(data_source_config=CUSTOM, testing_criteria=[EXACT, LISTENING])
spoken = finished(
    client,
    listening.id,
    client.evals.runs.create(
        listening.id,
        data_source={
            "type": "completions",
            "source": {"type": "file_content", "content": [{"item": {"country": "France", "answer": "Paris"}}]},
            "model": "gpt-4o-audio-preview",
            "modalities": ["text", "audio"],
            "input_messages": {"type": "template", "template": [{"role": "user", "content": "{{item.country}}?"}]},
            "sampling_params": {"temperature": 0.2, "max_completions_tokens": 1024, "top_p": 0.9, "seed": 42},
        },
    ).id,
)
spoken_items = list(client.evals.runs.output_items.list(spoken.id, eval_id=listening.id))
# The same as rows that were sampled elsewhere.
heard, heard_items = run(
    [EXACT, LISTENING],
    [
        {
            "item": {"answer": "Paris"},
            "sample": {
                "model": "gpt-4o-audio-preview",
                "choices": [
                    {
                        "index": 0,
                        "finish_reason": "stop",
                        "message": {
                            "role": "assistant",
                            "content": None,
                            "audio": {"id": "audio_1", "data": "UklGRg==", "expires_at": 1, "transcript": "Paris"},
                        },
                    }
                ],
            },
        }
    ],
)
# A picture beside a caption.
captioned, captioned_items = run(
    [
        {
            "type": "score_model",
            "name": "caption",
            "model": "gpt-4o",
            "input": [
                {
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "Caption: {{sample.output_text}}"},
                        {"type": "input_image", "image_url": "{{item.url}}", "file_id": None, "detail": "high"},
                    ],
                }
            ],
        }
    ],
    [{"item": {"url": "https://example.com/dog.png"}, "sample": {"output_text": "A dog"}}],
)
tell(
    {
        "spoken": facts(spoken, spoken_items),
        "spoken_output": spoken_items[0].sample.output[0].content,
        "spoken_sampling": [spoken_items[0].sample.max_completion_tokens, spoken_items[0].sample.seed],
        "heard": facts(heard, heard_items),
        "heard_output": heard_items[0].sample.output[0].content,
        "captioned": facts(captioned, captioned_items),
        "captioned_input": captioned_items[0].results[0].sample["input"][0]["content"],
        "dumped": facts(dumped, dumped_items),
        "dumped_sample": dumped_items[0].sample.to_dict(),
        "called": facts(called, called_items),
        "called_output": called_items[0].sample.output[0].to_dict(),
        "bare": facts(bare, bare_items),
        "bare_warnings": bare_items[0].results[0].to_dict()["warnings"],
        "bare_sample": bare_items[0].sample.to_dict(),
        "missing": facts(missing, missing_items),
        "judged": facts(judged, judged_items),
        "judge_said": [json.loads(item.results[0].sample["output"][0]["content"]) for item in judged_items],
        "judge_sample": judged_items[0].results[0].sample,
        "judge_usage": [each.to_dict() for each in judged.per_model_usage],
        "nested": nested.data_source_config.schema_,
        "clamped": facts(clamped, clamped_items),
        "clamped_warnings": clamped_items[0].results[0].to_dict()["warnings"],
        "placeholder_error": placeholder_error,
    }
)
