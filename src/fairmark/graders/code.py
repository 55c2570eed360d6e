"""What the kinds that run users' code share: which program that is, and what its outcome means."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from fairmark.context import Context
from fairmark.errors import CodeFailed, SandboxFailed
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.sandbox import look
from fairmark.sandbox.base import Calls, Outcome, Policy, Program
from fairmark.sandbox.catalogue import KNOWN, how_to_get


async def grade_by_code(
    ctx: Context, source: str, calls: Calls, image: str | None, rows: Sequence[Row], arguments: Sequence[Sequence[Any]]
) -> list[Grade]:
    """What the source makes of the rows, each given to it as its arguments."""
    policy = ctx.sandbox.policy
    chosen = program(source, calls, image, policy, ctx.owner)
    outcomes = await ctx.sandbox.run(chosen, arguments, ctx.patience)
    if policy.warning is not None:
        for row in rows:
            row.warn(policy.warning)
    return [grade_of(outcome, chosen) for outcome in outcomes]


@lru_cache(maxsize=1024)
def program(source: str, calls: Calls, image: str | None, policy: Policy, owner: str) -> Program:
    """The program for a source, isolated as the policy says."""
    limits = policy.python if calls == "python" else policy.function
    tree = look.parse(source)
    strict = policy.isolation == "per_grade" or (policy.isolation == "auto" and look.runs_what_it_is_given(tree))
    packages = look.packages(tree, image) if image else frozenset({"asyncio"})
    return Program(source, calls, limits, strict, image, packages, owner)


def grade_of(outcome: Outcome, program: Program) -> Grade:
    printed = outcome.printed or None
    match outcome.failure:
        case None:
            return Grade(outcome.reward, printed=printed)
        case "error":
            return Grade.failed(CodeFailed(outcome.details + _about_image(outcome.details, program.image)), printed)
        case reason:
            return Grade.failed(SandboxFailed(reason, outcome.details), printed)


# Only the module itself: where it is there, what it lacks inside is the grader's mistake.
_MISSING_MODULE = re.compile(r"^ModuleNotFoundError: No module named '(\w+)'$", re.MULTILINE)
_MISSING_DATA = re.compile(r"^LookupError:", re.MULTILINE)


def _about_image(details: str, image: str | None) -> str:
    """How to get what the grader's image has and this machine lacks: a module, or nltk's data."""
    missing = _MISSING_MODULE.search(details)
    advice = how_to_get(missing[1], image) if missing else None
    if (
        advice is None
        and image is not None
        and image in KNOWN
        and "nltk.download(" in details
        and _MISSING_DATA.search(details)
    ):
        advice = f"The image {image} has the data of nltk. Run: {KNOWN[image].install}"
    return f"\n{advice}" if advice else ""
