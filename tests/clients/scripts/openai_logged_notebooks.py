"""The openai package: five published notebooks about what is stored, and about tools that a provider runs.

Call for call what they do, in their order and with their arguments, misspelt ones included; the words are ours.
"""
# mypy: disable-error-code="import-not-found"

import asyncio
import io
import json
import sys
from typing import Any

from openai import AsyncOpenAI, OpenAI

from tests.clients.scripts.facts import caught, finished, tell

client = OpenAI()
REFERENCE = {"type": "item_reference", "item_reference": "item.input"}
QA = {
    "type": "custom",
    "item_schema": {"type": "object", "properties": {"query": {"type": "string"}, "answer": {"type": "string"}}},
    "include_sample_schema": True,
}
CAPITALS = [{"query": "paris", "answer": "Paris"}, {"query": "rome", "answer": "Lima"}]
PASS_OR_FAIL = {
    "type": "label_model",
    "model": "o3",
    "input": [
        {"role": "system", "content": "Say pass where the answer holds what was expected, else fail."},
        {
            "role": "user",
            "content": "<Query>\n{{item.query}}\n</Query>\nAnswered: {{sample.output_text}}\nExpected: {{item.answer}}",
        },
    ],
    "passing_labels": ["pass"],
    "labels": ["pass", "fail"],
}
TOOL_USED = {
    "type": "python",
    "name": "a tool was used",
    "image_tag": "2025-05-08",
    "pass_threshold": 1.0,
    "source": (
        "\ndef grade(sample: dict, item: dict) -> float:\n"
        "    output = sample.get('output_tools', [])\n"
        "    return 1.0 if len(output) > 0 else 0.0\n"
    ),
}


async def monitoring() -> dict[str, Any]:
    """Stored chat completions of two prompts, graded as they are and asked anew; all by the asynchronous client."""
    asking = AsyncOpenAI()
    await asyncio.gather(
        *(
            asking.chat.completions.create(
                model="gpt-4o-mini",
                messages=[
                    {"role": "developer", "content": f"Sum up, with {word}."},
                    {"role": "user", "content": f"\n- {text}: {word}\n"},
                ],
                store=True,
                metadata={"prompt_version": version, "usecase": "notifications"},
            )
            for text in ("mail", "call", "rain")
            for word, version in (("love", "v1"), ("hate", "v2"))
        )
    )
    listed = await asking.chat.completions.list()
    mood = {
        "name": "mood",
        "type": "label_model",
        "model": "o3-mini",
        "input": [
            {"role": "developer", "content": "Which mood is it?"},
            {"role": "user", "content": "\nAsked: {{item.input}}\nSummary: {{sample.output_text}}\n"},
        ],
        "passing_labels": ["positive"],
        "labels": ["positive", "negative"],
    }
    eval_ = await asking.evals.create(
        name="monitoring",
        metadata={"description": "watches completions"},
        data_source_config={"type": "stored_completions", "metadata": {"usecase": "notifications"}},
        testing_criteria=[mood],
    )
    # Of another use: the eval's own filter leaves it out.
    await asking.chat.completions.create(
        model="gpt-4o-mini",
        messages=[{"role": "user", "content": "love"}],
        store=True,
        metadata={"prompt_version": "v1"},
    )
    sources = {
        version: {"type": "stored_completions", "metadata": {"prompt_version": version}} for version in ("v1", "v2")
    }
    stored = [
        await asking.evals.runs.create(
            eval_id=eval_.id, name=f"{version}-run", data_source={"type": "completions", "source": source}
        )
        for version, source in sources.items()
    ]
    anew = await asyncio.gather(
        *(
            asking.evals.runs.create(
                eval_id=eval_.id,
                name=f"new-model-{version}",
                data_source={
                    "type": "completions",
                    "input_messages": REFERENCE,
                    "model": "gpt-4o",
                    "source": source,
                },
            )
            for version, source in sources.items()
        )
    )
    graded = {run.name: items_of(eval_.id, run.id) for run in [*stored, *anew]}
    return {
        "listed": [len(listed.data), listed.data[0].object],
        "linked": all(run.report_url for run in [*stored, *anew]),
        "statuses": {name: [item.status for item in items] for name, items in graded.items()},
        "models": {name: sorted({item.sample.model for item in items}) for name, items in graded.items()},
    }


def items_of(eval_id: str, run_id: str) -> list[Any]:
    done = finished(client, eval_id, run_id)
    assert done.status == "completed", done
    return list(client.evals.runs.output_items.list(run_id=run_id, eval_id=eval_id))


def logged(name: str, judge: str, highest: int, least: float) -> Any:
    """An eval over whatever is stored."""
    return client.evals.create(
        name=name,
        data_source_config={"type": "logs"},
        testing_criteria=[
            {
                "type": "score_model",
                "name": "General Evaluator",
                "model": judge,
                "input": [
                    {"role": "system", "content": f"Score from 1 to {highest}."},
                    {
                        "role": "user",
                        "content": "**User input**\n\n{{item.input}}\n\n**Response**\n\n{{sample.output_text}}\n",
                    },
                ],
                "range": [1, highest],
                "pass_threshold": least,
            }
        ],
    )


def responses() -> dict[str, Any]:
    """The last responses, whatever their metadata, and another model on the same questions."""
    for text in ("an old one", "first file", "second file"):
        client.responses.create(
            input=[
                {
                    "role": "user",
                    "content": [{"type": "input_text", "text": "Explain:"}, {"type": "input_text", "text": text}],
                }
            ],
            model="gpt-4o-mini",
        )
    eval_ = logged("code", "o3", 7, 5.5)
    source = {"type": "responses", "limit": 2}
    stored = client.evals.runs.create(
        name="gpt-4o-mini", eval_id=eval_.id, data_source={"type": "responses", "source": source}
    )
    anew = client.evals.runs.create(
        name="gpt-4.1-mini",
        eval_id=eval_.id,
        data_source={
            "type": "responses",
            "source": source,
            "input_messages": REFERENCE,
            "model": "gpt-4.1-mini",
        },
    )
    graded, again = items_of(eval_.id, stored.id), items_of(eval_.id, anew.id)
    return {
        "linked": bool(stored.report_url),
        "scores": [[score_of(item) for item in items] for items in (graded, again)],
        "models": sorted({item.sample.model for item in again}),
        "outputs": [[item.sample.output[0].content for item in items] for items in (graded, again)],
    }


def score_of(item: Any) -> Any:
    """Results are dicts in old clients and objects in new ones."""
    result = item.results[0]
    return result["score"] if isinstance(result, dict) else result.score


def hosted(name: str, criteria: list[Any], asked: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Questions for which the provider runs a tool of its own: a run for each model, and both polled."""
    eval_ = client.evals.create(name=name, data_source_config=QA, testing_criteria=criteria)
    template = [
        {"type": "message", "role": "system", "content": {"type": "input_text", "text": "Search."}},
        {"type": "message", "role": "user", "content": {"type": "input_text", "text": "Look for {{item.query}}"}},
    ]
    runs = [
        client.evals.runs.create(
            name=model,
            eval_id=eval_.id,
            data_source={
                "type": "responses",
                "source": {"type": "file_content", "content": [{"item": item} for item in CAPITALS]},
                "input_messages": {"type": "template", "template": template},
                "model": model,
                "sampling_params": {"seed": 42, "max_completions_tokens": 10000, **params},
            },
        )
        for model, params in asked.items()
    ]
    items = [item for run in runs for item in items_of(eval_.id, run.id)]
    return {
        "statuses": [item.status for item in items],
        "errors": [item.sample.error.message for item in items if item.sample.error],
        "outputs": [item.sample.output[0].content for item in items if item.sample.output],
        "called": [item.sample.output[0].tool_calls[0]["type"] for item in items if item.sample.output],
    }


WEB = {"temperature": 0.7, "top_p": 0.9, "tools": [{"type": "web_search_preview"}]}
MCP = {
    "type": "mcp",
    "server_label": "docs",
    "server_url": "https://docs.example/mcp",
    "allowed_tools": ["search_documentation", "fetch_documentation"],
    "require_approval": "never",
}
FILES = {"tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}]}


async def answers(model: str, prompts: list[str], said: str) -> list[str]:
    """A response for each prompt, several at once."""
    asking = AsyncOpenAI()
    places = asyncio.Semaphore(8)

    async def answer(prompt: str) -> str:
        async with places:
            made = await asking.responses.create(
                model=model,
                input=[{"role": "system", "content": said}, {"role": "user", "content": prompt}],
                temperature=0.0,
                max_output_tokens=80,
            )
            return str(made.output_text)

    return await asyncio.gather(*(answer(prompt) for prompt in prompts))


def preferences() -> dict[str, Any]:
    """Pairs are made, the base model is graded over what it just said; and the training that nobody has here."""
    prompts = ["Where is it?", "When does it come?"]
    friendly, blunt = asyncio.run(pairs(prompts))
    made = asyncio.run(answers("gpt-4.1-mini-2025-04-14", prompts, "You help."))
    eval_ = logged("tone", "gpt-4.1-2025-04-14", 4, 2)
    base = client.evals.runs.create(
        name="base",
        eval_id=eval_.id,
        data_source={"type": "responses", "source": {"type": "responses", "limit": len(prompts)}},
    )
    finished(client, eval_.id, base.id)
    graded = client.evals.runs.output_items.list(eval_id=eval_.id, run_id=base.id).data
    rows = [
        {
            "input": {"messages": [{"role": "user", "content": prompt}]},
            "preferred_output": [{"role": "assistant", "content": good}],
            "non_preferred_output": [{"role": "assistant", "content": bad}],
        }
        for prompt, good, bad in zip(prompts, friendly, blunt, strict=True)
    ]
    file = io.BytesIO("\n".join(json.dumps(row) for row in rows).encode())
    file.name = "train.jsonl"
    training = client.files.create(file=file, purpose="fine-tune").id
    refused = caught(
        lambda: client.fine_tuning.jobs.create(
            model="gpt-4.1-mini-2025-04-14",
            training_file=training,
            validation_file=training,
            method={"type": "dpo", "dpo": {"hyperparameters": {"n_epochs": 2, "beta": 0.1, "batch_size": 8}}},
        )
    )
    return {
        "made": made,
        "scores": [score_of(item) for item in graded],
        "outputs": sorted(item.sample.output[0].content for item in graded),
        "training": refused,
    }


async def pairs(prompts: list[str]) -> tuple[list[str], list[str]]:
    both = await asyncio.gather(
        answers("gpt-4.1-mini", prompts, "Be kind."), answers("gpt-4.1-mini", prompts, "Be terse.")
    )
    return both[0], both[1]


judged = {**PASS_OR_FAIL, "name": "General Evaluator"}
tell(
    {
        "version": sys.modules["openai"].__version__,
        "monitoring": asyncio.run(monitoring()),
        "responses": responses(),
        "search": hosted("web search", [judged], {"gpt-4.1": WEB, "gpt-4.1-mini": WEB}),
        "mcp": hosted(
            "MCP",
            [judged, TOOL_USED],
            {"gpt-4.1": {"temperature": 0.7, "top_p": 0.9, "tools": [MCP]}, "o4-mini": {"tools": [MCP]}},
        ),
        "refused": hosted("files", [judged], {"gpt-4.1": FILES}),
        "preferences": preferences(),
    }
)
