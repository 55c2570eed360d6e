"""Two servers on one PostgreSQL: what one does, the other knows, and each run is worked off once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.evals.house import Models, open_house
from tests.postgres import Postgres
from tests.server.client import EXACT, Server, wait_for
from tests.store.conftest import MIGRATED, postgres

__all__ = ["postgres"]

CONFIG = {"type": "custom", "item_schema": {}, "include_sample_schema": True}
JUDGE = {
    "type": "score_model",
    "name": "judged",
    "model": "judge",
    "input": [{"role": "user", "content": "{{item.answer}}"}],
    "pass_threshold": 0.5,
}


class Pair:
    """Two servers with the same models, database and files."""

    def __init__(self, folder: Path, database: str, models: Models) -> None:
        self.models = models
        environment = {**models.environment, "FAIRMARK_DB": database, "FAIRMARK_HOME": str(folder / "shared")}
        self.servers = [Server(folder / name, environment) for name in ("one", "other")]

    def new_eval(self, criterion: dict[str, Any]) -> str:
        """Where its runs are."""
        made = self.servers[0].post("/v1/evals", {"data_source_config": CONFIG, "testing_criteria": [criterion]})
        return f"/v1/evals/{made.json()['id']}/runs"

    def new_run(self, where: str, answers: list[str], by: int) -> str:
        rows = [{"item": {"answer": answer}, "sample": {"output_text": answer}} for answer in answers]
        source = {"type": "jsonl", "source": {"type": "file_content", "content": rows}}
        made = self.servers[by].post(where, {"data_source": source})
        assert made.status == 201
        return f"{where}/{made.json()['id']}"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, postgres: Postgres) -> Iterator[Pair]:
    with open_house() as models:
        made = Pair(tmp_path_factory.mktemp("pair"), postgres.new_database(MIGRATED), models)
        yield made
        for server in made.servers:
            server.stop()
            assert "Traceback" not in server.stderr.read_text()


def test_a_list_goes_on_from_entries_that_the_other_server_deleted(pair: Pair) -> None:
    where = pair.new_eval(EXACT)
    for number in range(9):
        pair.new_run(where, ["x"], by=number % 2)
    seen: list[str] = []
    query, more = "?limit=4", True
    while more:
        page = pair.servers[0].get(f"{where}{query}").json()
        for run in page["data"]:
            assert pair.servers[1].request("DELETE", f"{where}/{run['id']}").status == 200
            seen.append(run["id"])
        query, more = f"?limit=4&after={page['last_id']}", page["has_more"]
    assert len(set(seen)) == len(seen) == 9
    assert pair.servers[0].get(where).json()["data"] == []


def test_each_run_is_worked_off_once_and_both_tell_the_same_of_it(pair: Pair) -> None:
    where, before = pair.new_eval(JUDGE), len(pair.models.requests)
    asked = [[f"run {number} row {row}" for row in range(5)] for number in range(6)]
    paths = [pair.new_run(where, answers, by=number % 2) for number, answers in enumerate(asked)]
    for path in paths:
        for server in pair.servers:
            wait_for(lambda: server.get(path).json()["status"] == "completed")  # noqa: B023  # called at once
            assert server.get(path).json()["result_counts"]["passed"] == 5
    assert sorted(pair.models.asked_of("judge", before)) == sorted(answer for answers in asked for answer in answers)


@pytest.mark.parametrize("way", ["cancel", "delete"])
def test_a_run_that_was_made_at_one_server_is_ended_at_the_other(pair: Pair, way: str) -> None:
    """That the work ends too, wherever it is done, is tested in tests/evals/test_engine.py."""
    where = pair.new_eval(JUDGE)
    for by in (0, 1):
        path = pair.new_run(where, [f"HANG {way} {by}"] * 3, by)
        wait_for(lambda: any(f"HANG {way} {by}" in text for text in pair.models.asked_of("judge")))  # noqa: B023
        for server in pair.servers:
            wait_for(lambda: server.get(path).json()["status"] == "in_progress")  # noqa: B023
        if way == "cancel":
            assert pair.servers[1 - by].post(path, {}).json()["status"] == "canceled"
            assert pair.servers[by].get(path).json()["status"] == "canceled"
        else:
            assert pair.servers[1 - by].request("DELETE", path).status == 200
            assert pair.servers[by].get(path).status == 404
