"""What the rewards of a step come to."""

import json
import math

from fairmark import FakeJudge, grade_many
from fairmark.parse import parse
from fairmark.training.recorder import ERRORS, Recorder, StepTally, metrics

OUTPUT = "{{ sample.output_text }}"
EXACT = {"type": "string_check", "name": "exact", "input": OUTPUT, "reference": "a", "operation": "eq"}
LENGTH = {"type": "python", "name": "length", "source": "def grade(sample, item):\n    return 1 / item['n']\n"}
BOTH = {"type": "multi", "name": "both", "graders": {"e": EXACT, "l": LENGTH}, "calculate_output": "e + l"}


def tally(*rows: tuple[str, int], lengths: tuple[int, ...] = ()) -> StepTally:
    made = StepTally()
    made.add(grade_many(BOTH, [{"sample": sample, "item": {"n": n}} for sample, n in rows]))
    made.add_tokens(lengths)
    return made


def test_means_are_those_of_the_rows_that_were_graded() -> None:
    train = tally(("a", 2), ("b", 4), ("a", 0), lengths=(3, 5, 4))
    data = metrics(parse(BOTH), 3, 9, {"train": train}, {"sampling": 1.5, "full_iteration": 4.0}, {"loss": 0.25})
    assert (data["step"], data["total_steps"], data["train_mean_reward"]) == (3, 9, (1.5 + 0.25) / 2)
    assert (data["full_valid_mean_reward"], data["completion_tokens_mean"]) == (None, 4.0)
    parts = [(part["name"], part["type"], part["train_reward_mean"]) for part in data["scores"]["graders"]]
    assert parts == [("exact", "string_check", 0.5), ("length", "python", 0.375)]
    (errors,) = data["errors"]["graders"]
    assert (errors["name"], errors["train_python_grader_runtime_error_count"]) == ("both", 1)
    assert errors["train_python_grader_runtime_error_mean"] == 1 / 3
    assert errors["valid_python_grader_runtime_error_mean"] is None
    assert {f"{mode}_{flag}_{what}" for flag in ERRORS for mode in ("train", "valid") for what in ("mean", "count")} | {
        "name",
        "type",
    } == set(errors)
    assert data["timing"]["step"] == {"sampling": 1.5, "training": None, "eval": None, "full_iteration": 4.0}
    assert data["timing"]["graders"][0]["train_execution_latency_mean"] > 0
    assert data["graded"]["train"]["rows"] == 3
    assert data["graded"]["train"]["graded"] == 2
    assert "ZeroDivisionError" in data["graded"]["train"]["most_frequent_error"]
    assert data["trainer"] == {"loss": 0.25}


def test_where_nothing_was_graded_there_is_no_reward_and_not_a_reward_of_0() -> None:
    data = metrics(parse(BOTH), 1, None, {"train": tally(("a", 0))}, {}, {"loss": math.nan, "epoch": 1.0})
    assert data["train_mean_reward"] is None
    assert [part["train_reward_mean"] for part in data["scores"]["graders"]] == [None, None]
    assert data["trainer"] == {"epoch": 1.0}
    json.dumps(data, allow_nan=False)


def test_validation_stands_beside_training() -> None:
    data = metrics(parse(BOTH), 1, 2, {"train": tally(("a", 1)), "valid": tally(("b", 2))}, {}, {})
    assert (data["train_mean_reward"], data["full_valid_mean_reward"]) == (2.0, 0.5)
    assert (data["scores"]["train_reward_mean"], data["scores"]["valid_reward_mean"]) == (2.0, 0.5)
    assert data["full_valid_mean_parse_error"] == 0.0


def test_tokens_of_judges_are_counted_by_model() -> None:
    judge = {
        "type": "score_model",
        "name": "judge",
        "model": "m",
        "input": [{"role": "user", "content": "{{ sample.output_text }}"}],
        "range": [0, 1],
    }
    made = StepTally()
    results = grade_many(judge, [{"sample": "a"}, {"sample": "b"}], judge=FakeJudge([1.0, 0.0]))
    made.add(results)
    data = metrics(parse(judge), 1, 1, {"train": made}, {}, {})
    spent = sum(result.judgements[0].usage.prompt_tokens for result in results)
    (usage,) = data["usage"]["graders"]
    assert (usage["train_prompt_tokens_count"], usage["train_prompt_tokens_mean"]) == (spent, spent / 2)
    assert all(name.startswith("train_") for counts in data["model_graders_token_usage"].values() for name in counts)


def test_what_was_taken_is_gone() -> None:
    recorder = Recorder()
    recorder.of("train").add_tokens([3])
    assert recorder.take("valid") is None
    taken = recorder.take("train")
    assert taken is not None
    assert taken.tokens == 3
    assert recorder.take("train") is None


def test_a_reason_is_short_however_long_an_error_is() -> None:
    long = {"type": "python", "name": "long", "source": "def grade(sample, item):\n    raise ValueError('x' * 9000)\n"}
    made = StepTally()
    made.add(grade_many(long, [{"sample": "a"}]))
    assert made.reason is not None
    assert 400 < len(made.reason) <= 500
