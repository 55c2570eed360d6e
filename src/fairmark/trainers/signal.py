"""Whether there is anything to learn: where all answers to a prompt get the same reward, their advantage is 0."""

import logging
from collections.abc import Iterable, Sequence

GROUPS_BEFORE_A_WORD = 32
MOST = 0.5
_log = logging.getLogger("fairmark.trainers")


class Signal:
    """Counts groups of rewards and says once, with the share, when most of them tell nothing apart."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.groups = 0
        self.flat = 0
        self._told = False

    @property
    def flat_share(self) -> float:
        return self.flat / self.groups if self.groups else 0.0

    def add(self, group: Sequence[float | None]) -> None:
        """Counts a group, and says nothing."""
        rewards = [reward for reward in group if reward is not None]
        if len(rewards) > 1:
            self.groups += 1
            self.flat += min(rewards) == max(rewards)

    def note(self, groups: Iterable[Sequence[float | None]]) -> None:
        """The rewards of each prompt's answers; None where one was not graded."""
        for group in groups:
            self.add(group)
        if not self._told and self.groups >= GROUPS_BEFORE_A_WORD and self.flat_share > MOST:
            self._told = True
            _log.warning(
                "%s: in %d of %d groups (%.0f %%) all answers got the same reward, so nothing is learnt from them. "
                "Choose prompts of another difficulty, or a reward with more steps.",
                self._name,
                self.flat,
                self.groups,
                100 * self.flat_share,
            )


def by_prompt(prompts: Sequence[object], rewards: Sequence[float | None]) -> list[list[float | None]]:
    """The rewards of answers that stand together and have the same prompt."""
    groups: list[list[float | None]] = []
    last: object = object()
    for prompt, reward in zip(prompts, rewards, strict=True):
        if groups and prompt == last:
            groups[-1].append(reward)
        else:
            groups.append([reward])
        last = prompt
    return groups
