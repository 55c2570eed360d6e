"""fairmark runs list, show, export and delete: what fairmark eval kept."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from fairmark.cli.runs import listing
from fairmark.data.comparing import Outcomes
from fairmark.errors import InvalidData
from fairmark.kept.found import KeptRun
from tests.cli.grading.evaluating import EXACT
from tests.cli.runs.keeping import Kept


def test_runs_are_listed_the_newest_first(kept: Kept) -> None:
    first = kept.evaluate([3], "--name", "main")
    second = kept.evaluate([3, 4])
    heading, *rows = kept.runs("list").splitlines()
    assert heading.split() == ["run", "name", "eval", "begun", "status", "rows", "passed", "errors", "warnings", "cost"]
    assert [row.split()[:3] for row in rows] == [[second, "-", "rows"], [first, "main", "rows"]]
    assert [row.split()[4:7] for row in rows] == [["completed", "20", "90.0%"], ["completed", "20", "95.0%"]]
    assert [row.split()[0] for row in kept.runs("list", "--name", "main").splitlines()[1:]] == [first]
    assert [row["name"] for row in json.loads(kept.runs("list", "--json", "--limit", "1"))] == [""]
    assert kept.runs("list", "--eval", "other") == "There are no such runs.\n"


def test_a_rate_that_nobody_may_believe_is_listed_with_its_warnings(kept: Kept) -> None:
    data = kept.folder / "flat.jsonl"
    data.write_text('{"a": "1", "output": "1"}\n{"a": "2", "output": "2"}\n')
    assert kept.fairmark("eval", str(data), "--grader", EXACT, env=kept.env).returncode == 3
    assert kept.runs("list").splitlines()[1].split()[5:] == ["2", "0.0%", "0", "2", "-"]


def test_nothing_is_listed_where_nothing_was_kept(kept: Kept) -> None:
    assert kept.evaluate([], "--no-store") == ""
    assert not (kept.folder / "home").exists()
    assert kept.runs("list") == "There are no runs yet. fairmark eval makes them.\n"


def test_a_run_is_shown_with_intervals_and_the_rows_that_did_not_pass(kept: Kept) -> None:
    run = kept.evaluate([3, 7], "--name", "main")
    text = kept.runs("show", run[:4])
    assert text.startswith(f"main ({run}): completed, 20 rows of rows\n")
    assert f"data {kept.folder / 'rows.jsonl'}, sha256 " in text
    assert "exact      90.0%      69.9% … 97.2%  18      2       0       0" in text
    assert '  3: exact 0.0 failed  {"a": "3"}\n  7: exact 0.0 failed  {"a": "7"}\n' in text
    found = json.loads(kept.runs("show", "main", "--json", "--rows", "1"))
    assert found["criteria"] == {"exact": {"passed": 18, "failed": 2, "errors": 0, "skipped": 0}}
    assert [row["row"] for row in found["not_passed"]] == [3]
    assert len(found["data"]["sha256"]) == 64


def test_what_is_wrong_is_told(kept: Kept) -> None:
    kept.evaluate([], "--name", "main")
    for words, told in (
        (["show", "maim"], '"maim": no run has this id or name, and there is no such file. Names: main.'),
        (["show", "ffffffffff"], "no run has this id or name"),
        (["delete"], "Name the runs to delete, or give --keep N."),
        (["delete", "last", "--keep", "1"], "Name the runs to delete, or give --keep N."),
        (["list", "--server", "nonsense"], "It takes the address"),
    ):
        assert told in kept.runs(*words, code=2)


def test_an_exported_run_is_a_results_file_that_says_the_same(kept: Kept) -> None:
    kept.evaluate([3, 7], "--name", "main")
    path = kept.folder / "out.jsonl"
    assert kept.runs("export", "main", "-o", str(path)) == ""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[2]["row"] == 3
    assert lines[2]["results"] == {"exact": {"reward": 0.0, "passed": False, "status": "graded"}}
    assert "the same on every row" in kept.runs("compare", "main", str(path))
    item = json.loads(kept.runs("export", "main", "--items").splitlines()[2])
    assert (item["object"], item["status"]) == ("eval.run.output_item", "fail")


def test_runs_are_deleted_by_name_or_but_for_the_last_ones(kept: Kept) -> None:
    ids = [kept.evaluate([], "--name", f"n{number}") for number in range(4)]
    assert kept.runs("delete", "n0") == f"deleted n0 ({ids[0]})\n"
    assert kept.runs("delete", "--keep", "1").splitlines() == [f"deleted n2 ({ids[2]})", f"deleted n1 ({ids[1]})"]
    assert [row.split()[0] for row in kept.runs("list").splitlines()[1:]] == [ids[3]]


class Stored:
    """A run of two pages of one row each, which tells what was written before the second one was asked for."""

    def __init__(self, rows: int, written: Callable[[], str]) -> None:
        self.before_second = ""
        self._rows = rows
        self._written = written

    async def runs(
        self, limit: int, eval_name: str = "", name: str | None = None, start: str | None = None
    ) -> list[KeptRun]:
        counts = Outcomes(self._rows, 0, 0, 0)
        about = ("evalrun_0123", "eval_1", "capitals", "main", "completed", 0, self._rows)
        return [KeptRun(*about, counts, [], {}, None, None, None)]

    async def whole(self, run: KeptRun) -> KeptRun:
        return run

    async def items(self, run: KeptRun) -> AsyncIterator[list[bytes]]:
        yield [b'{"datasource_item_id":0}']
        self.before_second = self._written()
        yield [b'{"datasource_item_id":1}']


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[int], Stored]:
    def of(rows: int) -> Stored:
        place = Stored(rows, lambda: capsys.readouterr().out)
        monkeypatch.setattr(listing, "with_place", lambda server, project, db, work: asyncio.run(work(place)))
        return place

    return of


def test_rows_are_written_before_the_next_ones_are_read(stored: Callable[[int], Stored]) -> None:
    place = stored(2)
    listing.export("main", items=True)
    assert place.before_second == '{"datasource_item_id":0}\n'


def test_a_run_that_is_deleted_meanwhile_replaces_no_file(stored: Callable[[int], Stored], tmp_path: Path) -> None:
    stored(3)
    path = tmp_path / "out.jsonl"
    path.write_text("before")
    with pytest.raises(InvalidData, match="deleted meanwhile, after 2 of its 3 rows"):
        listing.export("main", str(path), items=True)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
