"""Files of models on this machine: their names, their places, and a catalogue whose entries are whole."""

import re
from pathlib import Path

import pytest

from fairmark.judges import gguf


def test_a_name_is_a_plain_file_name(tmp_path: Path) -> None:
    assert gguf.pulled(tmp_path, "qwen3-0.6b") == tmp_path / "models" / "qwen3-0.6b.gguf"
    for name in ("", "../secret", "a/b", ".hidden", "a\0b", "-x"):
        with pytest.raises(ValueError, match=f"^{re.escape(name)}$"):
            gguf.pulled(tmp_path, name)


def test_files_put_there_by_hand_are_models_and_folders_and_parts_are_not(tmp_path: Path) -> None:
    assert gguf.all_pulled(tmp_path) == []
    folder = gguf.folder(tmp_path)
    (folder / "folder.gguf").mkdir(parents=True)
    for name in ("mine.gguf", "a.gguf", "half.gguf.part", "notes.txt"):
        (folder / name).write_text("")
    assert gguf.all_pulled(tmp_path) == ["a", "mine"]


def test_the_embedded_model_is_a_file_of_an_installed_package() -> None:
    file = gguf.embedded()
    assert file is not None
    assert file.read_bytes()[:4] == b"GGUF"
    assert gguf.EMBEDDED in gguf.CATALOGUE


def test_every_entry_can_be_pulled_under_its_name(tmp_path: Path) -> None:
    for name, entry in gguf.CATALOGUE.items():
        assert gguf.pulled(tmp_path, name).name == f"{name}.gguf"
        assert re.fullmatch("[0-9a-f]{64}", entry.sha256)
        assert entry.size_bytes > 1_000_000
