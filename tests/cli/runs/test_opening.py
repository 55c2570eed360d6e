"""Where the commands find runs."""

import socket

from fairmark.data import journal
from tests.cli.conftest import Run
from tests.cli.runs.keeping import Kept


def test_what_lies_in_journals_is_taken_in_by_whoever_looks_at_runs(kept: Kept) -> None:
    kept.evaluate([3])
    home = kept.folder / "home"
    assert len(journal.pending(home)) == 1
    assert not (home / "fairmark.db").exists()
    kept.runs("list")
    assert journal.pending(home) == []
    assert (home / "fairmark.db").exists()


def test_a_database_that_was_named_has_the_run_when_eval_ends(kept: Kept) -> None:
    db = f"sqlite:///{kept.folder}/other.db"
    run = kept.evaluate([3], "--db", db)
    assert journal.pending(kept.folder / "home") == []
    assert run in kept.runs("list", "--db", db)
    assert kept.runs("list") == "There are no runs yet. fairmark eval makes them.\n"


def test_projects_see_their_own_runs(kept: Kept) -> None:
    run = kept.evaluate([3], "--project", "mine")
    assert kept.runs("list") == "There are no runs yet. fairmark eval makes them.\n"
    assert run in kept.runs("list", "--project", "mine")


def test_a_server_that_is_away_is_no_mistake_of_the_request(fairmark: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    done = fairmark("runs", "list", "--server", url)
    assert done.returncode == 3
    assert "cannot connect to" in done.stderr
    assert fairmark("runs", "list", "--server", "nowhere").returncode == 2
