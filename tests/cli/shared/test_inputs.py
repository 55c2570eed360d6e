"""What users hand to commands: files, standard input, @FILE, or the thing itself; and what is wrong with it, where."""

import io
from pathlib import Path
from types import SimpleNamespace

import pytest

from fairmark.cli.shared import inputs
from fairmark.errors import InvalidData, InvalidGrader

CHECK = '{"type": "string_check", "input": "a", "reference": "b", "operation": "eq"}'


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("grader.json").write_text(CHECK)
    Path("marked.json").write_bytes(b"\xef\xbb\xbf" + CHECK.encode())
    Path("wrong.json").write_text(CHECK.replace("eq", "is"))
    Path("latin.txt").write_bytes("é".encode("latin-1"))


@pytest.mark.parametrize("grader", ["grader.json", "marked.json", CHECK, f"\n {CHECK}"])
def test_a_grader_comes_from_a_file_or_is_its_own_json(grader: str) -> None:
    assert inputs.read_grader(grader).type == "string_check"


def test_a_name_that_is_empty_is_told_as_that() -> None:
    with pytest.raises(InvalidData, match=r"^the name of a file is empty\.$"):
        inputs.read_grader("")


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(CHECK.encode())))
    assert inputs.read_grader("-").type == "string_check"


def test_what_is_wrong_with_a_grader_is_told_with_its_file() -> None:
    with pytest.raises(InvalidGrader, match=r'^wrong\.json: \$\.operation: unknown operation "is"'):
        inputs.read_grader("wrong.json")
    with pytest.raises(InvalidGrader, match=r"^the grader: \$"):
        inputs.read_grader('{"type": ')


@pytest.mark.parametrize("path", ["none.json", ".", "a\0b"])
def test_what_cannot_be_read_is_told_with_its_name(path: str) -> None:
    with pytest.raises(InvalidData, match=r"none\.json|\.:|not a file name"):
        inputs.read_bytes(path)


def test_a_text_is_itself_or_with_an_at_a_files_content() -> None:
    assert inputs.read_text("plain") == "plain"
    assert inputs.read_text("@grader.json") == inputs.read_text("@marked.json") == CHECK
    with pytest.raises(InvalidData, match=r"^latin\.txt: byte 1 is not UTF-8\.$"):
        inputs.read_text("@latin.txt")


def test_an_option_takes_an_object() -> None:
    assert inputs.read_object("--item", '{"a": 1}') == {"a": 1}
    with pytest.raises(InvalidData, match=r"^--item: expected an object, found a list of 1\.$"):
        inputs.read_object("--item", "[1]")
    with pytest.raises(InvalidData, match=r"^--item: not JSON: "):
        inputs.read_object("--item", "{")
    assert inputs.read_json("--sample", '"text"', (dict, str)) == "text"
