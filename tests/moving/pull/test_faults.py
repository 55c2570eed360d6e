"""What a service may do to whoever reads it, and that the archive is the same for it, or says what is missing."""

import dataclasses
import json
from pathlib import Path

import pytest

from fairmark.errors import KeyRefused
from fairmark.moving.archive import Archive
from tests.hosted import Faults, Size, World, hosting
from tests.moving.pull.pulling import contents, impatient, pulled, undisturbed

SIZE = Size(evals=2, items=130, runs=3)


@pytest.mark.parametrize(
    "faults",
    [
        Faults(too_many_every=5),
        Faults(error_every=4),
        Faults(cut_every=4),
        Faults(html_every=4),
        Faults(error_once_at="."),
        Faults(largest_page=20),
        Faults(largest_page=1),
        # Not so many that one page fails eight times in a row: it would be given up.
        Faults(too_many_every=11, error_every=13, cut_every=17, html_every=19, largest_page=5),
    ],
    ids=["429", "500", "cut", "html", "once", "pages of 20", "pages of 1", "all"],
)
def test_a_fault_that_passes_leaves_no_trace(faults: Faults, tmp_path: Path) -> None:
    size = SIZE if faults.largest_page != 1 else dataclasses.replace(SIZE, items=30)
    with hosting(World(size), faults) as hosted:
        done = pulled(hosted, tmp_path)
    assert done.stopped is None
    assert {problem["kind"] for problem in done.problems} == {"file"}
    assert contents(tmp_path) == undisturbed(size)


def test_no_more_than_four_are_asked_at_once_and_fewer_when_that_is_too_much(tmp_path: Path) -> None:
    with hosting(World(Size(evals=4, items=120)), Faults(slow_s=0.01)) as hosted:
        pulled(hosted, tmp_path / "a", only=["evals"])
        assert hosted.most_under_way == 4
        hosted.faults, hosted.most_under_way = Faults(slow_s=0.01, too_many_every=4), 0
        pulled(hosted, tmp_path / "b", only=["evals"])
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_a_list_that_fails_for_good_is_a_problem_and_the_rest_goes_on(tmp_path: Path) -> None:
    with hosting() as hosted:
        world = hosted.world
        run_id = world.runs[world.evals[1].id][0].id
        hosted.faults = Faults(error_at=f"{run_id}/output_items")
        done = pulled(hosted, tmp_path / "a")
        told = next(problem for problem in done.problems if problem["id"] == f"items/{run_id}")
        assert "It was asked 8 times" in told["why"]
        tries = [request for request in hosted.requests if f"{run_id}/output_items" in request]
        sizes = ["100", "100", "20", "20", "5", "5", "1", "1"]  # from the beginning, and from the end
        assert [request.partition("limit=")[2].partition("&")[0] for request in tries] == [*sizes, *sizes]
        assert (tmp_path / "a" / f"runs/{run_id}.json").exists()
        hosted.faults = Faults()
        pulled(hosted, tmp_path / "a")  # the next pull reads what was left out
    assert contents(tmp_path / "a") == undisturbed()


@pytest.mark.parametrize("kind", ["item", "run", "eval"])
def test_one_object_that_the_service_cannot_show_costs_no_other(kind: str, tmp_path: Path) -> None:
    size = Size(evals=3, runs=4, items=130)
    with hosting(World(size)) as hosted:
        world = hosted.world
        eval_id = world.evals[1].id
        run_id = world.runs[eval_id][2].id
        hidden = {"item": world.item_id(run_id, 40), "run": run_id, "eval": eval_id}[kind]
        hosted.faults = Faults(broken_objects=frozenset({hidden}))
        done = pulled(hosted, tmp_path / "a", only=["evals"])
        evals, archive = [entry.id for entry in world.evals], Archive(tmp_path / "a")
        runs = [run.id for runs in world.runs.values() for run in runs]
        if kind == "item":
            items = {json.loads(line)["id"] for line in archive.lines(f"items/{run_id}.jsonl")}
            assert items == {world.item_id(run_id, index) for index in range(130)} - {hidden}
        elif kind == "run":
            assert set(archive.ids("runs", ".json")) == set(runs) - {run_id}
        else:
            assert {json.loads(line)["id"] for line in archive.lines("evals.jsonl")} == set(evals) - {eval_id}
        assert len(done.problems) == 1
        hosted.faults = Faults()
        pulled(hosted, tmp_path / "a", only=["evals"])
    assert contents(tmp_path / "a") == undisturbed(size, "evals")


def test_a_page_larger_than_a_service_takes_is_made_smaller(tmp_path: Path) -> None:
    with hosting(faults=Faults(most_files=100)) as hosted:
        done = pulled(hosted, tmp_path, only=["files"])
    assert done.problems == []
    assert len(list(Archive(tmp_path).lines("files.jsonl"))) == 5


def test_a_key_that_is_refused_at_once_leaves_nothing_behind(tmp_path: Path) -> None:
    with hosting() as hosted:
        hosted.faults = Faults(refused_at="/evals")
        with pytest.raises(KeyRefused, match="the key is refused at http"):
            pulled(hosted, tmp_path / "a")
        assert not (tmp_path / "a").exists()
        hosted.key = "sk-another-5f1c77d2e84b06a5c1"
        hosted.faults = Faults(refused_after=-1)
        with pytest.raises(KeyRefused):
            pulled(hosted, tmp_path / "a")


def test_a_key_that_ends_stops_it_and_another_goes_on(tmp_path: Path) -> None:
    with hosting(World(SIZE)) as hosted:
        hosted.faults = Faults(refused_after=20)
        done = pulled(hosted, tmp_path / "a")
        assert done.stopped is not None
        assert "the key is no longer accepted" in done.stopped
        assert hosted.key not in done.stopped
        hosted.faults = Faults()
        assert pulled(hosted, tmp_path / "a").stopped is None
    assert contents(tmp_path / "a") == undisturbed(SIZE)


def test_a_key_that_may_not_do_everything_reads_the_rest(tmp_path: Path) -> None:
    with hosting(faults=Faults(refused_at="fine_tuning")) as hosted:
        done = pulled(hosted, tmp_path)
    assert done.stopped is None
    assert "403" in next(problem["why"] for problem in done.problems if problem["id"] == "jobs")
    assert len(list(Archive(tmp_path).lines("completions.jsonl"))) == 7


@pytest.mark.parametrize("fault", ["hang", "drip"])
def test_a_list_that_hangs_or_drips_is_given_up(fault: str, tmp_path: Path) -> None:
    faults = Faults(hang_at="/fine_tuning/jobs$") if fault == "hang" else Faults(drip_at="/fine_tuning/jobs$")
    with hosting(faults=faults) as hosted:
        done = pulled(hosted, tmp_path, patience=impatient(attempt_s=0.2))
    assert done.stopped is None
    told = next(problem["why"] for problem in done.problems if problem["id"] == "jobs")
    assert "no answer within 0.2 s" in told
    assert hosted.kinds()["jobs"] == 4  # pages of 100, 20, 5 and 1


def test_an_answer_that_is_too_large_is_asked_for_in_smaller_pages(tmp_path: Path) -> None:
    with hosting(World(SIZE)) as hosted:
        done = pulled(hosted, tmp_path / "b", patience=impatient(page_bytes=8_000))
        assert contents(tmp_path / "b") == undisturbed(SIZE)
        few = pulled(hosted, tmp_path / "c", patience=impatient(page_bytes=400, object_bytes=400))
    assert {problem["kind"] for problem in done.problems} == {"file"}
    assert any("larger than" in problem["why"] for problem in few.problems if problem["kind"] == "list")


def test_a_file_of_another_size_than_is_said_is_kept_and_told(tmp_path: Path) -> None:
    with hosting() as hosted:
        liar = hosted.world.id("file", 0)
        hosted.faults = Faults(lying_files=frozenset({liar}))
        done = pulled(hosted, tmp_path)
    told = next(problem["why"] for problem in done.problems if problem["id"] == liar)
    assert "says that it has 7 bytes, and 490 came" in told
    assert (tmp_path / "files" / liar).read_bytes() == hosted.world.contents[liar]
    assert "rebuilt" not in json.loads(next(Archive(tmp_path).lines("files.jsonl")))


def test_a_service_that_cannot_be_reached_any_more_stops_it(tmp_path: Path) -> None:
    with hosting() as hosted:
        pass
    done = pulled(hosted, tmp_path / "a")
    assert done.stopped is not None
    assert "cannot be reached: cannot connect" in done.stopped


def test_a_pause_longer_than_anybody_waits_stops_it(tmp_path: Path) -> None:
    with hosting(faults=Faults(too_many_every=6, retry_after_ms=3_600_000)) as hosted:
        done = pulled(hosted, tmp_path)
    assert done.stopped == "the service wants nothing to be asked for 3,600 s."
