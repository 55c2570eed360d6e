"""slime and miles: `async f(args, sample)`, and with `--group-rm` `async f(args, samples)` for a prompt's answers.

In a module of your own, for `--custom-rm-path my_rewards.score --group-rm`:
`score = fairmark.trainers.slime.group("grader.json")`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairmark.errors import InvalidData
from fairmark.parse import Grader
from fairmark.result import Result
from fairmark.run import agrade_many
from fairmark.trainers.reward import ROW_DEADLINE_S, Reward, mean_for_masked
from fairmark.trainers.single import SingleReward
from fairmark.work import eventloop


class SlimeReward(SingleReward):
    """One sample a call, or the samples that one rollout of a custom generate function was made into. A failed one gets
    0 and `remove_sample`, which keeps it out of the loss, while slime still counts the 0 in its group's mean: `group`
    does not have that."""

    errors_become = "mask"
    can_mask = True

    async def __call__(self, args: Any, sample: Any, **more: Any) -> float | list[float]:
        if isinstance(sample, (list, tuple)):
            return await eventloop.together(self._score(one) for one in sample)
        return await self._score(sample)

    async def _score(self, sample: Any) -> float:
        result = await self.gatherer.agrade(row_of(self, sample))
        value = self.number(result)
        mark(self, sample, result)
        return value


class SlimeGroupReward(Reward):
    """All answers to a prompt. A failed one gets the mean of the others and `remove_sample`: it shifts nothing."""

    errors_become = "mask"
    can_mask = True
    hands_groups = True
    deadline_s = ROW_DEADLINE_S

    async def __call__(self, args: Any, samples: Sequence[Any], **more: Any) -> list[float]:
        if not isinstance(samples, (list, tuple)):
            raise InvalidData("found one sample, not a group. Give it --group-rm, or take slime.reward.")
        rows = self.together([range(len(samples))], [row_of(self, sample) for sample in samples])
        results = await agrade_many(
            self.spec, rows, deadline_s=self.options.deadline_s, judge=self.options.judge
        )  # fmt: skip
        rewards = self.rewards(results)
        self.signal.note([rewards])
        for sample, result in zip(samples, results, strict=True):
            mark(self, sample, result)
        return mean_for_masked(rewards)


def row_of(adapter: Reward, sample: Any) -> dict[str, Any]:
    """The item has the sample's metadata and its label."""
    metadata = sample.metadata if isinstance(sample.metadata, dict) else {}
    columns = {name: value for name, value in metadata.items() if name != "fairmark"}
    if sample.label is not None:
        columns["label"] = sample.label
    return adapter.maker.row(sample.prompt, sample.response, columns)


def mark(adapter: Reward, sample: Any, result: Result) -> None:
    """Tell the sample what it got: parts in its metadata, and whether it is left out of the loss."""
    if not isinstance(sample.metadata, dict):
        sample.metadata = {}
    sample.metadata["fairmark"] = {name: number(result) for name, number in adapter.logged("/").items()}
    if not result.ok and adapter.options.on_error == "mask":
        sample.remove_sample = True


def reward(grader: Grader | Path, **options: Any) -> SlimeReward:
    """A function for `--custom-rm-path`, a sample a call. Raises InvalidGrader."""
    return SlimeReward(grader, **options)


def group(grader: Grader | Path, **options: Any) -> SlimeGroupReward:
    """A function for `--custom-rm-path` with `--group-rm`, a prompt's answers a call. Raises InvalidGrader."""
    return SlimeGroupReward(grader, **options)
