"""The evaluator as rLLM calls it, from threads."""

import pickle
from types import SimpleNamespace
from typing import Any

import pytest

from fairmark.trainers import rllm
from tests.trainers.test_trl import BOTH, EXACT


def task(**metadata: Any) -> Any:
    return SimpleNamespace(id="1", instruction="Capital?", metadata={"answer": "Paris", **metadata})


def episode(answer: str) -> Any:
    steps = [SimpleNamespace(output=None, model_response=text) for text in (answer, "")]
    return SimpleNamespace(artifacts={}, trajectories=[SimpleNamespace(output=None, steps=steps)])


def test_an_episode_is_graded_with_a_signal_for_each_part() -> None:
    made = rllm.evaluator(BOTH)
    outs = [made.evaluate(task(fail=fail), episode("Paris")) for fail in (False, True)]
    assert [(out.reward, out.is_correct) for out in outs] == [(1.5, True), (0.0, False)]
    signals = [{signal.name: signal.value for signal in out.signals} for out in outs]
    assert signals[0] == {"both/exact": 1.0, "both/code": 0.5, "both/failed": 0.0}
    assert signals[1]["both/failed"] == 1.0
    assert list(signals[0]) == list(signals[1])
    assert "on purpose" in outs[1].metadata["error"]


def test_the_threshold_decides_what_is_correct() -> None:
    strict = rllm.evaluator({**BOTH, "pass_threshold": 2})
    assert strict.evaluate(task(), episode("Paris")).is_correct is False
    assert rllm.evaluator(EXACT).evaluate({"question": "?", "answer": "Rome"}, episode("Rome")).is_correct is True


@pytest.mark.parametrize(
    ("found", "answer"),
    [
        ({"artifacts": {"answer": 4}, "trajectories": []}, "4"),
        ({"artifacts": {}, "trajectories": [SimpleNamespace(output="out", steps=[])]}, "out"),
        ({"artifacts": {}, "trajectories": []}, None),
    ],
)
def test_the_answer_is_looked_for_where_rllm_does(found: dict[str, Any], answer: str | None) -> None:
    assert rllm.answer_of(SimpleNamespace(**found)) == answer


def test_it_pickles() -> None:
    assert pickle.loads(pickle.dumps(rllm.evaluator(EXACT))).__name__ == "exact"  # noqa: S301
