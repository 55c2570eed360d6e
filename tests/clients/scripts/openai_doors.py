"""The newest openai package: every way to construct a client, each with a grade, an eval and a run."""
# mypy: disable-error-code="import-not-found"

import asyncio
import os
from typing import Any

from openai import AsyncOpenAI, AzureOpenAI, OpenAI

from tests.clients.scripts.facts import ITEM_SCHEMA, ROWS, finished, tell

SERVER, KEY, VERSION = os.environ["SERVER"], os.environ["OPENAI_API_KEY"], "2025-04-01-preview"
EXACT = {"type": "string_check", "name": "exact", "input": "{{item.answer}}", "reference": "Paris", "operation": "eq"}
for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
    del os.environ[name]

CLIENTS = {
    "openai": OpenAI(base_url=f"{SERVER}/v1", api_key=KEY),
    "openai with organization and project": OpenAI(
        base_url=f"{SERVER}/v1", api_key=KEY, organization="org-1", project="proj_1"
    ),
    "openai, empty organization": OpenAI(base_url=f"{SERVER}/v1", api_key=KEY, organization=""),
    "openai at azure's path": OpenAI(base_url=f"{SERVER}/openai/v1/", api_key=KEY),
    "openai at a foundry project": OpenAI(base_url=f"{SERVER}/api/projects/p/openai/v1", api_key=KEY),
    "openai, lower-case bearer": OpenAI(
        base_url=f"{SERVER}/v1", api_key="x", default_headers={"Authorization": f"bearer {KEY}"}
    ),
    "azure": AzureOpenAI(azure_endpoint=SERVER, api_version=VERSION, api_key=KEY),
    "azure, trailing slash": AzureOpenAI(azure_endpoint=f"{SERVER}/", api_version=VERSION, api_key=KEY),
    "azure with a deployment": AzureOpenAI(
        azure_endpoint=SERVER, api_version=VERSION, api_key=KEY, azure_deployment="gpt-4o"
    ),
    "azure with a token": AzureOpenAI(azure_endpoint=SERVER, api_version=VERSION, azure_ad_token=KEY),
    "azure with a token provider": AzureOpenAI(
        azure_endpoint=SERVER, api_version=VERSION, azure_ad_token_provider=lambda: KEY
    ),
    "azure by v1 base_url": AzureOpenAI(base_url=f"{SERVER}/openai/v1/", api_version="preview", api_key=KEY),
    "azure by deployment base_url": AzureOpenAI(
        base_url=f"{SERVER}/openai/deployments/gpt-4o", api_version=VERSION, api_key=KEY
    ),
    "azure at a deployment called evals": AzureOpenAI(
        base_url=f"{SERVER}/openai/deployments/evals", api_version=VERSION, api_key=KEY
    ),
}


def road(client: Any) -> list[Any]:
    """Every kind of route once."""
    reward = client.fine_tuning.alpha.graders.run(grader=EXACT, item={"answer": "Paris"}, model_sample="").reward
    eval_ = client.evals.create(
        data_source_config={"type": "custom", "item_schema": ITEM_SCHEMA}, testing_criteria=[EXACT]
    )
    file = client.files.create(file=("x.jsonl", b'{"item": {"answer": "Paris"}}'), purpose="evals")
    source = {"type": "jsonl", "source": {"type": "file_id", "id": file.id}}
    run = finished(client, eval_.id, client.evals.runs.create(eval_.id, data_source=source).id)
    items = list(client.evals.runs.output_items.list(run.id, eval_id=eval_.id))
    client.evals.runs.cancel(run.id, eval_id=eval_.id)
    client.evals.update(eval_.id, name="seen")
    seen = client.evals.retrieve(eval_.id).name
    client.evals.delete(eval_.id)
    return [reward, run.status, run.result_counts.passed, items[0].status, client.files.content(file.id).text, seen]


async def asynchronous() -> list[Any]:
    async with AsyncOpenAI(base_url=f"{SERVER}/v1", api_key=KEY) as client:
        run = await client.fine_tuning.alpha.graders.run(grader=EXACT, item=ROWS[0]["item"], model_sample="")
        evals = [
            await client.evals.create(
                data_source_config={"type": "custom", "item_schema": ITEM_SCHEMA}, testing_criteria=[EXACT]
            )
            for _ in range(3)
        ]
        listed = [each.id async for each in client.evals.list(limit=2)]
        return [run.reward, listed[-3:] == [each.id for each in evals]]


tell({"roads": {name: road(client) for name, client in CLIENTS.items()}, "async": asyncio.run(asynchronous())})
