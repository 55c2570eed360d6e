"""Projects of a server by their keys, and graders registered in them."""

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairmark.store import Store
from tests.server.client import EXACT, RUN, Answer, Server, run_body, wait_for
from tests.server.databases import DATABASES, Api, serving
from tests.store.conftest import postgres  # noqa: F401  # a fixture

OTHER = {**EXACT, "operation": "ne"}

FUNCTION = "async def grade(thread: StringThread) -> float:\n    return 1.0\n"

JUDGE = {"type": "binary_judge", "model": "judge", "criteria": "It is polite."}

ROWS = [{"item": {"answer": "Paris"}, "sample": each} for each in ("Paris", "Rome")]

REWARDS = "/v1/rewards"

NUMBERS = itertools.count(1)


class Project:
    """One project of a server, by its key."""

    def __init__(self, server: Server, headers: dict[str, str]) -> None:
        self.server = server
        self.headers = headers

    def ask(self, method: str, path: str, body: Any = None) -> Answer:
        return self.server.request(method, path, body, self.headers)

    def post(self, path: str, body: Any) -> Answer:
        return self.ask("POST", path, body)

    def get(self, path: str) -> Answer:
        return self.ask("GET", path)

    def patch(self, key: str, **changes: Any) -> Answer:
        return self.ask("PATCH", f"/v1/graders/{key}", changes)

    def register(self, key: str, grader: Any = EXACT, **more: Any) -> dict[str, Any]:
        answer = self.post("/v1/graders", {"key": key, "grader": grader, **more})
        assert answer.status == 201, answer.body
        made: dict[str, Any] = answer.json()
        return made

    def keys(self) -> list[str]:
        return [each["key"] for each in self.get("/v1/graders?limit=100").json()["data"]]

    def grade(self, grader: Any, sample: str = "Paris") -> dict[str, Any]:
        answer = self.post(RUN, run_body(grader, sample))
        assert answer.status == 200, answer.body
        result: dict[str, Any] = answer.json()
        return result

    def new_eval(self, *criteria: dict[str, Any]) -> str:
        config = {"type": "custom", "item_schema": {}}
        answer = self.post("/v1/evals", {"data_source_config": config, "testing_criteria": list(criteria)})
        assert answer.status == 201, answer.body
        return f"/v1/evals/{answer.json()['id']}"

    def new_run(self, where: str, rows: int = 2) -> dict[str, Any]:
        answer = self.try_run(where, rows)
        assert answer.status == 201, answer.body
        run: dict[str, Any] = answer.json()
        return run

    def try_run(self, where: str, rows: int = 2) -> Answer:
        content = [{"item": {"answer": "Paris"}, "sample": {"output_text": "Paris"}}] * rows
        return self.post(
            f"{where}/runs", {"data_source": {"type": "jsonl", "source": {"type": "file_content", "content": content}}}
        )

    def ended(self, where: str, run: dict[str, Any]) -> dict[str, Any]:
        path = f"{where}/runs/{run['id']}"
        wait_for(lambda: self.get(path).json()["status"] not in ("queued", "in_progress"), 60)
        found: dict[str, Any] = self.get(path).json()
        assert found["status"] == "completed", found
        return found

    def results(self, where: str, run: dict[str, Any]) -> list[dict[str, Any]]:
        """The first criterion's result of every item."""
        path, after, found = f"{where}/runs/{run['id']}/output_items?limit=100", "", []
        while True:
            page = self.get(path + after).json()
            found += [each["results"][0] for each in page["data"]]
            if not page["has_more"]:
                return found
            after = f"&after={page['last_id']}"


def new_key(project: str, home: Path, url: str | None) -> str:
    async def make() -> str:
        store = await Store.open(url, home, exclusive=False)
        try:
            return await store.keys.create(project, "test")
        finally:
            await store.close()

    return asyncio.run(make())


@pytest.fixture(scope="module", params=DATABASES)
def api(request: pytest.FixtureRequest) -> Iterator[Api]:
    with serving(request, request.param) as started:
        yield started


@pytest.fixture(scope="module")
def ours(api: Api) -> Project:
    return Project(api, {"authorization": f"Bearer {new_key('ours', api.home, api.database)}"})


@pytest.fixture(scope="module")
def theirs(api: Api) -> Project:
    return Project(api, {"authorization": f"Bearer {new_key('theirs', api.home, api.database)}"})


@pytest.fixture
def key() -> str:
    """One that no other test has."""
    return f"grader-{next(NUMBERS)}"


def reference(key: str, **more: Any) -> dict[str, Any]:
    return {"type": "registered", "key": key, **more}


def both(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    return {"type": "multi", "graders": {"a": one, "b": two}, "calculate_output": "(a + b) / 2"}
