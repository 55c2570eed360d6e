"""Where the commands find runs."""

from fairmark.data import journal
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
