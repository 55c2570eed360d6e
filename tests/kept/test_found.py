"""Which run is meant by what people type, in a store and on a server."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.runs.keeping import Kept
from tests.server.client import Server, wait_for


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """One that runs on the same home as `fairmark eval`."""
    started = Server(tmp_path / "home")
    yield started
    started.stop()


def test_a_server_that_runs_shows_what_eval_keeps_beside_it(server: Server, fairmark: Run, kept: Kept) -> None:
    run = kept.evaluate([3], "--name", "main")

    def listed() -> list[str]:
        return [row.split()[0] for row in kept.runs("list", "--server", server.url).splitlines()[1:]]

    wait_for(lambda: listed() == [run], 120)
    shown = kept.runs("show", "main", "--server", server.url)
    assert "exact      95.0%" in shown
    assert '  3: exact 0.0 failed  {"a": "3"}' in shown
    assert "the same on every row" in kept.runs("compare", run, "last", "--server", server.url)
    (eval_,) = server.request("GET", "/v1/evals").json()["data"]
    (found,) = server.request("GET", f"/v1/evals/{eval_['id']}/runs").json()["data"]
    assert found["result_counts"]["passed"] == 19
    page = server.request("GET", f"/evals/{eval_['id']}/runs/{found['id']}")
    assert page.status == 200
    assert kept.runs("delete", run[:6], "--server", server.url) == f"deleted main ({run})\n"
    assert listed() == []


def test_a_name_means_the_last_completed_run_of_it(kept: Kept) -> None:
    kept.evaluate([], "--name", "main")
    second = kept.evaluate([1], "--name", "main")
    with (kept.folder / "rows.jsonl").open("a") as rows:
        rows.write("{broken\n")
    stopped = kept.fairmark(
        "eval",
        str(kept.folder / "rows.jsonl"),
        "--grader",
        "examples/exact.json",
        "--name",
        "main",
        "--eval",
        "rows",
        env=kept.env,
    )
    assert stopped.returncode == 2
    assert json.loads(kept.runs("show", "main", "--json"))["id"].startswith(f"evalrun_{second}")
    assert json.loads(kept.runs("show", "last", "--json"))["status"] == "canceled"
