"""Labelled rows of a body or a file: what is kept of them is what was read."""

import json
from typing import Any

import pytest

from fairmark.checks import sources
from fairmark.checks.sources import find_labelled, read_kept
from fairmark.errors import ApiError
from fairmark.store import Store

ROWS: list[dict[str, Any]] = [
    {"item": {"q": "one"}, "sample": "a\u2028b", "label": "pass", "rater": "kim"},
    {"item": {"q": "one"}, "sample": "a\u2028b", "label": "fail", "rater": "lee"},
    {"item": {"q": "two"}, "sample": None, "label": "fail"},
]


async def keep_file(store: Store, content: bytes, name: str = "labels.jsonl") -> None:
    store.files.folder.mkdir(exist_ok=True)
    store.files.content("file-1").write_bytes(content)
    await store.files.create("default", "file-1", name, "evals", len(content), None)


async def test_what_is_kept_is_read_again_as_the_same_rows(store: Store) -> None:
    source = await find_labelled(store, "default", {"rows": ROWS})
    again = read_kept(source.content, source.name)
    assert again == source.labelled
    assert [(row.human, len(row.ratings)) for row in again.rows] == [(None, 2), ("fail", 1)]


@pytest.mark.parametrize("as_array", [False, True])
async def test_a_file_is_lines_or_one_array(store: Store, as_array: bool) -> None:
    lines = "\n\n".join(map(json.dumps, ROWS)) if not as_array else json.dumps(ROWS)
    await keep_file(store, lines.encode())
    source = await find_labelled(store, "default", {"file_id": "file-1"})
    assert (source.name, source.file_id, len(source.labelled.rows)) == ("labels.jsonl", "file-1", 2)
    with pytest.raises(ApiError, match="there is no file"):
        await find_labelled(store, "other", {"file_id": "file-1"})


async def test_more_rows_than_are_taken_are_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_LINES", 2)
    with pytest.raises(ApiError, match="more than 2 lines") as refused:
        await find_labelled(store, "default", {"rows": ROWS}, "gold.")
    assert refused.value.param == "gold.rows"
    monkeypatch.setattr(sources, "MOST_BYTES", 10)
    await keep_file(store, b'{"item": {}}')
    with pytest.raises(ApiError, match="the file has 12 bytes"):
        await find_labelled(store, "default", {"file_id": "file-1"})


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "no rows"), (b'{"item": {}}\n{"item": 3}\n', "labels.jsonl, line 2: item: expected an object"),
     (b"\x00\x01\x02", "labels.jsonl"), (b"[1, 2]", "line 1: expected an object")],
)  # fmt: skip
async def test_a_wrong_file_is_told_by_its_name_and_line(store: Store, content: bytes, words: str) -> None:
    await keep_file(store, content)
    with pytest.raises(ApiError) as refused:
        await find_labelled(store, "default", {"file_id": "file-1"})
    assert words in refused.value.message
    assert str(store.files.folder) not in refused.value.message
    assert refused.value.param == "file_id"
