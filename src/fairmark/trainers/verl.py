"""veRL: one row a call, `compute_score(data_source, solution_str, ground_truth, extra_info)`.

By path, in its configuration: `reward.custom_reward_function.path: pkg://fairmark.trainers.verl`, with the grader in
`reward_kwargs`. Or a function of your own: `compute_score = fairmark.trainers.verl.reward("grader.json")`.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairmark.errors import InvalidData
from fairmark.parse import Grader
from fairmark.result import Result
from fairmark.trainers.single import SingleReward, amade_once, made_once

OPTIONS = ("on_error", "deadline_s", "extract", "item", "warm")
VERL_ARGUMENTS = ("reward_router_address", "reward_model_tokenizer")
"""What veRL hands over beside `reward_kwargs`."""
_log = logging.getLogger("fairmark.trainers")
_told: set[str] = set()


class VerlReward(SingleReward):
    """A failure is raised: veRL's trainer then drops the rollout. Its older one stops, and needs `zero`."""

    errors_become = "raise"

    async def compute_score(
        self,
        data_source: Any = None,
        solution_str: str | None = None,
        ground_truth: Any = None,
        extra_info: Any = None,
        **more: Any,
    ) -> dict[str, float]:
        _refuse_batch(more)
        row = self.row(data_source, solution_str, ground_truth, extra_info)
        return self.score(await self.gatherer.agrade(row))

    def compute_score_sync(
        self,
        data_source: Any = None,
        solution_str: str | None = None,
        ground_truth: Any = None,
        extra_info: Any = None,
        **more: Any,
    ) -> dict[str, float]:
        _refuse_batch(more)
        row = self.row(data_source, solution_str, ground_truth, extra_info)
        return self.score(self.gatherer.grade(row))

    def row(self, data_source: Any, solution: str | None, ground_truth: Any, extra_info: Any) -> dict[str, Any]:
        columns = dict(extra_info) if isinstance(extra_info, Mapping) else {}
        columns["data_source"] = data_source
        if ground_truth is not None:
            columns["ground_truth"] = ground_truth
        return self.maker.row(columns.pop("prompt", None), solution, columns)

    def score(self, result: Result) -> dict[str, float]:
        """The keys are the same for every row: veRL takes those of the first, and stops where one lacks."""
        value = self.number(result)
        return {"score": value, "acc": value, **self.row_logs(result, "_")}


def reward(grader: Grader | Path, awaited: bool = True, **options: Any) -> Callable[..., Any]:
    """A function for `custom_reward_function`. veRL awaits it; its manager `remote` and the managers before the reward
    loop do not, and need `awaited=False`. A method, not an object that can be called: veRL would take an object for a
    plain function, and what it returns for the score. Raises InvalidGrader."""
    made = VerlReward(grader, **options)
    return made.compute_score if awaited else made.compute_score_sync


async def compute_score(
    data_source: Any = None,
    solution_str: str | None = None,
    ground_truth: Any = None,
    extra_info: Any = None,
    **reward_kwargs: Any,
) -> dict[str, float]:
    """For configuration by path: `grader` and the options stand in `reward_kwargs`. One reward is made a process."""
    made = await amade_once(VerlReward, *_grader_and_options(reward_kwargs))
    return await made.compute_score(data_source, solution_str, ground_truth, extra_info)


def compute_score_sync(
    data_source: Any = None,
    solution_str: str | None = None,
    ground_truth: Any = None,
    extra_info: Any = None,
    **reward_kwargs: Any,
) -> dict[str, float]:
    """The same for managers that do not await."""
    made = made_once(VerlReward, *_grader_and_options(reward_kwargs))
    return made.compute_score_sync(data_source, solution_str, ground_truth, extra_info)


def _grader_and_options(reward_kwargs: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What is ours of what veRL hands over: its own arguments, such as `reward_router_address`, stand beside it."""
    if reward_kwargs.get("grader") is None:
        raise InvalidData("grader: missing. Name it in reward.custom_reward_function.reward_kwargs.")
    options = {name: _plain(reward_kwargs[name]) for name in OPTIONS if name in reward_kwargs}
    unknown = reward_kwargs.keys() - {"grader", *OPTIONS, *VERL_ARGUMENTS} - _told
    if unknown:
        _told.update(unknown)
        names = ", ".join(sorted(unknown))
        _log.warning("reward_kwargs: %s: no option of ours, and not used. There are: %s.", names, ", ".join(OPTIONS))
    return _plain(reward_kwargs["grader"]), options


def _refuse_batch(more: Mapping[str, Any]) -> None:
    if "solution_strs" in more:
        raise InvalidData("solution_strs: found a batch. It takes one row a call; set reward_manager: naive or dapo.")


def _plain(value: Any) -> Any:
    """A part of the configuration as dicts and lists: it comes in classes of the reader's own."""
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_plain(inner) for inner in value]
    return value
