"""What a grader compares with must be there."""

import asyncio
import math
from types import SimpleNamespace
from typing import Any

import pytest

from fairmark.parse import parse
from fairmark.row import UnmadeSample
from fairmark.trainers import aws, fireworks, openrlhf, rllm, trl, verifiers, verl
from fairmark.trainers.needs import complete, needed

EXACT = {
    "type": "string_check",
    "name": "exact",
    "operation": "eq",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
}
DEEP = {**EXACT, "reference": "{{ item.meta.answer }}"}
JUDGE = {"type": "score_model", "name": "j", "model": "m", "input": [{"role": "user", "content": "{{ item.context }}"}]}
BOTH = {"type": "multi", "name": "both", "graders": {"a": EXACT, "b": DEEP}, "calculate_output": "a + b"}


@pytest.mark.parametrize(
    ("grader", "names"),
    [
        (EXACT, ["{{ item.answer }}"]),
        (BOTH, ["{{ item.answer }}", "{{ item.meta.answer }}"]),
        (JUDGE, []),  # a judge may be asked without a part
        ({**EXACT, "reference": "x"}, []),
    ],
)
def test_it_is_what_texts_fill_in_of_an_item(grader: dict[str, Any], names: list[str]) -> None:
    assert [str(variable) for variable in needed(parse(grader))] == names


@pytest.mark.parametrize(
    ("grader", "item", "is_complete"),
    [
        (EXACT, {"answer": "x"}, True),
        (EXACT, {"answer": ""}, True),
        (EXACT, {"answer": 0}, True),
        (EXACT, {"answer": None}, False),
        (EXACT, {"answer": math.nan}, False),
        (DEEP, {"meta": {"answer": None}}, False),
        (DEEP, {"meta": None}, True),  # the template says that it has no fields
        (EXACT, {}, True),  # the template says which fields there are
    ],
)
def test_a_row_that_has_null_there_cannot_be_graded(
    grader: dict[str, Any], item: dict[str, Any], is_complete: bool
) -> None:
    row = complete({"item": item, "sample": "x"}, needed(parse(grader)))
    assert (row["sample"] == "x") == is_complete
    assert isinstance(row["sample"], UnmadeSample) != is_complete


def test_a_trainer_masks_it_and_says_why(caplog: pytest.LogCaptureFixture) -> None:
    rewards = trl.reward(EXACT)(prompts=["q", "q"], completions=["4", "null"], answer=["4", None])
    assert rewards == [1.0, None]
    assert "1 of 2 rows were not graded and are masked: 1 × {{ item.answer }}: it is null in this row" in caplog.text


LABEL = {**EXACT, "reference": "{{ item.label }}"}
TRUTH = {**EXACT, "reference": "{{ item.ground_truth }}"}


def test_no_adapter_makes_a_null_of_what_is_not_there() -> None:
    graded = openrlhf.reward(LABEL)(["q null"], ["q "], None)
    assert graded["extra_logs"]["fairmark/error"] == [1.0]
    score = verl.reward(TRUTH, awaited=False, on_error="zero")
    told = score(solution_str="null", ground_truth=None)
    assert told["exact_failed"] == 1.0
    told = score(solution_str="4", extra_info={"ground_truth": "4"})
    assert (told["score"], told["exact_failed"]) == (1.0, 0.0)
    handler = aws.handler({**EXACT, "reference": "{{ item.reference_answer }}"}, max_failed=1.0)
    (answer,) = handler([{"messages": [{"role": "assistant", "content": "null"}], "reference_answer": None}])
    assert {"name": "exact/failed", "value": 1.0, "type": "Metric"} in answer["metrics_list"]


def test_an_empty_answer_of_a_rubric_stands_for_none() -> None:
    reward = verifiers.reward(EXACT)
    assert asyncio.run(reward(prompt="q", completion="4", answer="", info={"answer": "4"}, state={})) == 1.0


def test_a_ground_truth_that_is_none_leaves_the_data_sets() -> None:
    row = SimpleNamespace(
        messages=[{"role": "user", "content": "2+2"}, {"role": "assistant", "content": "4"}],
        input_metadata=SimpleNamespace(dataset_info={"ground_truth": "4"}),
        ground_truth=None,
    )
    assert fireworks.evaluate(TRUTH, row).evaluation_result.score == 1.0


def test_an_artifact_that_is_none_is_no_answer() -> None:
    assert rllm.answer_of(SimpleNamespace(artifacts={"answer": None}, trajectories=[])) is None
