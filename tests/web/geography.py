"""A run that has everything: answers of a model, judges, Python that fails and prints, parts, errors."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.judges.faults import Answer, FaultServer, Request, Wire
from tests.server.client import Server, wait_for

TOML = """
[providers.house]
base_url = "{url}"
[models.student]
provider = "house"
price_in = 0.5
price_out = 1.0
[models.judge]
provider = "house"
price_in = 1.0
price_out = 10.0
[models.contrary]
provider = "house"
"""
SAID = """## Paris

The capital of **France** is *Paris*, see [the article](https://example.org/paris).

1. It lies on the Seine.
2. It has about `2,100,000` people.

| City | People |
|---|--:|
| Paris | 2,102,650 |

```python
print("Paris")
```
"""
SAID_JSON = '{"city": "Paris", "country": {"name": "France", "people": 68000000}, "sure": true}'
STEPS = [
    {"description": "Compare with the reference.", "conclusion": "Both name Paris."},
    {"description": "Is it short, as was asked?", "conclusion": "One word would do."},
]
PYTHON = """def grade(sample, item):
    print("looking at", item["n"])
    if item["n"] % 7 == 3:
        raise ValueError("no city in " + item["question"])
    return item["n"] % 10 / 10
"""
CRITERIA: list[dict[str, Any]] = [
    {
        "type": "string_check",
        "name": "mentions Paris",
        "input": "{{sample.output_text}}",
        "reference": "Paris",
        "operation": "like",
    },
    {
        "type": "score_model",
        "name": "helpful and short",
        "model": "judge",
        "pass_threshold": 0.4,
        "input": [
            {"role": "system", "content": "You grade answers."},
            {"role": "user", "content": "Question {{item.n}}: {{item.question}} Answer: {{sample.output_text}}"},
        ],
    },
    {"type": "python", "name": "well formed", "source": PYTHON, "pass_threshold": 0.3},
    {
        "type": "multi",
        "name": "all together",
        "calculate_output": "0.5 * alike + 0.5 * other",
        "graders": {
            "alike": {
                "type": "text_similarity",
                "name": "alike",
                "input": "{{sample.output_text}}",
                "reference": "{{item.answer}}",
                "evaluation_metric": "fuzzy_match",
                "pass_threshold": 0.5,
            },
            "other": {
                "type": "string_check",
                "name": "other",
                "input": "{{item.known}}",
                "reference": "no",
                "operation": "ne",
            },
        },
    },
]


class House:
    """The student answers in Markdown, every third time in JSON. The judge's result is the question's number / 20;
    that of `contrary` is what is missing from it to 1."""

    latency_s = 0.0
    held_from: int | None = None
    """Questions from this number on wait until it is a higher one, or none."""

    async def play(self, wire: Wire, request: Request) -> None:
        await asyncio.sleep(self.latency_s)
        text = request.body["messages"][-1]["content"]
        if request.body["model"] == "student":
            number = int(text.split()[-1])
            while self.held_from is not None and number >= self.held_from:
                await asyncio.sleep(0.05)
            await Answer(SAID if number % 3 else SAID_JSON).play(wire, request)
            return
        number = int(text.split("Question ")[1].split(":")[0])
        result = number % 20 / 20
        if request.body["model"] == "contrary":
            result = 1 - result
        await Answer(json.dumps({"steps": STEPS, "result": result})).play(wire, request)


class Geography(Server):
    """The server, and the paths of its eval and of its run, which has ended."""

    house: House
    eval: str
    run: str

    def start(self, rows: int, name: str = "student, temperature 1", **more: Any) -> str:
        """The path of a new run's page."""
        content = [
            {
                "item": {
                    "question": f"What is the capital of France? Way {n}",
                    "answer": "Paris",
                    "n": n,
                    "tags": ["geo", "easy"],
                    **({"known": "yes"} if n % 5 else {}),
                }
            }
            for n in range(rows)
        ]
        source = {
            "type": "completions",
            "model": "student",
            "input_messages": {
                "type": "template",
                "template": [
                    {"role": "system", "content": "Answer briefly."},
                    {"role": "user", "content": "{{item.question}} number {{item.n}}"},
                ],
            },
            "source": {"type": "file_content", "content": content},
        }
        answer = self.post(f"/v1{self.eval}/runs", {"name": name, "data_source": source, **more})
        assert answer.status == 201, answer.body
        return f"{self.eval}/runs/{answer.json()['id']}"

    def cancel_all(self) -> None:
        """Whatever goes on still. Who is asked answers at once again."""
        self.house.latency_s, self.house.held_from = 0.0, None
        for run in self.get(f"/v1{self.eval}/runs?limit=100").json()["data"]:
            if run["status"] in ("queued", "in_progress"):
                assert self.post(f"/v1{self.eval}/runs/{run['id']}", {}).status == 200

    def wait(self, path: str) -> None:
        wait_for(lambda: self.get(f"/v1{path}").json()["status"] not in ("queued", "in_progress"), 60)


JURY = {
    "type": "score_model",
    "name": "jury",
    "model": "judge",
    "panel": ["contrary"],
    "input": [{"role": "user", "content": "Question {{item.n}}: ?"}],
}
"""Of one mind only about question 10 of twenty: for both it is worth a half, which passes."""


@contextmanager
def geography(folder: Path, rows: int = 60, **environment: str) -> Iterator[Geography]:
    with FaultServer() as model:
        house = House()
        model.always(house)
        (folder / "fairmark.toml").write_text(TOML.format(url=model.url))
        started = Geography(folder / "home", {"FAIRMARK_JUDGE_CACHE": "off", **environment})
        try:
            schema = {"type": "object", "properties": {"question": {"type": "string"}, "n": {"type": "integer"}}}
            config = {"type": "custom", "item_schema": schema, "include_sample_schema": True}
            body = {"name": "Geography", "data_source_config": config, "testing_criteria": CRITERIA}
            answer = started.post("/v1/evals", body)
            assert answer.status == 201, answer.body
            started.house, started.eval = house, f"/evals/{answer.json()['id']}"
            started.run = started.start(rows)
            started.wait(started.run)
            yield started
        finally:
            started.stop()
        assert "Traceback" not in started.stderr.read_text()
