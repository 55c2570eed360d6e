"""Files of labels into a run."""

import json
from typing import Any

import pytest

from fairmark.errors import ApiError
from fairmark.labelling.lines import take_in
from fairmark.labelling.rows import encode_lines, label_lines
from fairmark.store import Store
from tests.labelling.labelled import graded, rows, say


def lines(*entries: Any) -> bytes:
    return "".join(json.dumps(entry) + "\n" for entry in entries).encode()


def line(index: int, **more: Any) -> dict[str, Any]:
    return {"item": rows(10)[index]["item"], "sample": "good" if index % 2 == 0 else f"bad {index}", **more}


async def test_lines_are_joined_by_item_and_answer_and_read_in_twice_count_once(store: Store) -> None:
    eval_, run = await graded(store, 10)
    given = lines(
        line(3, label="pass", rater="lee", note="n", weight=2, time=5),
        line(4),
        {**line(2, label="fail"), "sample": {"output_text": "good"}},
    )
    for _ in range(2):
        done = await take_in(store, eval_, run, given, rater="kim")
        assert (done.kept, done.without) == (2, 1)
    said = [(each.idx, each.rater, each.value, each.note, each.weight) for each in await store.labels.of_run(run)]
    assert said == [(3, "lee", "pass", "n", 2.0), (2, "kim", "fail", None, None)]


async def test_what_was_exported_comes_in_again_as_it_was(store: Store) -> None:
    eval_, run = await graded(store, 10)
    await say(store, eval_, run, {1: "fail", 5: "pass"}, note="\ud800 <b>", picked="random", weight=1.5, seconds=3.0)
    out = encode_lines(await label_lines(store, eval_, run))
    for label in await store.labels.of_run(run):
        await store.labels.delete("default", label.id)
    await take_in(store, eval_, run, out)
    again = encode_lines(await label_lines(store, eval_, run))
    assert [{**json.loads(each), "id": ""} for each in again.splitlines()] == [
        {**json.loads(each), "id": ""} for each in out.splitlines()
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "there are no rows in it"),
        (lines(line(0)), "on none of its 1 lines anybody said anything"),
        (lines(line(0, label="pass")) + b"{", "line 2: not JSON"),
        (lines(line(0, label="pass"), 7), "line 2: expected an object"),
        (lines(line(0, label="pass"), line(1, score=1)), "line 2: it has a score, and line 1 a label"),
        (lines(line(0, label="maybe")), 'line 1: label: found "maybe"'),
        (lines(line(0, labell="pass")), "Did you mean label?"),
        (lines(line(0, label="pass"), {**line(1, label="pass"), "sample": "other"}), "line 2: the run"),
        (lines(line(0, label="pass", weight=0)), "line 1: weight"),
        (lines(line(0, label="pass", note=["x"])), "line 1: Invalid type for 'note'"),
        (lines(line(0, preferred="a")), "line 1"),
    ],
)
async def test_a_bad_line_is_named_and_nothing_is_taken_in(store: Store, content: bytes, words: str) -> None:
    eval_, run = await graded(store, 4)
    if "preferred" in content.decode():
        content = content.replace(b'"preferred": "a"', b'"preferred": "x"')
    with pytest.raises(ApiError) as error:
        await take_in(store, eval_, run, content)
    assert (error.value.status, words in error.value.message) == (400, True), error.value.message
    assert await store.labels.of_run(run) == []
