"""The newest openai package: which exception comes of which mistake."""
# mypy: disable-error-code="import-not-found"

import os
from typing import Any

from openai import AzureOpenAI, OpenAI

from tests.clients.scripts.facts import ITEM_SCHEMA, ROWS, caught, tell

client = OpenAI()
graders = client.fine_tuning.alpha.graders
EXACT = {"type": "string_check", "name": "exact", "input": "{{item.answer}}", "reference": "x", "operation": "eq"}
SOURCE = {"type": "custom", "item_schema": ITEM_SCHEMA}
LABEL = {
    "type": "label_model",
    "name": "mood",
    "model": "gpt-5-mini",
    "input": [{"role": "user", "content": "{{item.answer}}"}],
    "labels": ["good"],
    "passing_labels": ["bad"],
}
capitals = client.evals.create(data_source_config=SOURCE, testing_criteria=[EXACT])


def create(*criteria: Any, **more: Any) -> Any:
    return client.evals.create(**{"data_source_config": SOURCE, "testing_criteria": list(criteria), **more})


def run(**data_source: Any) -> Any:
    return client.evals.runs.create(capitals.id, data_source=data_source)


def content(*rows: Any) -> dict[str, Any]:
    return {"type": "file_content", "content": list(rows)}


bad_line = client.files.create(file=("bad.jsonl", b'{"item": {"answer": "x"}}\n{"item": \n'), purpose="evals")
sampled = {"type": "completions", "source": content(*ROWS), "model": "gpt-4o-mini"}
asked = {"type": "template", "template": [{"role": "user", "content": "{{item.question}}"}]}

tell(
    {
        "validate operation": caught(lambda: graders.validate(grader={**EXACT, "operation": "equals"})),
        "validate no input": caught(lambda: graders.validate(grader={"type": "string_check", "operation": "eq"})),
        "validate unknown type": caught(lambda: graders.validate(grader={"type": "no_such"})),
        "validate text": caught(lambda: graders.validate(grader="string_check")),
        "validate source": caught(lambda: graders.validate(grader={"type": "python", "source": "def grade(:"})),
        "validate namespace": caught(lambda: graders.validate(grader={**EXACT, "input": "{{output.text}}"})),
        "validate bare multi": caught(
            lambda: graders.validate(
                grader={"type": "multi", "name": "m", "graders": EXACT, "calculate_output": "exact"}
            )
        ),
        "run operation": caught(lambda: graders.run(grader={**EXACT, "operation": "equals"}, model_sample="x")),
        "run no sample": caught(lambda: graders.run(grader=EXACT, model_sample=None)),
        "run item text": caught(lambda: graders.run(grader=EXACT, model_sample="", item="x")),
        "eval labels": caught(lambda: create(EXACT, LABEL)),
        "eval no threshold": caught(
            lambda: create({"type": "text_similarity", "input": "a", "reference": "b", "evaluation_metric": "bleu"})
        ),
        "eval no criteria": caught(lambda: create()),
        "eval config type": caught(lambda: create(EXACT, data_source_config={"type": "dice"})),
        "eval no schema": caught(lambda: create(EXACT, data_source_config={"type": "custom"})),
        "eval metadata": caught(lambda: create(EXACT, metadata={"a": 1})),
        "eval unknown": caught(lambda: client.evals.retrieve("eval_00000000000000000000000000000000")),
        "evals limit": caught(lambda: client.evals.list(limit=101)),
        "evals limit 0": caught(lambda: client.evals.list(limit=0)),
        "evals order": caught(lambda: client.evals.list(order="sideways")),
        "evals after": caught(lambda: client.evals.list(after="eval_00000000000000000000000000000000")),
        "run of unknown eval": caught(
            lambda: client.evals.runs.create("eval_0", data_source={"type": "jsonl", "source": content(*ROWS)})
        ),
        "run no rows": caught(lambda: run(type="jsonl", source=content())),
        "run bad row": caught(lambda: run(type="jsonl", source=content(*ROWS, "x"))),
        "run bad line": caught(lambda: run(type="jsonl", source={"type": "file_id", "id": bad_line.id})),
        "run unknown file": caught(lambda: run(type="jsonl", source={"type": "file_id", "id": "file-no"})),
        "run empty file id": caught(lambda: run(type="jsonl", source={"type": "file_id", "id": ""})),
        "run logs": caught(lambda: run(type="completions", source={"type": "stored_completions"})),
        "run responses": caught(lambda: run(type="responses", source={"type": "responses", "limit": 3})),
        "run type": caught(lambda: run(type="dice", source=content(*ROWS))),
        "run no messages": caught(lambda: run(**sampled)),
        "run built-in tool": caught(
            lambda: run(
                **sampled,
                input_messages=asked,
                sampling_params={"tools": [{"type": "web_search_preview"}]},
            )
        ),
        "run temperature": caught(lambda: run(**sampled, input_messages=asked, sampling_params={"temperature": "hot"})),
        "runs status": caught(lambda: client.evals.runs.list(capitals.id, status="asleep")),
        "items of unknown run": caught(lambda: client.evals.runs.output_items.list("evalrun_0", eval_id=capitals.id)),
        "cancel unknown run": caught(lambda: client.evals.runs.cancel("evalrun_0", eval_id=capitals.id)),
        "file unknown": caught(lambda: client.files.retrieve("file-no")),
        "unknown route": caught(lambda: client.get("/no/such/route", cast_to=object)),
        "not allowed": caught(lambda: client.put("/evals", cast_to=object, body={})),
        "no JSON": caught(
            lambda: client.post(
                "/evals", cast_to=object, content=b"{", options={"headers": {"Content-Type": "application/json"}}
            )
        ),
        "wrong key": caught(lambda: OpenAI(api_key="fm-wrong").evals.list()),
        "wrong azure key": caught(
            lambda: AzureOpenAI(
                azure_endpoint=os.environ["SERVER"], api_version="2025-04-01-preview", api_key="fm-wrong"
            ).evals.list()
        ),
        "wrong key for graders": caught(
            lambda: OpenAI(api_key="fm-wrong").fine_tuning.alpha.graders.validate(grader=EXACT)
        ),
        "wrong key, unknown route": caught(lambda: OpenAI(api_key="fm-wrong").get("/no/such/route", cast_to=object)),
    }
)
