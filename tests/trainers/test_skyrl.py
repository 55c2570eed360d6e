"""The environment as SkyRL steps through it."""

import pickle
from types import SimpleNamespace
from typing import Any

import pytest

from fairmark.errors import InvalidData
from fairmark.trainers import skyrl
from tests.trainers.test_trl import BOTH, EXACT

TRUE = {**BOTH, "graders": {**BOTH["graders"], "exact": {**EXACT, "reference": "{{item.ground_truth}}"}}}  # type: ignore[dict-item]
CHAT = [{"role": "user", "content": "Capital?"}]


def test_a_step_is_graded_and_ends_the_episode() -> None:
    kind = skyrl.env(TRUE)
    rows: list[dict[str, Any]] = [{}, {"fail": True}]
    envs = [
        kind(env_config=SimpleNamespace(), extras={"reward_spec": {"ground_truth": "Paris"}, **row}) for row in rows
    ]
    outs = []
    for env in envs:
        assert env.init(CHAT) == (CHAT, {})
        outs.append(env.step("Paris"))
        env.close()
    assert kind.__name__ == "both"
    assert [(out["reward"], out["done"], out["observations"]) for out in outs] == [(1.5, True, []), (0.0, True, [])]
    assert "on purpose" in outs[1]["metadata"]["error"]
    metrics = [env.get_metrics() for env in envs]
    assert metrics[0] == {"both/exact": 1.0, "both/code": 0.5, "both/failed": 0.0}
    assert kind.aggregate_metrics(metrics)["both/failed"] == 0.5
    assert list(metrics[0]) == list(metrics[1])


def test_it_cannot_mask() -> None:
    with pytest.raises(InvalidData, match="cannot leave rows out"):
        skyrl.env(EXACT, on_error="mask")


def test_what_is_behind_it_pickles() -> None:
    made = pickle.loads(pickle.dumps(skyrl.env(EXACT).made))  # noqa: S301
    assert made.spec.name == "exact"
