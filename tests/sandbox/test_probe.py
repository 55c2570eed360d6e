"""The proof that a sandbox holds: what gets out, or cannot even try, is told, and nothing is run after it."""

import asyncio
from typing import Any

import pytest

from fairmark.sandbox.base import Outcome
from fairmark.sandbox.probe import PROGRAM, prove
from fairmark.sandbox.runners import RunnerGone
from fairmark.sandbox.zygotes import CannotIsolate


class Spawning:
    """A zygote whose runner comes to this, or cannot be started."""

    def __init__(self, outcome: Outcome | None) -> None:
        self._outcome = outcome
        self.ended = False

    async def spawn(self, program: Any) -> "Spawning":
        assert program is PROGRAM
        if self._outcome is None:
            raise RunnerGone(Outcome(failure="died", details="no room"))
        return self

    async def grade(self, rows: list[bytes]) -> list[Outcome]:
        assert len(rows) == 1
        assert self._outcome is not None
        return [self._outcome]

    def end(self) -> None:
        self.ended = True


def test_where_nothing_gets_out_the_proof_is_silent_and_its_runner_ends() -> None:
    zygote: Any = Spawning(Outcome(0.0))
    asyncio.run(prove(zygote))
    assert zygote.ended


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (Outcome(1.0, printed="it read a file of the host\n"), "leaks on this machine: it read a file of the host."),
        (Outcome(failure="timeout", details="too slow"), "does not work here: too slow."),
        (None, "does not work here: "),
    ],
)
def test_what_gets_out_or_cannot_try_is_told(outcome: Outcome | None, told: str) -> None:
    zygote: Any = Spawning(outcome)
    with pytest.raises(CannotIsolate) as refused:
        asyncio.run(prove(zygote))
    assert told in str(refused.value)
