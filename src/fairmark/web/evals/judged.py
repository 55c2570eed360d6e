"""How the judges among criteria stand, wherever criteria are shown: one question to the store for all of them."""

from collections.abc import Sequence
from typing import NamedTuple

from starlette.requests import Request

from fairmark.checks.standing import Standing, of_criterion, registered_as, standings
from fairmark.serving.wire import project, state
from fairmark.spec import GraderSpec


class JudgeStanding(NamedTuple):
    standing: Standing | None = None
    """How its last check went; None where the criterion asks no model, or cannot be read."""
    page: str = ""
    """Where more is told of that, of a registered one."""


async def judged(request: Request, specs: Sequence[GraderSpec | None]) -> list[JudgeStanding]:
    """In their order, of graders that references were replaced in."""
    judging = [None if spec is None else of_criterion(spec) for spec in specs]
    found = await standings(state(request).store, project(request), judging)
    return [JudgeStanding(standing, _page(spec)) for standing, spec in zip(found, specs, strict=True)]


def _page(spec: GraderSpec | None) -> str:
    key = None if spec is None else registered_as(spec, "key")
    return "" if key is None else f"/graders/{key}/judge"
