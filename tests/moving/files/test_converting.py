"""What is no file that we know is refused in words, and leaves nothing that could be taken for an archive."""

import gzip
import json
import resource
from pathlib import Path

import pytest

from fairmark.errors import InvalidData
from fairmark.moving.archive import Archive
from fairmark.moving.files import reading
from fairmark.moving.files.converting import convert
from fairmark.moving.files.writing import UnkeptArchive
from tests.moving.files.made import AT, Made, lines


def refused(path: Path, archive: Archive | None = None) -> str:
    with pytest.raises(InvalidData) as caught:
        convert(path, archive or UnkeptArchive())
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "it is empty."),
        (b" \n\n", "it is empty."),
        (b"\x00\x01\x02binary", "it is binary."),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "it is binary."),
        (gzip.compress(b"{}", mtime=0), "it is compressed by gzip."),
        (b"PAR1....", "it is a Parquet file."),
        (b"PK\x03\x04....", "it is an Excel workbook or a zip archive."),
        ('{"a": 1}'.encode("utf-16"), "it is encoded as UTF-16. Save it as UTF-8."),
        (b"\xff\xff{}", "byte 1 is not UTF-8."),
        (b"just some words", "not recognised: found a string"),
        (b"a;b;c\n1;2;3\n", "not recognised: found a string"),
        (b"{}", "not recognised: found an object with nothing in it."),
        (b"[]", "not recognised: found nothing that can be read."),
        (b"[1, 2]", "not recognised: found a number (1)."),
        (b'{"foo": 1, "bar": 2}', "not recognised: found an object with foo, bar."),
        (b'{"foo": 1}\n{"foo": 2}\n', "not recognised: found an object with foo."),
        (b'{"prompts": ["x"', "not JSON: "),
        (b"prompts: [x\n", "not YAML: line "),
        (b'[{"object": "eval"', "not a JSON array: "),
        (b"prompts: &a [*a]\ntests: []", "it contains itself."),
        (b"prompts: x\ntests: 5\n", "tests: found a number (5). It takes a list of tests."),
        (b"prompts: x\ndefaultTest: 5\n", "defaultTest: found a number (5). It takes an object."),
    ],
)
def test_what_is_nothing_we_know_is_refused_with_what_was_found(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "given.dat"
    path.write_bytes(content)
    folder = tmp_path / "archive"
    message = refused(path, Archive(folder))
    assert message.startswith(str(path))
    assert why in message
    assert not (folder / "manifest.json").exists()


def test_what_is_no_plain_file_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path / "nothing") == f"{tmp_path}/nothing: no such file."
    assert "it is no plain file" in refused(Path("/dev/null"))
    assert "a folder without evals/*.yaml in it" in refused(tmp_path)


def test_an_archive_is_no_file_to_convert(tmp_path: Path) -> None:
    Archive(tmp_path).save_manifest({})
    assert refused(tmp_path).endswith(f"it is an archive already. Load it: fairmark import load {tmp_path}")
    assert refused(tmp_path / "manifest.json").endswith(f"Load that: fairmark import load {tmp_path}")


ROW = {"run_id": "evalrun_1", "data_source_idx": 0, "item": {}, "grades": {"A": 1}}


def test_the_name_of_a_file_says_nothing(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.csv", "c", "d.json"):
        assert Made(tmp_path, lines(ROW, {**ROW, "data_source_idx": 1}), name).report.format == "dashboard export"


def test_a_mark_at_the_start_and_windows_line_ends_are_no_matter(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf" + lines(ROW, {**ROW, "data_source_idx": 1}).replace("\n", "\r\n").encode()
    new = Made(tmp_path, content)
    assert new.runs[0]["result_counts"]["total"] == 2


def test_half_a_line_at_the_start_does_not_hide_the_rest(tmp_path: Path) -> None:
    new = Made(tmp_path, 'alf a line"}\n'[:0] + '{"run_id": "evalr\n' + lines(ROW), "export.jsonl")
    assert new.report.format == "dashboard export"
    assert new.notes("problem")[0].startswith("line 1: not JSON")


def test_one_json_text_beyond_the_limit_is_refused_with_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_JSON_BYTES", 1000)
    path = tmp_path / "large.json"
    path.write_text(json.dumps([ROW] * 100))
    assert "JSONL, a value a line, may be of any size" in refused(path)


def test_a_line_without_end_is_refused_with_its_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_LINE_BYTES", 1000)
    path = tmp_path / "export.jsonl"
    path.write_text(lines(ROW) + '{"run_id": "' + "a" * 2000)
    assert f"byte {len(lines(ROW)) + 1}: a line of more than 1,000 bytes" in refused(path)


def test_lines_of_any_number_need_the_memory_of_one(tmp_path: Path) -> None:
    """40 MB of rows: what is kept of each is where it stands."""
    path = tmp_path / "export.jsonl"
    with path.open("w") as file:
        for index in range(4000):
            file.write(json.dumps({**ROW, "data_source_idx": index, "item": {"text": "x" * 10_000}}) + "\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = convert(path, Archive(tmp_path / "archive"))
    assert report.made["items"] == 4000
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 30_000_000


def test_a_dry_run_says_the_same_and_writes_nothing(tmp_path: Path) -> None:
    new = Made(tmp_path, lines(ROW))
    before = sorted(tmp_path.rglob("*"))
    assert convert(new.path, UnkeptArchive(), created_at=AT).lines() == new.report.lines()
    assert sorted(tmp_path.rglob("*")) == before


def test_notes_do_nothing_to_a_terminal(tmp_path: Path) -> None:
    assertion = {"type": "contains", "value": "x", "metric": "\x1b[2J\n\ud800"}
    new = Made(tmp_path, json.dumps({"prompts": ["x"], "tests": [{"assert": [assertion]}]}), "config.json")
    assert not [line for line in new.report.lines() if not line.isprintable()]
    assert new.notes("exact") == [r"tests[0].assert[0]: \x1b[2J\n\ud800 → string_check like"]
    assert b"\x1b" not in (new.archive.read("report.md") or b"")


def test_notes_have_an_end(tmp_path: Path) -> None:
    new = Made(tmp_path, lines(ROW) + "{\n" * 5000)
    assert len(new.notes("problem")) == 1000
    assert "  and 4,000 more" in new.report.lines()


def test_the_archive_says_where_it_comes_from_and_what_became_of_it(tmp_path: Path) -> None:
    new = Made(tmp_path, lines(ROW), "eval_items.jsonl")
    source = Archive.open(new.archive.folder).manifest()["source"]
    assert (source["type"], source["format"], source["name"]) == ("file", "dashboard export", "eval_items.jsonl")
    assert (new.archive.read("report.md") or b"").decode().startswith("# dashboard export: 1 evals")


def test_without_a_time_of_its_own_the_file_has_one(tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    path.write_text(lines(ROW))
    archive = Archive(tmp_path / "archive")
    convert(path, archive)
    assert json.loads(next(archive.lines("evals.jsonl")))["created_at"] == int(path.stat().st_mtime)
