"""The reward function as OpenRLHF calls it: in threads, with lists of one, prompt and answer in one text."""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from fairmark.errors import InvalidData
from fairmark.trainers import openrlhf
from tests.trainers.test_trl import BOTH, EXACT

LABELLED = {**EXACT, "reference": "{{item.label}}"}


def test_the_answer_is_graded_without_its_prompt_and_end_marks() -> None:
    grade = openrlhf.reward(LABELLED)
    queries = ["<|im_start|>user\n2 + 2?<|im_end|>\n<|im_start|>assistant\n4<|im_end|>", "2 + 2?5</s>"]
    prompts = ["<|im_start|>user\n2 + 2?<|im_end|>\n<|im_start|>assistant\n", "2 + 2?"]
    expected = {"rewards": [1.0, 0.0], "scores": [1.0, 0.0], "extra_logs": {"fairmark/error": [0.0, 0.0]}}
    assert grade(queries, prompts, ["4", "4"]) == expected


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("4</s>", "4"),
        ("4 <|im_end|>\n<|endoftext|> \n", "4"),
        ("4 \n", "4 \n"),  # what it said, and no mark
        ("<|im_end|> is a mark", "<|im_end|> is a mark"),
        ("4<｜end▁of▁sentence｜><pad><pad>", "4"),
        ("<eos>", ""),
        ("", ""),
        ("a < b |>", "a < b |>"),
        ("<|" + "x" * 40 + "|>", ""),
        ("<|" + "x" * 41 + "|>", "<|" + "x" * 41 + "|>"),
        ("<|a|> " * 100_000 + "x", "<|a|> " * 100_000 + "x"),  # which took minutes
        ("x" + "<|a|> " * 100_000, "x"),
        (" " * 1_000_000 + "x", " " * 1_000_000 + "x"),
    ],
    ids=range(13),
)
def test_end_marks_are_cut_and_nothing_else(text: str, left: str) -> None:
    assert openrlhf.without_end_marks(text) == left


@pytest.mark.parametrize(("on_error", "score"), [("zero", 0.0), ("mask", math.nan), (-1, -1.0)])
def test_a_failure_is_a_number_and_logged(on_error: Any, score: float) -> None:
    answer = openrlhf.reward(BOTH, on_error=on_error)(["q!"], ["q"], ['{"answer": "!", "fail": true}'])
    assert answer["rewards"] == [-1.0 if on_error == -1 else 0.0]
    assert answer["scores"] == pytest.approx([score], nan_ok=True)
    assert answer["extra_logs"]["fairmark/error"] == [1.0]
    assert list(answer["extra_logs"]) == ["fairmark/error", "fairmark/exact", "fairmark/code"]


def test_threads_ask_for_a_row_each() -> None:
    grade = openrlhf.reward({**BOTH, "graders": {**BOTH["graders"], "exact": LABELLED}})  # type: ignore[dict-item]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda label: grade(["qParis"], ["q"], [label]), ["Paris", "Rome"] * 32))
    assert [answer["rewards"] for answer in answers] == [[1.5], [0.5]] * 32


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(InvalidData, match="labels: found 1 for 2 queries"):
        openrlhf.reward(LABELLED)(["a", "b"], ["a", "b"], ["x"])


def test_a_text_in_place_of_a_list_is_refused_and_no_answer_fails() -> None:
    with pytest.raises(InvalidData, match="queries: found a string"):
        openrlhf.reward(LABELLED)("abc", ["a"], ["b"])
    answer = openrlhf.reward(LABELLED)([None], [None], ["4"])  # type: ignore[list-item]
    assert (answer["rewards"], answer["extra_logs"]) == ([0.0], {"fairmark/error": [1.0]})


def test_it_pickles() -> None:
    again = pickle.loads(pickle.dumps(openrlhf.reward(LABELLED, on_error="mask")))  # noqa: S301
    assert again(["q4"], ["q"], ["4"])["rewards"] == [1.0]


@pytest.mark.parametrize(
    ("query", "prompt", "sample"),
    [
        ("<s> q 4</s>", "<s>q ", "4"),  # the tokenizer wrote the space anew
        ("<s>What is\n2+2? 4", "What is 2+2?", " 4"),
        ("<|begin_of_text|>q 4", "q ", "4"),
        ("something else", "hi ", "something else"),  # an answer alone
    ],
)
def test_a_prompt_is_found_whatever_its_tokenizer_made_of_it(query: str, prompt: str, sample: str) -> None:
    (row,) = openrlhf.rows_of([query], [prompt], ["x"])
    assert row["sample"].strip() == sample.strip()
