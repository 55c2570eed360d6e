"""azure-ai-projects: the OpenAI client of a Foundry project, and the example of the Azure documentation."""
# mypy: disable-error-code="import-not-found"

import os
import time
from typing import Any

from azure.ai.projects import AIProjectClient
from azure.core.credentials import AccessToken
from openai.types.evals.create_eval_jsonl_run_data_source_param import CreateEvalJSONLRunDataSourceParam, SourceFileID

from tests.clients.scripts.facts import finished, tell

SERVER, KEY = os.environ["SERVER"], os.environ["OPENAI_API_KEY"]
for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
    del os.environ[name]


class Credential:
    """Gives the server's key where Azure would give a token."""

    def get_token(self, *scopes: str, **more: Any) -> AccessToken:
        return AccessToken(KEY, int(time.time()) + 3600)


def road(client: Any) -> dict[str, Any]:
    dataset = client.files.create(
        file=("data.jsonl", b'{"query": "I love it", "response": "Paris", "ground_truth": "Paris"}\n'), purpose="evals"
    )
    eval_ = client.evals.create(
        name="aoai graders test",
        data_source_config={
            "type": "custom",
            "item_schema": {
                "type": "object",
                "properties": {"query": {"type": "string"}, "response": {"type": "string"}},
                "required": [],
            },
            "include_sample_schema": True,
        },
        testing_criteria=[
            {
                "type": "label_model",
                "model": "gpt-4o",
                "input": [
                    {"role": "developer", "content": "Classify the sentiment."},
                    {"role": "user", "content": "Statement: {{item.query}}"},
                ],
                "passing_labels": ["positive", "neutral"],
                "labels": ["positive", "neutral", "negative"],
                "name": "label_grader",
            },
            {
                "type": "text_similarity",
                "input": "{{item.ground_truth}}",
                "evaluation_metric": "bleu",
                "reference": "{{item.response}}",
                "pass_threshold": 1,
                "name": "text_check_grader",
            },
            {
                "type": "string_check",
                "input": "{{item.ground_truth}}",
                "reference": "{{item.ground_truth}}",
                "operation": "eq",
                "name": "string_check_grader",
            },
            {
                "type": "score_model",
                "name": "score",
                "model": "gpt-4o",
                "input": [
                    {"role": "system", "content": "Similarity on a scale from 1 to 5."},
                    {"role": "user", "content": "Output: {{item.response}}\nGround Truth: {{item.ground_truth}}"},
                ],
                "image_tag": "2025-05-08",
                "pass_threshold": 0.5,
            },
        ],
    )
    created = client.evals.runs.create(
        eval_id=client.evals.retrieve(eval_.id).id,
        name="dataset",
        metadata={"team": "eval-exp", "scenario": "notifications-v1"},
        data_source=CreateEvalJSONLRunDataSourceParam(source=SourceFileID(id=dataset.id, type="file_id"), type="jsonl"),
    )
    run = finished(client, eval_.id, created.id)
    items = list(client.evals.runs.output_items.list(run_id=run.id, eval_id=eval_.id))
    return {
        "status": run.status,
        "counts": run.result_counts.to_dict(),
        "metadata": run.metadata,
        "report_url": [created.report_url, run.report_url],
        "results": [[result.name.rsplit("-", 5)[0], result.score, result.passed] for result in items[0].results],
        "criteria": [each.to_dict() for each in run.per_testing_criteria_results],
        "names": [criterion.id for criterion in eval_.testing_criteria],
    }


with AIProjectClient(endpoint=f"{SERVER}/api/projects/p", credential=Credential()) as project:
    clients = {
        "by_token": project.get_openai_client(),
        "by_key": project.get_openai_client(base_url=f"{SERVER}/v1", api_key=KEY),
    }
    addresses = {name: str(client.base_url) for name, client in clients.items()}
    tell({"addresses": addresses, "roads": {name: road(client) for name, client in clients.items()}})
