"""Kept runs in Python, as the commands give them."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fairmark
from fairmark import InvalidData
from fairmark.settings import settings
from tests.cli.runs.keeping import Kept
from tests.server.client import Server


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The home that `kept` evaluates in is this process's too."""
    monkeypatch.setenv("FAIRMARK_HOME", str(tmp_path / "home"))
    settings.cache_clear()
    yield
    settings.cache_clear()


def test_a_run_is_what_runs_show_prints(kept: Kept) -> None:
    kept.evaluate([3], "--name", "main")
    printed = json.loads(kept.runs("show", "main", "--rows", "20", "--json"))
    assert fairmark.find_run("main").model_dump() == printed
    assert printed["not_passed"][0]["row"] == 3


def test_runs_are_listed_newest_first_and_by_their_names(kept: Kept) -> None:
    kept.evaluate([3], "--name", "main")
    kept.evaluate([4], "--name", "again")
    assert [run.name for run in fairmark.runs()] == ["again", "main"]
    assert [run.name for run in fairmark.runs(name="main", eval="rows")] == ["main"]
    assert [run.name for run in fairmark.runs(limit=1)] == ["again"]
    assert fairmark.runs(project="another") == []


def test_a_comparison_takes_names_runs_and_files(kept: Kept) -> None:
    results = kept.folder / "main.jsonl"
    kept.evaluate([1, 2], "--name", "main", "-o", str(results))
    kept.evaluate([2, 3], "--name", "again")
    comparison = fairmark.compare(str(results), "main", fairmark.find_run("again"))
    (criterion,) = comparison.criteria
    assert [flips and (flips.gained, flips.lost) for flips in criterion.flips] == [([], []), ([(1, 1)], [(3, 3)])]
    assert str(comparison) == kept.runs("compare", str(results), "main", "again").rstrip("\n")


def test_all_of_it_works_inside_a_running_loop(kept: Kept) -> None:
    kept.evaluate([3], "--name", "main")

    async def cell() -> list[Any]:
        return [fairmark.runs(), fairmark.find_run("last"), fairmark.compare("main", "last")]

    assert all("main" in shown._repr_html_() for shown in asyncio.run(cell()))


def test_a_server_is_asked_where_one_is_named(kept: Kept, tmp_path: Path) -> None:
    server = Server(tmp_path / "served")
    try:
        assert fairmark.runs(server=server.url) == []
        with pytest.raises(InvalidData, match='"main": there are no runs yet'):
            fairmark.find_run("main", server=server.url)
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: fairmark.find_run("main"), '"main": there are no runs yet'),
        (lambda: fairmark.compare("main"), "found 1 runs. From 2 to 6 can be compared."),
        (lambda: fairmark.compare("absent.jsonl", "other.jsonl"), "absent.jsonl"),
        (lambda: fairmark.runs(limit=0), "limit: found 0"),
        (lambda: fairmark.runs(server="no address"), "server: "),
    ],
)
def test_what_cannot_be_found_is_told(call: Callable[[], object], told: str) -> None:
    with pytest.raises(InvalidData, match=told):
        call()
