"""What people compare, by how they name it."""

from pathlib import Path

import pytest

from fairmark.kept.sides import is_file


@pytest.mark.parametrize(
    ("name", "is_one"), [("main", False), ("last", False), ("a/b", True), ("absent.jsonl", True), ("0123abcd", False)]
)
def test_a_name_is_a_file_where_it_can_only_be_one(name: str, is_one: bool) -> None:
    assert is_file(name) is is_one


def test_a_file_that_is_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "main").write_text("")
    monkeypatch.chdir(tmp_path)
    assert is_file("main")
