"""fairmark export: everything of a project as a folder."""

from pathlib import Path

from fairmark.moving.archive import Archive
from tests.cli.conftest import Run
from tests.moving.hosted import three_rows


def test_what_was_loaded_is_exported_as_it_came(fairmark: Run, tmp_path: Path) -> None:
    folder, home = three_rows(tmp_path / "archive").archive.folder, {"FAIRMARK_HOME": str(tmp_path / "home")}
    assert fairmark("import", "load", str(folder), env=home).returncode == 0
    done = fairmark("export", str(tmp_path / "out"), env=home)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{tmp_path / 'out'}: 1 files, 3 items, 1 runs, 1 evals\n"
    archive = Archive.open(tmp_path / "out")
    for name in ("evals.jsonl", "runs/evalrun_1.json", "items/evalrun_1.jsonl", "files/file-1"):
        assert archive.read(name) == (folder / name).read_bytes()
    nothing = fairmark("export", str(tmp_path / "none"), "--project", "other", env=home)
    assert nothing.stdout == f"{tmp_path / 'none'}: nothing to export\n"


def test_a_folder_that_holds_something_else_or_cannot_be_made_is_told(fairmark: Run, tmp_path: Path) -> None:
    home = {"FAIRMARK_HOME": str(tmp_path / "home")}
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a.txt").write_text("x")
    full = fairmark("export", str(tmp_path / "full"), env=home)
    assert (full.returncode, "it is not empty, and no archive" in full.stderr) == (2, True)
    below_a_file = fairmark("export", str(tmp_path / "full" / "a.txt" / "b"), env=home)
    assert (below_a_file.returncode, "not a directory" in below_a_file.stderr) == (2, True)
