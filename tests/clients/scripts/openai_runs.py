"""The newest openai package: runs over every source, their output items page by page, cancel and delete."""
# mypy: disable-error-code="import-not-found"

import json
from typing import Any

from openai import OpenAI

from tests.clients.scripts.facts import ITEM_SCHEMA, ROWS, caught, finished, name_of, tell

client = OpenAI()
runs = client.evals.runs
EXACT = {
    "type": "string_check",
    "name": "exact",
    "input": "{{sample.output_text}}",
    "reference": "{{item.answer}}",
    "operation": "eq",
}
ASKED = {
    "type": "template",
    "template": [
        {"role": "developer", "content": "Name the city, nothing else."},
        {"role": "user", "content": {"type": "input_text", "text": "{{item.question}}"}},
    ],
}
CONTENT = {"type": "file_content", "content": ROWS}
TOOL = {"name": "tell", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


def new_eval(*criteria: Any) -> Any:
    return client.evals.create(
        name="capitals",
        data_source_config={"type": "custom", "item_schema": ITEM_SCHEMA, "include_sample_schema": True},
        testing_criteria=list(criteria),
    )


def run_of(eval_: Any, data_source: Any) -> Any:
    return finished(client, eval_.id, runs.create(eval_.id, data_source=data_source).id)


def items_of(run: Any, **more: Any) -> list[Any]:
    return list(runs.output_items.list(run.id, eval_id=run.eval_id, **more))


def short(run: Any) -> dict[str, Any]:
    return {
        "status": run.status,
        "counts": run.result_counts.to_dict(),
        "model": run.model,
        "usage": [each.to_dict() for each in run.per_model_usage],
        "criteria": [each.to_dict() for each in run.per_testing_criteria_results],
        "source_class": name_of(run.data_source),
        "error": run.error,
    }


capitals = new_eval(EXACT)
criterion_id = capitals.testing_criteria[0].id

# Rows that bring their samples, inline and as a file.
ready = [{**row, "sample": {"output_text": "Paris"}} for row in ROWS]
created = runs.create(
    capitals.id,
    name="inline",
    metadata={"try": "1"},
    data_source={"type": "jsonl", "source": {"type": "file_content", "content": ready}},
)
inline = finished(client, capitals.id, created.id)
file = client.files.create(file=("rows.jsonl", "\n".join(map(json.dumps, ready)).encode()), purpose="evals")
from_file = run_of(capitals, {"type": "jsonl", "source": {"type": "file_id", "id": file.id}})

# Samples made by the model under test.
completions = run_of(
    capitals,
    {
        "type": "completions",
        "source": CONTENT,
        "model": "gpt-4o-mini",
        "input_messages": ASKED,
        "sampling_params": {"temperature": 0.2, "seed": 7, "max_completion_tokens": 50, "top_p": 0.9},
    },
)
responses = run_of(
    capitals,
    {"type": "responses", "source": CONTENT, "model": "gpt-4o-mini", "input_messages": ASKED},
)
conversations = [
    {"item": {"answer": row["item"]["answer"], "talk": [{"role": "user", "content": row["item"]["question"]}]}}
    for row in ROWS
]
referenced = run_of(
    capitals,
    {
        "type": "completions",
        "source": {"type": "file_content", "content": conversations},
        "model": "gpt-4o-mini",
        "input_messages": {"type": "item_reference", "item_reference": "item.talk"},
    },
)
referenced_responses = run_of(
    capitals,
    {
        "type": "responses",
        "source": {"type": "file_content", "content": conversations},
        "model": "gpt-4o-mini",
        "input_messages": {"type": "item_reference", "item_reference": "item.talk"},
    },
)

# Structured answers and tool calls, in the words of both APIs.
in_json = new_eval({**EXACT, "input": "{{sample.output_json.city}}"})
in_tools = new_eval({**EXACT, "input": "{{sample.output_tools[0].function.arguments.city}}"})
asked = {"source": CONTENT, "model": "gpt-4o-mini", "input_messages": ASKED}
structured = {
    "completions json_schema": run_of(
        in_json,
        {
            "type": "completions",
            **asked,
            "sampling_params": {
                "response_format": {"type": "json_schema", "json_schema": {"name": "c", "schema": CITY, "strict": True}}
            },
        },
    ),
    "responses json_schema": run_of(
        in_json,
        {
            "type": "responses",
            **asked,
            "sampling_params": {
                "text": {"format": {"type": "json_schema", "name": "c", "schema": CITY, "strict": True}}
            },
        },
    ),
    "completions tools": run_of(
        in_tools,
        {"type": "completions", **asked, "sampling_params": {"tools": [{"type": "function", "function": TOOL}]}},
    ),
    "responses tools": run_of(
        in_tools,
        {"type": "responses", **asked, "sampling_params": {"tools": [{"type": "function", "strict": True, **TOOL}]}},
    ),
}

# Many rows, page by page.
many = run_of(
    capitals,
    {
        "type": "jsonl",
        "source": {
            "type": "file_content",
            "content": [{"item": {"answer": str(number % 3)}, "sample": {"output_text": "0"}} for number in range(250)],
        },
    },
)
listed = runs.output_items.list(many.id, eval_id=capitals.id, limit=100)
pages = [[item.datasource_item_id for item in page.data] for page in listed.iter_pages()]
everything = items_of(many)
after = runs.output_items.list(many.id, eval_id=capitals.id, limit=2, after=everything[9].id).data
downward = items_of(many, order="desc", limit=100)
first = everything[0]
one = runs.output_items.retrieve(first.id, eval_id=capitals.id, run_id=many.id)

# Cancel, delete, list.
slow = runs.create(
    capitals.id,
    data_source={
        "type": "completions",
        "source": {"type": "file_content", "content": [{"item": {"question": "SLOW", "answer": ""}}] * 3},
        "model": "gpt-4o-mini",
        "input_messages": ASKED,
    },
)
canceled = runs.cancel(slow.id, eval_id=capitals.id)
canceled_later = runs.retrieve(slow.id, eval_id=capitals.id)
canceled_again = runs.cancel(slow.id, eval_id=capitals.id)
finished_cancel = runs.cancel(inline.id, eval_id=capitals.id)
listed_runs = [run.id for run in runs.list(capitals.id, limit=2)]
newest_runs = [run.id for run in runs.list(capitals.id, order="desc")]
canceled_runs = [run.id for run in runs.list(capitals.id, status="canceled")]
deleted = runs.delete(slow.id, eval_id=capitals.id)
completion_items = items_of(completions)

tell(
    {
        "criterion": criterion_id,
        "created": created.to_dict(),
        "created_class": name_of(created),
        "created_request_id": created._request_id,
        "inline": short(inline),
        "report_url": inline.report_url,
        "from_file": short(from_file),
        "completions": short(completions),
        "template": completions.data_source.input_messages.to_dict()["template"],
        "responses": short(responses),
        "referenced": short(referenced),
        "referenced_responses": short(referenced_responses),
        "structured": {name: short(run) for name, run in structured.items()},
        "tool_item": items_of(structured["completions tools"])[0].sample.to_dict(),
        "items": [item.to_dict() for item in items_of(inline)],
        "item_class": name_of(completion_items[0]),
        "result_class": name_of(completion_items[0].results[0]),
        "sampled": completion_items[0].sample.to_dict(),
        "attributes": [
            completion_items[0].sample.output[0].content,
            completion_items[0].sample.usage.total_tokens,
            completion_items[0].results[0].passed,
            completion_items[0].results[0].name,
            completion_items[0].results[0].score,
        ],
        "many": short(many),
        "pages": pages,
        "positions": [item.datasource_item_id for item in everything],
        "unique_ids": len({item.id for item in everything}),
        "after": [item.datasource_item_id for item in after],
        "downward": [item.datasource_item_id for item in downward],
        "failing": len(items_of(many, status="fail", limit=50)),
        "passing": [item.datasource_item_id for item in items_of(many, status="pass", limit=50)],
        "one": one.to_dict() == first.to_dict(),
        "canceled": [canceled.status, canceled_later.status, canceled_again.status, canceled.id == slow.id],
        "finished_cancel": finished_cancel.status,
        "runs": [listed_runs, newest_runs],
        "canceled_runs": canceled_runs,
        "slow": slow.id,
        "deleted": deleted.to_dict(),
        "after_delete": caught(lambda: runs.retrieve(slow.id, eval_id=capitals.id)),
        "other_eval": caught(lambda: runs.retrieve(inline.id, eval_id=in_json.id)),
        "unknown_item": caught(lambda: runs.output_items.retrieve("outputitem_0", eval_id=capitals.id, run_id=many.id)),
        "item_of_other_run": caught(
            lambda: runs.output_items.retrieve(first.id, eval_id=capitals.id, run_id=inline.id)
        ),
        # The last of all: it leaves none.
        "deleted_while_listed": [
            runs.delete(run.id, eval_id=capitals.id).run_id for run in runs.list(capitals.id, limit=2)
        ],
        "left": len(runs.list(capitals.id).data),
    }
)
