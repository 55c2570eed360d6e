"""The sandbox that a grader's code will run in, started before the first batch, which would wait for it."""

import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from fairmark.errors import InvalidGrader
from fairmark.parse import parse
from fairmark.result import Result
from fairmark.run import grade_many, grade_parts, shared_context
from fairmark.sandbox.base import Outcome, Policy, Program, Sandbox, Talk
from fairmark.sandbox.patience import Patience
from fairmark.spec import GraderSpec

WARM_DEADLINE_S = 30.0
PROBE = {"type": "python", "name": "probe", "source": "def grade(sample, item):\n    return 0.0\n"}
T = TypeVar("T")
_log = logging.getLogger("fairmark.trainers")


def open_sandbox(spec: GraderSpec, deadline_s: float = WARM_DEADLINE_S) -> None:
    """Asks no judge. Raises InvalidGrader where no code can be run here, or where the grader's own fails before it sees
    a row: every row would fail."""
    programs = list(_programs("$", spec))
    within_s = min(deadline_s, WARM_DEADLINE_S)
    if programs:
        (probe,) = grade_many(parse(PROBE), [{"item": {}, "sample": ""}], deadline_s=WARM_DEADLINE_S)
        if not probe.ok:
            raise InvalidGrader.at("$", f"its code cannot be run here: {probe.error}", "sandbox_unavailable")
    for path, program in programs:
        failure = _failure_at_load(program, within_s)
        if failure is not None:
            raise InvalidGrader.at(path, f"its code fails before it sees a row: {failure}")


def _failure_at_load(program: GraderSpec, within_s: float) -> str | None:
    from fairmark.work import eventloop

    ctx = shared_context()
    watched = _Watched(ctx.sandbox)

    async def load() -> list[Result]:
        return await grade_parts(program, [({}, "")], replace(ctx, sandbox=watched))

    async def in_time() -> None:
        await eventloop.until(time.monotonic() + within_s, load())

    try:
        eventloop.run(in_time())
    except TimeoutError:
        _log.warning("%s: its code is not loaded after %g s: the first rows will be late", program.name, within_s)
    failures = [outcome.details for outcome in watched.outcomes if outcome.at_load]
    return failures[0].strip().rpartition("\n")[2] if failures else None


class _Watched:
    """A sandbox, and what came of all that it ran."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.outcomes: list[Outcome] = []

    @property
    def policy(self) -> Policy:
        return self._sandbox.policy

    async def run(
        self, program: Program, rows: Sequence[Sequence[Any]], patience: Patience | None = None
    ) -> list[Outcome]:
        outcomes = await self._sandbox.run(program, rows, patience)
        self.outcomes += outcomes
        return outcomes

    async def converse(self, owner: str, conversation: Callable[[Talk], Awaitable[T]]) -> T:
        return await self._sandbox.converse(owner, conversation)


def _programs(path: str, spec: GraderSpec) -> Iterator[tuple[str, GraderSpec]]:
    if spec.code is not None:
        yield path, spec
    for key, child in spec.children.items():
        yield from _programs(f"{path}.graders.{key}", child)
