"""The oldest openai package we serve: cancel by a POST to the run itself, and results that are dicts."""
# mypy: disable-error-code="import-not-found"

import openai
from openai import OpenAI

from tests.clients.scripts.facts import ITEM_SCHEMA, ROWS, caught, finished, name_of, tell

client = OpenAI()
graders = client.fine_tuning.alpha.graders
EXACT = {"type": "string_check", "name": "exact", "input": "{{item.answer}}", "reference": "Paris", "operation": "eq"}
# It knows no item here: the reference answer takes its place.
GRADED = {**EXACT, "input": "{{sample.output_text}}", "reference": "{{item.reference_answer}}"}
MULTI = {"type": "multi", "name": "multi", "graders": {"exact": GRADED}, "calculate_output": "exact * 2"}

capitals = client.evals.create(
    name="capitals",
    data_source_config={"type": "custom", "item_schema": ITEM_SCHEMA},
    testing_criteria=[EXACT],
)
file = client.files.create(file=("rows.jsonl", b'{"item": {"answer": "Paris"}}\n' * 25), purpose="evals")
from_file = finished(
    client,
    capitals.id,
    client.evals.runs.create(
        capitals.id, data_source={"type": "jsonl", "source": {"type": "file_id", "id": file.id}}
    ).id,
)
inline = finished(
    client,
    capitals.id,
    client.evals.runs.create(
        capitals.id, data_source={"type": "jsonl", "source": {"type": "file_content", "content": ROWS}}
    ).id,
)
items = list(client.evals.runs.output_items.list(inline.id, eval_id=capitals.id))
slow = client.evals.runs.create(
    capitals.id,
    data_source={
        "type": "completions",
        "source": {"type": "file_content", "content": [{"item": {"question": "SLOW", "answer": ""}}]},
        "model": "gpt-4o-mini",
        "input_messages": {"type": "template", "template": [{"role": "user", "content": "{{item.question}}"}]},
    },
)
canceled = client.evals.runs.cancel(slow.id, eval_id=capitals.id)
tell(
    {
        "version": openai.__version__,
        "validated": name_of(graders.validate(grader=EXACT).grader),
        "reward": graders.run(grader=GRADED, model_sample="Paris", reference_answer="Paris").reward,
        "multi": graders.run(grader=MULTI, model_sample="Paris", reference_answer="Paris").reward,
        "criterion": capitals.testing_criteria[0].id,
        "inline": [inline.status, inline.result_counts.to_dict()],
        "from_file": [from_file.status, from_file.result_counts.to_dict()],
        "pages": len(list(client.evals.runs.output_items.list(from_file.id, eval_id=capitals.id, limit=10))),
        "results": [item.results for item in items],
        "canceled": [canceled.status, client.evals.runs.retrieve(slow.id, eval_id=capitals.id).status],
        "cancel_finished": client.evals.runs.cancel(inline.id, eval_id=capitals.id).status,
        "bad_grader": caught(lambda: graders.validate(grader={**EXACT, "operation": "equals"})),
        "deleted": client.evals.delete(capitals.id).to_dict(),
    }
)
