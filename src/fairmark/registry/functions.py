"""Function graders before they are accepted: the checks they have to pass, the last of them in the sandbox."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fairmark.graders.function import TEST_THREAD, Check, CheckFailed, annotation_warnings, static_checks
from fairmark.sandbox.base import Program, Sandbox
from fairmark.sandbox.callables import source_of
from fairmark.sandbox.chosen import SANDBOX
from fairmark.text.thread import Thread


@dataclass(frozen=True, slots=True)
class FunctionCheck:
    """What was checked, up to the first check that failed. `score` is what the test run gave."""

    valid: bool
    checks: list[Check]
    warnings: list[str] = field(default_factory=list)
    score: float | None = None


def check_function(
    function: str | Callable[..., Any], thread: Thread = TEST_THREAD, sandbox: Sandbox | None = None
) -> FunctionCheck:
    """Check a function grader in the order size, syntax, structure, signature, execution, test_run.

    The first four only look at the source. The last two run it in the sandbox: its body, then `grade` on a test
    thread. Raises ValueError for a callable whose source cannot be had.
    """
    from fairmark.work import eventloop

    source, looked_at = _look(function)
    if not looked_at.valid:
        return looked_at
    return eventloop.run(_try(source, looked_at, thread, sandbox or SANDBOX, ""))


async def acheck_function(source: str, owner: str) -> FunctionCheck:
    """`check_function` for a service that works for many owners. Cancelling it ends what it runs."""
    # Looking takes its time on a long source, and this loop has other work.
    source, looked_at = await asyncio.to_thread(_look, source)
    return await _try(source, looked_at, TEST_THREAD, SANDBOX, owner) if looked_at.valid else looked_at


def _look(function: str | Callable[..., Any]) -> tuple[str, FunctionCheck]:
    """The source, and the checks that run nothing of it."""
    source, warnings = (function, []) if isinstance(function, str) else source_of(function)
    warnings = [*warnings, *annotation_warnings(source)]
    checks: list[Check] = []
    try:
        for check in static_checks(source):
            checks.append(check)  # noqa: PERF402  # those that passed are wanted when the next one raises
    except CheckFailed as failure:
        return source, FunctionCheck(False, [*checks, failure.check], warnings)
    return source, FunctionCheck(True, checks, warnings)


async def _try(source: str, looked_at: FunctionCheck, thread: Thread, sandbox: Sandbox, owner: str) -> FunctionCheck:
    """What was looked at, and the checks that run it."""
    program = Program(
        source, "function", sandbox.policy.function, strict=True, packages=frozenset({"asyncio"}), owner=owner
    )
    (outcome,) = await sandbox.run(program, [thread])
    checks, warnings = list(looked_at.checks), looked_at.warnings
    if outcome.failure is not None and outcome.at_load:
        return FunctionCheck(False, [*checks, Check("execution", False, outcome.details)], warnings)
    checks.append(Check("execution", True))
    if outcome.failure is not None:
        return FunctionCheck(False, [*checks, Check("test_run", False, outcome.details)], warnings)
    return FunctionCheck(True, [*checks, Check("test_run", True)], warnings, outcome.reward)
