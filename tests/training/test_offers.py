"""The models of a worker: names and folders."""

from pathlib import Path

import pytest

from fairmark.errors import InvalidData
from fairmark.training.offers import read_offers


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in (("config.json", "{}"), ("model.safetensors", ""), ("tokenizer.json", "{}")):
        (tmp_path / name).write_text(content)
    return tmp_path


def test_names_lead_to_folders(folder: Path) -> None:
    offers = read_offers([f"small={folder}", f"Qwen/Qwen3-0.6B={folder}"])
    assert offers == {"small": folder, "Qwen/Qwen3-0.6B": folder}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("small", "It takes NAME=DIR"),
        ("small=", "It takes NAME=DIR"),
        ("../x={}", "found the name"),
        ("a b={}", "found the name"),
        ("a/../b={}", "found the name"),
        (f"{'a' * 151}={{}}", "found the name"),
        ("small={}/none", "there is no folder"),
    ],
)
def test_wrong_offers_are_told(folder: Path, text: str, words: str) -> None:
    with pytest.raises(InvalidData, match=words):
        read_offers([text.format(folder)])


def test_a_name_stands_once(folder: Path) -> None:
    with pytest.raises(InvalidData, match="stands there twice"):
        read_offers([f"a={folder}", f"a={folder}"])


@pytest.mark.parametrize(
    ("gone", "words"),
    [("config.json", "no config.json"), ("model.safetensors", "no weights"), ("tokenizer.json", "no tokenizer")],
)
def test_a_folder_that_holds_no_model_is_told(folder: Path, gone: str, words: str) -> None:
    (folder / gone).unlink()
    with pytest.raises(InvalidData, match=words):
        read_offers([f"small={folder}"])
    if gone == "config.json":
        (folder / gone).write_text("no JSON")
        with pytest.raises(InvalidData, match=words):
            read_offers([f"small={folder}"])
