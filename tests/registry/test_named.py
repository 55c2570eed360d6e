"""A grader as people name it: a file, its JSON, or its key in the registry."""

from pathlib import Path

import pytest

from fairmark.errors import InvalidData, InvalidGrader
from fairmark.registry import named

CHECK = '{"type": "string_check", "input": "a", "reference": "b", "operation": "eq"}'


def test_json_stands_for_itself_and_anything_else_is_a_file(tmp_path: Path) -> None:
    file = tmp_path / "grader.json"
    file.write_bytes(b"\xef\xbb\xbf" + CHECK.encode())
    assert named.specify_named(CHECK) == named.specify_named(str(file))
    with pytest.raises(InvalidData, match=r"none\.json"):
        named.specify_named("none.json")
    with pytest.raises(InvalidData, match="not a file name"):
        named.specify_named("a\0b")


def test_what_is_wrong_is_told_with_the_name() -> None:
    with pytest.raises(InvalidGrader, match=r"^mine: \$\.operation"):
        named.specify_content(CHECK.replace("eq", "is").encode(), "mine")


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("exact", {"type": "registered", "key": "exact"}),
        ("exact@2", {"type": "registered", "key": "exact", "version": 2}),
        ("exact@two", {"type": "registered", "key": "exact", "version": "two"}),
        ("exact@" + "9" * 20, {"type": "registered", "key": "exact", "version": "9" * 20}),
    ],
)
def test_a_key_may_name_its_version(text: str, reference: dict[str, object]) -> None:
    assert named._reference(text) == reference


def test_a_grader_is_labelled_by_its_name_or_its_file_and_no_label_stands_twice() -> None:
    plain = named.specify_named(CHECK)
    own = named.specify_named(CHECK.replace("{", '{"name": "own", ', 1))
    graders = [("a/exact.json", plain), ("b/exact.json", plain), ("c.json", own), (CHECK, plain), ("key:x", own)]
    assert list(named.labelled(graders)) == ["exact", "exact (2)", "own", "string_check", "own (2)"]
