"""A pull of the whole double: what is in the archive, what a second one takes, what ends one early."""

import json
import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from fairmark.errors import InvalidArchive
from fairmark.moving.archive import MANIFEST, Archive
from fairmark.moving.pull.door import azure_door, openai_door
from tests.hosted import Faults, Hosted, Size, World, hosting
from tests.hosted.world import BEGAN
from tests.moving.pull.pulling import contents, pulled, undisturbed


def lines(folder: Path, name: str) -> list[bytes]:
    return list(Archive(folder).lines(name))


def ids(folder: Path, name: str) -> list[str]:
    return [json.loads(line)["id"] for line in lines(folder, name)]


def problems(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(folder, "problems.jsonl")]


def test_every_object_is_as_it_was_received(tmp_path: Path) -> None:
    with hosting(World(Size(items=130))) as hosted:
        done = pulled(hosted, tmp_path)
    world = hosted.world
    assert done.stopped is None
    # Line breaks between the parts of an object go where an object is a line; nothing else does.
    assert lines(tmp_path, "evals.jsonl") == [entry.text().replace("\n", "").encode() for entry in world.evals]
    for eval_id, runs in world.runs.items():
        for run in runs:
            assert (tmp_path / f"runs/{run.id}.json").read_bytes() == run.text().encode(), eval_id
            expected = [world.item(run.id, index).encode() for index in range(130)]
            assert lines(tmp_path, f"items/{run.id}.jsonl") == expected
    assert lines(tmp_path, "completions.jsonl") == [
        entry.text().replace("\n", "").encode() for entry in world.completions
    ]
    for completion in world.completions:
        messages = json.loads((tmp_path / f"messages/{completion.id}.json").read_bytes())
        assert messages == [json.loads(entry.text()) for entry in world.messages_of(completion.id)]
    assert ids(tmp_path, "jobs.jsonl") == [entry.id for entry in world.jobs[::-1]]
    for job in world.jobs:
        assert len(lines(tmp_path, f"events/{job.id}.jsonl")) == 12
        assert len(lines(tmp_path, f"checkpoints/{job.id}.jsonl")) == 3
    assert (tmp_path / "models.json").read_bytes() == world.models.encode()


def test_files_are_those_for_evals_and_fine_tuning_and_those_that_runs_name(tmp_path: Path) -> None:
    with hosting() as hosted:
        pulled(hosted, tmp_path)
    world = hosted.world
    kept = ids(tmp_path, "files.jsonl")
    batch = world.id("file", 4)
    assert batch not in kept
    unlisted, refused, missing = (world.id("file", name) for name in ("unlisted", "refused", "missing"))
    assert {unlisted, refused, missing} <= set(kept)
    for id_ in set(kept) - {refused, missing}:
        assert (tmp_path / "files" / id_).read_bytes() == world.contents[id_]


def test_a_file_that_cannot_be_had_is_rebuilt_from_output_items_in_the_order_of_its_rows(tmp_path: Path) -> None:
    with hosting(World(Size(items=12))) as hosted:
        pulled(hosted, tmp_path)
    world = hosted.world
    missing, refused = world.id("file", "missing"), world.id("file", "refused")
    told = {problem["id"]: problem for problem in problems(tmp_path)}
    assert set(told) == {missing, refused}
    assert "404" in told[missing]["why"]
    assert "purpose: user_data" in told[refused]["why"]
    rows = [json.loads(line) for line in (tmp_path / "files" / missing).read_bytes().splitlines()]
    assert [row["item"]["question"].split()[1] for row in rows] == [str(index ^ 1) for index in range(12)]
    marks = {file["id"]: file.get("rebuilt") for file in map(json.loads, lines(tmp_path, "files.jsonl"))}
    assert marks[missing]["mark"] == marks[refused]["mark"] == "rebuilt"
    assert marks[missing]["rows"] == 12


def test_a_file_rebuilt_from_a_run_with_errors_is_partial(tmp_path: Path) -> None:
    with hosting() as hosted:
        world = hosted.world
        run = world.runs[world.evals[0].id][0]
        counts = {"total": 25, "passed": 20, "failed": 4, "errored": 1}
        world.change(run.id, result_counts=counts)
        pulled(hosted, tmp_path)
    marks = {file["id"]: file.get("rebuilt") for file in map(json.loads, lines(tmp_path, "files.jsonl"))}
    assert marks[world.id("file", "missing")]["mark"] == "partial"


def test_responses_are_those_that_items_name_and_those_that_are_brought(tmp_path: Path) -> None:
    with hosting() as hosted:
        brought = hosted.world.id("resp", 2)
        pulled(hosted, tmp_path, response_ids=[brought, "resp_0000000000000000"])
    named = hosted.world.id("resp", 0)
    assert sorted(ids(tmp_path, "responses.jsonl")) == sorted([named, brought])
    items = lines(tmp_path, f"input_items/{named}.jsonl")
    assert items == [entry.text().encode() for entry in hosted.world.input_items_of(named)]
    assert ("response", "resp_0000000000000000") in {(line["kind"], line["id"]) for line in problems(tmp_path)}


def test_a_second_pull_of_the_same_copies_nothing_again(tmp_path: Path) -> None:
    with hosting(World(Size(items=130))) as hosted:
        pulled(hosted, tmp_path)
        before = contents(tmp_path)
        hosted.requests.clear()
        done = pulled(hosted, tmp_path)
    assert contents(tmp_path) == before
    asked = hosted.kinds()
    for kind in ("output_items", "messages", "events", "checkpoints", "input_items", "responses"):
        assert asked[kind] == 0
    assert asked["content"] == 1  # the file that is refused is asked for again
    assert done.tally.unchanged["runs"] == 12


def test_a_second_pull_takes_what_is_new_and_what_changed(tmp_path: Path) -> None:
    with hosting() as hosted:
        world = hosted.world
        eval_id, other = world.evals[0].id, world.evals[1].id
        going = world.runs[eval_id][2].id
        world.start(going, 5)
        pulled(hosted, tmp_path / "a")
        world.grow(going, 3)
        world.finish(going)
        world.change(eval_id, name="another name")
        renamed = world.runs[other][0].id
        world.change(renamed, name="renamed")
        new = world.add_run(other)
        hosted.requests.clear()
        pulled(hosted, tmp_path / "a")
        again = {request.split("/")[5] for request in hosted.requests if "output_items" in request}
        pulled(hosted, tmp_path / "b")
    folder = tmp_path / "a"
    assert json.loads(lines(folder, "evals.jsonl")[0])["name"] == "another name"
    assert json.loads((folder / f"runs/{renamed}.json").read_bytes())["name"] == "renamed"
    assert json.loads((folder / f"runs/{going}.json").read_bytes())["status"] == "completed"
    assert len(lines(folder, f"items/{new}.jsonl")) == 25
    assert again == {going, new}  # a name is no reason to read the items again
    assert contents(folder) == contents(tmp_path / "b")


def test_a_run_that_grows_while_it_is_read_is_read_to_its_end_the_next_time(tmp_path: Path) -> None:
    with hosting(World(Size(items=150))) as hosted:
        run_id = hosted.world.runs[hosted.world.evals[0].id][0].id
        hosted.world.start(run_id, 150)
        pulled(hosted, tmp_path)  # each new page brings seven more
        first = len(lines(tmp_path, f"items/{run_id}.jsonl"))
        hosted.world.finish(run_id)
        pulled(hosted, tmp_path)
        total = len(hosted.world.items_of(run_id))
    assert 150 < first <= total
    assert ids(tmp_path, f"items/{run_id}.jsonl") == [hosted.world.item_id(run_id, index) for index in range(total)]


def test_what_is_gone_there_stays_here(tmp_path: Path) -> None:
    with hosting() as hosted:
        pulled(hosted, tmp_path)
        before = contents(tmp_path)
        hosted.world.remove_eval(hosted.world.evals[1].id)
        del hosted.world.completions[2:]
        done = pulled(hosted, tmp_path)
        assert contents(tmp_path) == before
        assert not [problem for problem in done.problems if problem["kind"] != "file"]
        hosted.faults = Faults(absent_at="/evals")
        done = pulled(hosted, tmp_path)
    assert contents(tmp_path) == before
    assert "404" in next(problem["why"] for problem in done.problems if problem["id"] == "evals")


def test_only_some_sections_and_only_newer_things(tmp_path: Path) -> None:
    with hosting(World(Size(runs=6, completions=9))) as hosted:
        pulled(hosted, tmp_path, only=["completions"], since=BEGAN + 1)
        assert set(hosted.kinds()) == {"completions", "messages"}
        assert len(ids(tmp_path, "completions.jsonl")) == 5  # four are of the first second
        pulled(hosted, tmp_path, only=["completions"])
        assert len(ids(tmp_path, "completions.jsonl")) == 9
        pulled(hosted, tmp_path, only=["completions"], since=BEGAN + 2)
        assert len(ids(tmp_path, "completions.jsonl")) == 9
        pulled(hosted, tmp_path, only=["evals"], since=BEGAN + 102)
    assert len(Archive(tmp_path).ids("runs", ".json")) == 3 * 2


def test_who_asks_for_older_things_too_after_a_pull_was_broken_off_gets_them(tmp_path: Path) -> None:
    with hosting(World(Size(evals=1, runs=110, items=1, completions=30))) as hosted:
        hosted.faults = Faults(refused_after=16)
        assert pulled(hosted, tmp_path / "a", since=BEGAN + 150).stopped is not None
        hosted.faults = Faults()
        assert pulled(hosted, tmp_path / "a").stopped is None
        pulled(hosted, tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


@pytest.mark.parametrize("way", ["v1", "dated", "project"])
def test_azures_doors_lead_to_the_same(way: str, tmp_path: Path) -> None:
    with hosting() as hosted:
        door = {
            "v1": azure_door(hosted.root, "preview"),
            "dated": azure_door(hosted.root, "2025-04-01-preview"),
            "project": azure_door(f"{hosted.root}/api/projects/north"),
        }[way]
        done = pulled(hosted, tmp_path, door)
    assert done.stopped is None
    assert contents(tmp_path) == undisturbed()


def test_below_so_much_free_disk_it_stops_and_goes_on_later(tmp_path: Path) -> None:
    with hosting() as hosted:
        done = pulled(hosted, tmp_path / "a", least_free_bytes=1 << 60)
        assert done.stopped is not None
        assert "are left to others" in done.stopped
        assert pulled(hosted, tmp_path / "a").stopped is None
    assert contents(tmp_path / "a") == undisturbed()


def test_a_deadline_ends_it_in_good_order(tmp_path: Path) -> None:
    with hosting(faults=Faults(hang_at="/files$")) as hosted:
        done = pulled(hosted, tmp_path / "a", deadline_s=1.0)
        assert done.stopped == "it took longer than 1 s."
        hosted.faults = Faults()
        assert pulled(hosted, tmp_path / "a").stopped is None
    assert contents(tmp_path / "a") == undisturbed()


def test_two_pulls_do_not_work_in_one_folder(tmp_path: Path) -> None:
    inside, go_on = threading.Event(), threading.Event()
    with hosting() as hosted:

        def wait(number: int) -> None:
            if number == 3:
                inside.set()
                go_on.wait(20)

        hosted.on_request = wait
        first = threading.Thread(target=pulled, args=(hosted, tmp_path / "a"))
        first.start()
        assert inside.wait(20)
        with pytest.raises(InvalidArchive, match="another process is reading into it"):
            pulled(hosted, tmp_path / "a")
        go_on.set()
        first.join(60)
    assert (tmp_path / "a" / "models.json").exists()


def test_an_archive_of_another_service_and_a_folder_of_something_else_are_refused(tmp_path: Path) -> None:
    with hosting() as hosted:
        pulled(hosted, tmp_path / "a", only=["jobs"])
        with pytest.raises(InvalidArchive, match="Name another folder with --archive"):
            pulled(hosted, tmp_path / "a", openai_door(f"{hosted.root}/openai/v1"))
        (tmp_path / "b").mkdir()
        (tmp_path / "b" / "thesis.txt").write_text("mine")
        with pytest.raises(InvalidArchive, match="it is no archive, and not empty"):
            pulled(hosted, tmp_path / "b")
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["thesis.txt"]


def test_killed_before_anything_was_read_the_folder_is_an_archive_or_as_good_as_empty(tmp_path: Path) -> None:
    seen: list[bool] = []

    def look(number: int) -> None:
        seen.append((tmp_path / "a" / MANIFEST).exists())

    with hosting() as hosted:
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / f"{MANIFEST}.beside").write_text("{")
        hosted.on_request = look
        assert pulled(hosted, tmp_path / "a").stopped is None
    assert seen
    assert all(seen)


def test_nothing_of_the_key_is_in_the_archive(tmp_path: Path) -> None:
    """The double repeats the key in each of its errors."""
    faults = Faults(error_at="/events$", refused_at="/messages$", absent_at="/checkpoints$")
    with hosting(faults=faults) as hosted:
        done = pulled(hosted, tmp_path)
    assert len(done.problems) > 5
    assert any("you sent ***" in problem["why"] for problem in done.problems)
    assert_without(hosted, tmp_path)


def assert_without(hosted: Hosted, folder: Path) -> None:
    for path in folder.rglob("*"):
        assert hosted.key not in str(path)
        if path.is_file():
            assert hosted.key.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("status", ["completed", "in_progress"])
def test_items_are_read_again_when_counts_differ_and_while_the_run_is_going(status: str, tmp_path: Path) -> None:
    with hosting() as hosted:
        world = hosted.world
        run_id = world.runs[world.evals[0].id][0].id
        if status == "in_progress":  # its counts stay behind
            world.change(run_id, status=status, result_counts={"total": 0})
        pulled(hosted, tmp_path, only=["evals"])
        world.grow(run_id, 4)
        pulled(hosted, tmp_path, only=["evals"])
    assert len(lines(tmp_path, f"items/{run_id}.jsonl")) == 29


def test_a_run_that_changed_is_not_taken_for_read_before_its_items_are(tmp_path: Path) -> None:
    with hosting() as hosted:
        world = hosted.world
        run_id = world.runs[world.evals[0].id][0].id
        pulled(hosted, tmp_path, only=["evals"])
        world.grow(run_id, 4)

        def end_the_key(number: int) -> None:
            if "output_items" in hosted.requests[-1]:
                hosted.faults.refused_after = 1

        hosted.on_request = end_the_key
        assert pulled(hosted, tmp_path, only=["evals"]).stopped is not None
        hosted.on_request, hosted.faults = lambda number: None, Faults()
        pulled(hosted, tmp_path, only=["evals"])
    assert len(lines(tmp_path, f"items/{run_id}.jsonl")) == 29


def test_a_list_whose_cursor_is_gone_is_read_from_its_beginning_and_loses_nothing(tmp_path: Path) -> None:
    with hosting(World(Size(completions=250))) as hosted:
        expected = [entry.id for entry in hosted.world.completions]
        hosted.faults = Faults(refused_after=2)
        assert pulled(hosted, tmp_path, only=["completions"]).stopped is not None
        del hosted.world.completions[199]  # the last of the second page
        hosted.faults = Faults()
        done = pulled(hosted, tmp_path, only=["completions"])
    assert ids(tmp_path, "completions.jsonl") == expected
    assert [problem["kind"] for problem in done.problems] == ["messages"]  # those of the one that is gone


@pytest.mark.parametrize("id_", ["a/b", "../evals", "ä b?x=1#y", "%2F", "x" * 180])
def test_an_id_is_asked_for_as_it_is_whatever_is_in_it(id_: str, tmp_path: Path) -> None:
    with hosting(World(Size(completions=1))) as hosted:
        hosted.world.change(hosted.world.completions[0].id, id=id_)
        done = pulled(hosted, tmp_path, only=["completions"])
        # The double knows it under its old id, and says so.
        assert [(problem["id"], "404" in problem["why"]) for problem in done.problems] == [(id_, True)]
        assert hosted.requests[-1].startswith(f"/v1/chat/completions/{quote(id_, safe='')}/messages?")


def test_a_run_over_something_that_is_no_file_is_told(tmp_path: Path) -> None:
    address = "azureai://accounts/north/projects/p/data/rows/versions/1" + "/" * 100
    with hosting() as hosted:
        run_id = hosted.world.runs[hosted.world.evals[1].id][0].id
        source = {"type": "jsonl", "source": {"type": "file_id", "id": address}}
        hosted.world.change(run_id, data_source=source)
        done = pulled(hosted, tmp_path)
    assert done.stopped is None
    (problem,) = [problem for problem in done.problems if problem["id"].startswith("azureai:")]
    assert problem["named_by"] == [run_id]
