"""ms-swift: a class for its table `orms`, called with a batch.

In a plugin: `orms["quality"] = fairmark.trainers.swift.reward("grader.json")`, and `--reward_funcs quality`.
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from fairmark.parse import Grader
from fairmark.row import is_chat
from fairmark.trainers.reward import Reward
from fairmark.trainers.signal import by_prompt

_log = logging.getLogger("fairmark.trainers")


class SwiftBatchReward(Reward):
    """What is behind the class that ms-swift makes its own instance of."""

    errors_become = "mask"
    can_mask = True
    hands_groups = True

    def __call__(self, completions: Sequence[Any], columns: dict[str, Any]) -> list[float | None]:
        count = len(completions)
        chats = columns.pop("messages", None)
        prompts: list[Any] = [None] * count
        if isinstance(chats, (list, tuple)) and len(chats) == count:
            prompts = [_asked(chat) for chat in chats]
        elif isinstance(columns.get("prompt"), (list, tuple)) and len(columns["prompt"]) == count:
            prompts = list(columns.pop("prompt"))
        rows = self.maker.rows(prompts, completions, columns)
        results = self.grade(self.by_prompt(prompts, rows))
        rewards = self.rewards(results)
        self.signal.note(by_prompt(prompts, rewards))
        return rewards


class SwiftReward:
    """Base of the classes that `reward` makes, one for each grader: ms-swift logs under the name of the class."""

    made: ClassVar[SwiftBatchReward]

    def __init__(self, args: Any = None, **more: Any) -> None:
        self.args = args

    def __call__(self, completions: Sequence[Any], **columns: Any) -> list[float | None]:
        return self.made(completions, columns)

    def __reduce__(self) -> tuple[Any, ...]:
        return _instance, (self.made,)


def reward(grader: Grader | Path, **options: Any) -> type[SwiftReward]:
    """A class for `orms`. Raises InvalidGrader when it is made, before anything is generated."""
    made = SwiftBatchReward(grader, **options)
    if made.options.on_error == "mask":
        _log.warning(
            "%s: rows that are not graded get no reward, and ms-swift (up to 4.6 at least) counts those as 0.",
            made.spec.name,
        )
    return _class_of(made)


def _class_of(made: SwiftBatchReward) -> type[SwiftReward]:
    return type(made.spec.name, (SwiftReward,), {"made": made, "__module__": __name__, "__doc__": SwiftReward.__doc__})


def _instance(made: SwiftBatchReward) -> SwiftReward:
    return _class_of(made)()


def _asked(chat: Any) -> Any:
    """A conversation without the answer that ms-swift has put at its end."""
    if is_chat(chat) and chat[-1]["role"] == "assistant":
        return list(chat[:-1])
    return chat
