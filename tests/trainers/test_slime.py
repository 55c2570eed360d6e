"""The reward as slime calls it: a sample, or with --group-rm all samples of a prompt."""

import asyncio
import pickle
from types import SimpleNamespace
from typing import Any

import pytest

from fairmark.errors import GradingFailed, InvalidData
from fairmark.trainers import slime
from tests.trainers.test_trl import BOTH, EXACT

LABELLED = {**BOTH, "graders": {**BOTH["graders"], "exact": {**EXACT, "reference": "{{item.label}}"}}}  # type: ignore[dict-item]


def sample(response: str, fail: bool = False) -> Any:
    return SimpleNamespace(
        prompt="Capital?", response=response, label="Paris", metadata={"fail": fail}, remove_sample=False
    )


def test_a_failed_sample_of_a_group_gets_the_mean_of_the_others_and_no_loss() -> None:
    samples = [sample("Paris"), sample("Rome"), sample("Paris", fail=True)]
    rewards = asyncio.run(slime.group(LABELLED)(None, samples))
    assert rewards == [1.5, 0.4, pytest.approx(0.95)]
    assert [one.remove_sample for one in samples] == [False, False, True]
    parts = [one.metadata["fairmark"] for one in samples]
    assert parts[0] == {"both/exact": 1.0, "both/code": 0.5, "both/failed": 0.0}
    assert parts[2]["both/failed"] == 1.0
    assert len({tuple(part) for part in parts}) == 1


def test_a_group_of_failures_gets_0_and_no_loss() -> None:
    samples = [sample("Paris", fail=True), sample("Rome", fail=True)]
    assert asyncio.run(slime.group(LABELLED)(None, samples)) == [0.0, 0.0]
    assert all(one.remove_sample for one in samples)


def test_a_sample_alone() -> None:
    samples = [sample("Paris"), sample("Rome", fail=True)]
    made = slime.reward(LABELLED)

    async def ask() -> list[Any]:
        return list(await asyncio.gather(*(made(None, one, evaluation=False) for one in samples)))

    assert asyncio.run(ask()) == [1.5, 0.0]
    assert [one.remove_sample for one in samples] == [False, True]


def test_the_samples_that_one_rollout_was_made_into() -> None:
    samples = [sample("Paris"), sample("Rome", fail=True), sample("Rome")]
    assert asyncio.run(slime.reward(LABELLED)(None, samples)) == [1.5, 0.0, 0.4]
    assert [one.remove_sample for one in samples] == [False, True, False]


def test_a_group_function_without_groups_says_what_to_do() -> None:
    with pytest.raises(InvalidData, match=r"Give it --group-rm, or take slime.reward"):
        asyncio.run(slime.group(LABELLED)(None, sample("Paris")))


def test_a_number_in_its_place_keeps_the_sample() -> None:
    failing = sample("Paris", fail=True)
    assert asyncio.run(slime.group(LABELLED, on_error=-1)(None, [failing])) == [-1.0]
    assert failing.remove_sample is False
    with pytest.raises(GradingFailed):
        asyncio.run(slime.group(LABELLED, on_error="raise")(None, [failing]))


def test_both_pickle() -> None:
    for made in (slime.reward(LABELLED), slime.group(LABELLED)):
        again = pickle.loads(pickle.dumps(made))  # noqa: S301
        assert (type(again), again.__name__) == (type(made), "both")
