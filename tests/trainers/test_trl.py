"""The reward function as TRL calls it."""

import logging
import pickle
from typing import Any

import pytest

from fairmark.errors import GradingFailed, InvalidData, InvalidGrader
from fairmark.trainers import trl

EXACT = {
    "type": "string_check", "name": "exact", "operation": "eq",
    "input": "{{sample.output_text}}", "reference": "{{item.answer}}",
}  # fmt: skip
CODE = {
    "type": "python",
    "name": "code",
    "source": "def grade(sample, item):\n"
    "    if item.get('fail'):\n        raise ValueError('on purpose')\n"
    "    return len(sample['output_text']) / 10\n",
}
BOTH = {"type": "multi", "name": "both", "graders": {"exact": EXACT, "code": CODE}, "calculate_output": "exact + code"}


class Log:
    """What TRL offers for logging."""

    def __init__(self) -> None:
        self.metrics: dict[str, float] = {}
        self.columns: dict[str, list[Any]] = {}

    def extra(self, name: str, values: list[Any]) -> None:
        self.columns[name] = values

    def metric(self, name: str, value: float) -> None:
        self.metrics[name] = value


def ask(function: Any, log: Log | None = None, **columns: Any) -> list[float | None]:
    answers = columns.pop("completions", ["Paris", "Rome", "Paris", "Rome"])
    more = {"log_extra": log.extra, "log_metric": log.metric} if log else {}
    prompts = ["Capital?"] * len(answers)
    return function(  # type: ignore[no-any-return]
        prompts=prompts,
        completions=answers,
        completion_ids=[[1]] * len(answers),
        trainer_state=object(),
        **columns,
        **more,
    )


def test_a_batch_is_graded_by_its_columns() -> None:
    assert ask(trl.reward(EXACT), answer=["Paris"] * 4) == [1.0, 0.0, 1.0, 0.0]


def test_chats_are_graded_by_the_last_answer() -> None:
    chats = [[{"role": "assistant", "content": "Paris"}], [{"role": "assistant", "content": "Rome"}]]
    assert ask(trl.reward(EXACT), completions=chats, answer=["Paris"] * 2) == [1.0, 0.0]


def test_a_row_that_fails_is_masked_and_told(caplog: pytest.LogCaptureFixture) -> None:
    log = Log()
    with caplog.at_level(logging.WARNING):
        rewards = ask(trl.reward(BOTH), log, answer=["Paris"] * 4, fail=[False, False, True, False])
    assert rewards == [1.5, 0.4, None, 0.4]
    assert log.columns == {
        "both/exact": [1.0, 0.0, 1.0, 0.0],
        "both/code": [0.5, 0.4, 0.0, 0.4],
        "both/failed": [0.0, 0.0, 1.0, 0.0],
    }
    assert log.metrics["both/failed"] == 0.25
    assert any("1 of 4 rows were not graded and are masked" in record.message for record in caplog.records)


@pytest.mark.parametrize(("on_error", "instead"), [("zero", 0.0), (-1, -1.0)])
def test_a_failure_can_be_a_number(on_error: Any, instead: float) -> None:
    rewards = ask(trl.reward(CODE, on_error=on_error), fail=[True, False, False, False])
    assert rewards == [instead, 0.4, 0.5, 0.4]


def test_a_failure_can_stop_the_run() -> None:
    with pytest.raises(GradingFailed, match="on purpose"):
        ask(trl.reward(CODE, on_error="raise"), fail=[False, True, False, False])


def test_a_wrong_grader_stops_the_job_before_it_begins() -> None:
    with pytest.raises(InvalidGrader) as caught:
        trl.reward({"type": "string_check", "name": "a", "operation": "equals", "input": "{{sample.output_txt}}"})
    assert {problem.path for problem in caught.value.problems} >= {"$.operation", "$.reference"}
    with pytest.raises(InvalidGrader, match="custom"):
        trl.reward({"type": "custom", "name": "by hand"})
    with pytest.raises(InvalidData, match=r'on_error: found a string \("ignore"\)'):
        trl.reward(EXACT, on_error="ignore")


def test_it_pickles_with_its_grader_and_options() -> None:
    function = pickle.loads(pickle.dumps(trl.reward(EXACT, extract="<a>(.*)</a>", deadline_s=5)))  # noqa: S301
    assert function.__name__ == "exact"
    assert function.options.deadline_s == 5
    assert ask(function, completions=["<a>Paris</a>", "Paris"], answer=["Paris"] * 2) == [1.0, 0.0]


def test_rows_that_loop_fail_alone_within_the_deadline() -> None:
    endless = {**CODE, "source": "def grade(sample, item):\n    while item['loop']:\n        pass\n    return 1.0\n"}
    rewards = ask(
        trl.reward(endless, deadline_s=10), completions=["x"] * 40, loop=[index % 10 == 0 for index in range(40)]
    )
    assert rewards[0] is None
    assert rewards.count(1.0) == 36


def test_several_share_one_grading_and_one_mask() -> None:
    exact, code = trl.rewards([EXACT, CODE])
    columns: dict[str, Any] = {
        "prompts": ["?"] * 2,
        "completions": ["Paris", "Rome"],
        "answer": ["Paris"] * 2,
        "fail": [False, True],
    }
    assert (exact.__name__, code.__name__) == ("exact", "code")
    assert exact(**columns) == [1.0, None]
    assert code(**columns) == [0.5, None]
    again = pickle.loads(pickle.dumps([exact, code]))  # noqa: S301
    assert [function(**columns) for function in again] == [[1.0, None], [0.5, None]]
    with pytest.raises(InvalidData, match="found none"):
        trl.rewards([])
    with pytest.raises(InvalidData, match='2 are named "exact"'):
        trl.rewards([EXACT, CODE, EXACT])


def test_several_grade_a_batch_once(monkeypatch: pytest.MonkeyPatch) -> None:
    graded: list[str] = []
    grade = trl.TrlReward.grade

    def counted(self: trl.TrlReward, rows: Any) -> Any:
        graded.append(self.spec.name)
        return grade(self, rows)

    monkeypatch.setattr(trl.TrlReward, "grade", counted)
    exact, code = trl.rewards([EXACT, CODE])
    for _ in range(2):
        columns: dict[str, Any] = {"prompts": ["?"], "completions": ["Paris"], "answer": ["Paris"]}
        exact(**columns), code(**columns)
    assert graded == ["exact", "code"] * 2
