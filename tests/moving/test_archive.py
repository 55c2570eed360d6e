from pathlib import Path

import pytest

from fairmark.errors import InvalidArchive
from fairmark.moving.archive import Archive, part_name


def test_what_is_written_is_read_byte_for_byte(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "a")
    archive.save_manifest({"source": "openai"})
    archive.write(part_name("runs", "evalrun_1", ".json"), b'{"id":  "evalrun_1"}')
    with archive.writing("evals.jsonl") as file:
        file.write(b'{"id": "eval_1"}\n\n{"id": "eval_2"}\n')
    again = Archive.open(tmp_path / "a")
    assert again.manifest()["source"] == "openai"
    assert again.read("runs/evalrun_1.json") == b'{"id":  "evalrun_1"}'
    assert list(again.lines("evals.jsonl")) == [b'{"id": "eval_1"}', b'{"id": "eval_2"}']
    assert again.ids("runs", ".json") == ["evalrun_1"]
    assert again.read("models.json") is None
    assert not list(again.lines("jobs.jsonl"))
    assert not again.ids("events", ".jsonl")


@pytest.mark.parametrize("id_", ["../../etc/passwd", "..", ".hidden", "a/b", "ä b", "x%2Fy"])
def test_an_id_never_leads_out_of_the_archive(id_: str, tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.write(part_name("runs", id_, ".json"), b"{}")
    (path,) = (tmp_path / "runs").iterdir()
    assert path.parent == tmp_path / "runs"
    assert not path.name.startswith(".")
    assert archive.ids("runs", ".json") == [id_]


def test_what_breaks_off_leaves_what_was_there(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.write("evals.jsonl", b"before")

    def break_off() -> None:
        with archive.writing("evals.jsonl") as file:
            file.write(b"aft")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        break_off()
    assert archive.read("evals.jsonl") == b"before"
    assert [path.name for path in tmp_path.iterdir()] == ["evals.jsonl"]


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        (None, "there is no manifest.json in it"),
        (b"{", "manifest.json: no JSON"),
        (b"[]", "It takes an object"),
        (b'{"format": "zip"}', 'It takes "fairmark-archive"'),
        (b'{"format": "fairmark-archive", "version": 99}', "This Fairmark reads 1"),
    ],
)
def test_a_folder_that_is_no_archive_is_told(manifest: bytes | None, told: str, tmp_path: Path) -> None:
    if manifest is not None:
        (tmp_path / "manifest.json").write_bytes(manifest)
    with pytest.raises(InvalidArchive, match=told):
        Archive.open(tmp_path)
    with pytest.raises(InvalidArchive, match="there is no such folder"):
        Archive.open(tmp_path / "absent")
