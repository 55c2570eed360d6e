"""Fenced blocks of an answer."""

import pytest

from fairmark import jsontext
from fairmark.graders.fences import Block, blocks, read_json


def test_blocks_come_in_their_order_with_their_language() -> None:
    text = "A\n```Python title=x\nprint(1)\n```\nB\n  ~~~\nraw ``` text\n~~~\n"
    text += "````\n```\ninner\n```\n````\n```js\nnever ends"
    assert blocks(text) == [
        Block("python", "print(1)\n"),
        Block("", "raw ``` text\n"),
        Block("", "```\ninner\n```\n"),
    ]
    assert blocks("no block at all") == []


def test_a_single_block_may_lack_its_end() -> None:
    assert blocks("So:\n```python\nprint(1)\n") == [Block("python", "print(1)\n")]
    assert read_json('```json\n{"a": 1}') == {"a": 1}


def test_a_block_ends_with_a_fence_as_long_as_its_own() -> None:
    assert blocks("~~~~\na\n~~~\nb\n~~~~~\nc") == [Block("", "a\n~~~\nb\n")]


def test_an_answer_of_fences_that_never_end_is_read_once() -> None:
    fences = [f"{'~' * length}\n" for length in range(1400, 2, -1)]  # a megabyte; trying each to its end takes minutes
    assert blocks("".join(fences)) == [Block("", "".join(fences[1:]))]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('So:\n```json\n{"a": 1}\n```\nDone.', {"a": 1}),
        ("```\n[1]\n```\n```\n[2]\n```\n```\nno\n```", [2]),
    ],
)
def test_json_is_the_whole_text_or_the_last_block_that_is_json(text: str, value: object) -> None:
    assert read_json(text) == value


def test_json_within_a_sentence_is_none() -> None:
    with pytest.raises(jsontext.NotJson):
        read_json('It is {"a": 1}.')
