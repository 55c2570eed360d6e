"""The newest openai package: the whole life of evals."""
# mypy: disable-error-code="import-not-found"

from typing import Any

from openai import OpenAI

from tests.clients.scripts.facts import ITEM_SCHEMA, caught, name_of, tell

client = OpenAI()
SOURCE = {"type": "custom", "item_schema": ITEM_SCHEMA, "include_sample_schema": True}
JUDGE = [{"role": "developer", "content": "Which mood?"}, {"role": "user", "content": "{{sample.output_text}}"}]
CRITERIA = [
    {
        "type": "label_model",
        "name": "a mood",
        "model": "gpt-5-mini",
        "input": JUDGE,
        "labels": ["good", "bad"],
        "passing_labels": ["good"],
    },
    {
        "type": "string_check",
        "name": "exact",
        "input": "{{sample.output_text}}",
        "reference": "{{item.answer}}",
        "operation": "eq",
    },
    {
        "type": "text_similarity",
        "name": "close",
        "input": "{{sample.output_text}}",
        "reference": "{{item.answer}}",
        "evaluation_metric": "rouge_l",
        "pass_threshold": 0.5,
    },
    {"type": "python", "name": "code", "source": "def grade(sample, item):\n    return 1\n", "pass_threshold": 0.5},
    {
        "type": "score_model",
        "name": "score",
        "model": "gpt-5-mini",
        "input": JUDGE,
        "range": [1, 7],
        "pass_threshold": 5.5,
        "sampling_params": {"temperature": 0.2, "max_completions_tokens": 100},
    },
]


def one(name: str) -> Any:
    return client.evals.create(name=name, data_source_config=SOURCE, testing_criteria=[CRITERIA[1]])


full = client.evals.create(
    name="everything", metadata={"team": "blue"}, data_source_config=SOURCE, testing_criteria=CRITERIA
)
raw = client.evals.with_raw_response.create(data_source_config=SOURCE, testing_criteria=[CRITERIA[1], CRITERIA[1]])
nameless = raw.parse()
logs = client.evals.create(
    data_source_config={"type": "logs", "metadata": {"usecase": "chat"}}, testing_criteria=[CRITERIA[1]]
)
stored = client.evals.create(
    data_source_config={"type": "stored_completions", "metadata": {"usecase": "chat"}}, testing_criteria=[CRITERIA[1]]
)
others = [one(f"number {number}") for number in range(3)]
everyone = [full, nameless, logs, stored, *others]

updated = client.evals.update(full.id, name="renamed")
updated_metadata = client.evals.update(full.id, metadata={"team": "red"})
pages = [[each.id for each in page.data] for page in client.evals.list(limit=3).iter_pages()]
tell(
    {
        "all": [each.id for each in everyone],
        "class": name_of(full),
        "criteria_classes": [name_of(criterion) for criterion in full.testing_criteria],
        "criteria": [criterion.to_dict() for criterion in full.testing_criteria],
        "thresholds": [getattr(criterion, "pass_threshold", None) for criterion in full.testing_criteria],
        "source_class": name_of(full.data_source_config),
        "schema": full.data_source_config.schema_,
        "eval": full.to_dict(),
        "request_id": full._request_id,
        "status": raw.status_code,
        "nameless": nameless.to_dict(),
        "logs": [name_of(logs.data_source_config), logs.data_source_config.to_dict()],
        "stored": [name_of(stored.data_source_config), stored.data_source_config.to_dict()],
        "retrieved": client.evals.retrieve(full.id).to_dict(),
        "updated": [updated.name, updated.metadata],
        "updated_metadata": [updated_metadata.name, updated_metadata.metadata],
        "pages": pages,
        "newest_first": [each.id for each in client.evals.list(order="desc", limit=2)],
        "last_updated_first": next(each.id for each in client.evals.list(order="desc", order_by="updated_at")),
        "deleted": client.evals.delete(full.id).to_dict(),
        "after_delete": caught(lambda: client.evals.retrieve(full.id)),
        "delete_again": caught(lambda: client.evals.delete(full.id)),
        "update_deleted": caught(lambda: client.evals.update(full.id, name="x")),
    }
)
