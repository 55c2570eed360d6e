"""azure-ai-evaluation: evaluate() with graders whose model configuration points at the server."""
# mypy: disable-error-code="import-not-found"

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from azure.ai.evaluation import (
    AzureOpenAIGrader,
    AzureOpenAILabelGrader,
    AzureOpenAIModelConfiguration,
    AzureOpenAIPythonGrader,
    AzureOpenAIScoreModelGrader,
    AzureOpenAIStringCheckGrader,
    AzureOpenAITextSimilarityGrader,
    OpenAIModelConfiguration,
    evaluate,
)

from tests.clients.scripts.facts import tell

SERVER, KEY = os.environ["SERVER"], os.environ["OPENAI_API_KEY"]
ROWS = Path(__file__).parents[2] / "northwind.json"
OVERLAP = """
    def grade(sample, item) -> float:
     found = set(item.get("response", "").lower().split())
     wanted = set(item.get("ground_truth", "").lower().split())

     if not wanted:
      return 0.0

     return min(1.0, len(found & wanted) / len(wanted))
"""
CONFIGS = {
    "azure": AzureOpenAIModelConfiguration(
        azure_endpoint=SERVER, api_key=KEY, azure_deployment="gpt-4o", api_version="2024-12-01-preview"
    ),
    "no_deployment": AzureOpenAIModelConfiguration(azure_endpoint=f"{SERVER}/", api_key=KEY, azure_deployment=None),
    "openai": OpenAIModelConfiguration(api_key=KEY, model="gpt-4o", base_url=f"{SERVER}/v1"),
}
del CONFIGS["no_deployment"]["azure_deployment"]


def length(response: str) -> dict[str, int]:
    return {"characters": len(response)}


def evaluators(config: Any) -> dict[str, Any]:
    """The graders of the Azure documentation, one whose rows are all errors, and a function."""
    return {
        "string": AzureOpenAIStringCheckGrader(
            model_config=config,
            input="{{item.query}}",
            name="starts with what is",
            operation="like",
            reference="What is",
        ),
        "similarity": AzureOpenAITextSimilarityGrader(
            model_config=config,
            evaluation_metric="fuzzy_match",
            input="{{item.response}}",
            name="similarity",
            pass_threshold=0.5,
            reference="{{item.ground_truth}}",
        ),
        "label": AzureOpenAILabelGrader(
            model_config=config,
            input=[
                {"content": "{{item.response}}", "role": "user"},
                {
                    "content": "Any text including space that's more than 600 characters is too long, less than 500 "
                    "characters is too short; 500 to 600 characters is just right.",
                    "role": "user",
                    "type": "message",
                },
            ],
            labels=["too short", "just right", "too long"],
            passing_labels=["just right"],
            model="gpt-4o",
            name="label",
        ),
        "score": AzureOpenAIScoreModelGrader(
            model_config=config,
            input=[{"role": "system", "content": "A grade from 1 to 5 for: {{item.response}}"}],
            model="gpt-4o",
            name="score",
            range=[1, 5],
            pass_threshold=4.5,
            sampling_params={"temperature": 0.0},
        ),
        "custom": AzureOpenAIPythonGrader(
            model_config=config, name="custom_similarity", image_tag="2025-05-08", pass_threshold=0.3, source=OVERLAP
        ),
        "as_printed": AzureOpenAIPythonGrader(
            model_config=config,
            name="as_printed",
            pass_threshold=0.3,
            source=OVERLAP.replace("      return", "     return"),
        ),
        "raw": AzureOpenAIGrader(
            model_config=config,
            grader_config={
                "type": "string_check",
                "name": "raw",
                "input": "{{item.missing}}",
                "operation": "eq",
                "reference": "x",
            },
        ),
        "length": length,
    }


# A grader takes 4.5 s, so they are spread over the stories.
STORIES = {
    "azure": ["string", "similarity", "label"],
    "openai": ["string", "score", "length"],
    "no_deployment": ["custom", "as_printed", "raw"],
}
TIMES = 25
"""How often a story repeats its rows, for more of them than a page of items has."""


def told(story: str, folder: Path) -> dict[str, Any]:
    rows = json.loads(ROWS.read_text()) * (TIMES if story == "no_deployment" else 1)
    data = folder / f"{story}.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = evaluate(
        data=str(data),
        evaluators={name: value for name, value in evaluators(CONFIGS[story]).items() if name in STORIES[story]},
        evaluator_config={"length": {"column_mapping": {"response": "${data.response}"}}}
        if story == "openai"
        else None,
    )
    return {"rows": result["rows"], "metrics": result["metrics"], "runs": result["oai_eval_run_ids"]}


# All at the same time, each in a fork: the package takes longer to import than a story to tell.
with tempfile.TemporaryDirectory() as name:
    place = Path(name)
    children = {}
    for story in STORIES:
        child = os.fork()
        if child == 0:
            (place / f"{story}.json").write_text(json.dumps(told(story, place)))
            os._exit(0)
        children[child] = story
    for child in children:
        os.waitpid(child, 0)
    tell({story: json.loads((place / f"{story}.json").read_text()) for story in STORIES})
