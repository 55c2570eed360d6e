import hashlib
from pathlib import Path

import pytest
from scripts.data import __main__ as command
from scripts.data import oracle, sources
from scripts.data.sources import Source, SourceError


def source(content: bytes, fetched: bytes, calls: list[Path]) -> Source:
    """A source pinned to `content` whose origin now has `fetched`."""

    def fetch(scratch: Path) -> Path:
        calls.append(scratch)
        (scratch / "list.txt").write_bytes(fetched)
        return scratch

    return Source("lists", "a test", fetch, {"list.txt": hashlib.sha256(content).hexdigest()})


def test_a_source_is_fetched_only_while_its_pinned_files_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Path] = []
    monkeypatch.setattr(sources, "SOURCES", [source(b"words", b"words", calls)])
    sources.fetch(tmp_path)
    sources.fetch(tmp_path)
    assert (tmp_path / "lists/list.txt").read_bytes() == b"words"
    assert len(calls) == 1
    (tmp_path / "lists/list.txt").write_bytes(b"edited")
    sources.fetch(tmp_path)
    assert (tmp_path / "lists/list.txt").read_bytes() == b"words"
    assert len(calls) == 2


def test_another_edition_of_a_source_is_refused_and_replaces_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "SOURCES", [source(b"words", b"other words", [])])
    with pytest.raises(SourceError, match=r"list\.txt missing or not the pinned edition"):
        sources.fetch(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_failing_download_names_the_command_and_its_complaint(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"ls no-such-file: exit status \d+\n.*no-such-file"):
        sources.run(["ls", "no-such-file"], tmp_path)


@pytest.mark.parametrize("name", command.BUILDERS)
@pytest.mark.thorough
def test_packaged_tables_hold_what_their_sources_give(name: str, tmp_path: Path) -> None:
    missing = [file for source in sources.SOURCES for file in sources.differing(source, sources.CACHE / source.name)]
    assert missing == [], "Get the sources: python -m scripts.data oracle"
    command.build(sources.CACHE, tmp_path, [name])
    built = list(tmp_path.iterdir())
    assert built
    assert [file for file in built if command.content(command.PACKAGED / file.name) != command.content(file)] == []


def test_files_that_differ_or_that_only_one_folder_has_are_named(tmp_path: Path) -> None:
    rebuilt, packaged = tmp_path / "rebuilt", tmp_path / "packaged"
    for folder, files in ((rebuilt, {"a": "1", "b": "2", "c": "3"}), (packaged, {"a": "1", "b": "x", "d": "4"})):
        folder.mkdir()
        for name, content in files.items():
            (folder / name).write_text(content)
    assert command.differences(rebuilt, packaged) == ["b", "c", "d"]


def test_the_lexicographer_files_have_wordnets_numbers() -> None:
    lines = oracle.lexnames().splitlines()
    assert len(lines) == 45
    assert [lines[0], lines[3], lines[28], lines[43], lines[44]] == [
        "00\tadj.all\t3",
        "03\tnoun.Tops\t1",
        "28\tnoun.time\t1",
        "43\tverb.weather\t2",
        "44\tadj.ppl\t3",
    ]
