"""How a judge stands: the grade of its last check, for everybody who uses it, and whether that still counts."""

import asyncio
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from fairmark.errors import InvalidGrader
from fairmark.references import NOTE
from fairmark.registry.lookup import Registry, itself
from fairmark.spec import GraderSpec
from fairmark.store import Grader, LastCheck, Store
from fairmark.trust.subject import fingerprint, models_in

NEVER, STALE = "never checked", "stale"


class Standing(NamedTuple):
    """`grade` is that of the last check, or "never checked", or "stale" where the grader, its model or its prompt is
    another since: then `was` is what the grade had been."""

    grade: str
    checked_at: int | None = None
    check_id: str | None = None
    was: str | None = None

    def wire(self) -> dict[str, Any]:
        shown = {"grade": self.grade, "checked_at": self.checked_at, "id": self.check_id}
        return shown if self.was is None else {**shown, "was": self.was}


class Judging(NamedTuple):
    """A grader whose standing is asked for. `grader_id` is the registered grader that it is; None where it is none."""

    spec: GraderSpec
    grader_id: str | None = None


def of_criterion(spec: GraderSpec) -> Judging:
    """A grader that references were replaced in."""
    return Judging(spec, registered_as(spec, "id"))


def registered_as(spec: GraderSpec, field: Literal["id", "key"]) -> str | None:
    """The id or the key of the registered grader that it is; a registered one has a note of it."""
    note = (spec.model_extra or {}).get(NOTE)
    return note.get(field) if isinstance(note, dict) else None


async def of_graders(
    store: Store, registry: Registry, project: str, graders: Sequence[Grader]
) -> list[Standing | None]:
    """Of registered graders, as they are."""
    judging: list[Judging | None] = []
    for grader in graders:
        try:
            judging.append(Judging(await registry.made(project, grader.grader, itself), grader.id))
        except InvalidGrader:  # its kind, or what it refers to, is here no longer
            judging.append(None)
    return await standings(store, project, judging)


async def standings(store: Store, project: str, judging: Sequence[Judging | None]) -> list[Standing | None]:
    """In their order; None where no model is asked, so that there is no judge."""
    marks = await asyncio.to_thread(lambda: [None if one is None else _mark(one.spec) for one in judging])
    ids = {one.grader_id for one, mark in zip(judging, marks, strict=True) if one is not None and mark is not None}
    last = await store.checks.last(project, {mark for mark in marks if mark}, {id_ for id_ in ids if id_})
    return [
        None if one is None or mark is None else _standing(mark, one.grader_id, last)
        for one, mark in zip(judging, marks, strict=True)
    ]


async def mark_of(registry: Registry, project: str, grader: Grader) -> str | None:
    """The fingerprint of a registered grader as it is now; None where it asks no model."""
    try:
        spec = await registry.made(project, grader.grader, itself)
    except InvalidGrader:
        return None
    return await asyncio.to_thread(_mark, spec)


def _mark(spec: GraderSpec) -> str | None:
    return fingerprint(spec) if models_in(spec) else None


def _standing(mark: str, grader_id: str | None, checks: Sequence[LastCheck]) -> Standing:
    current = [last for last in checks if last.fingerprint == mark]
    if current:
        last = max(current, key=lambda check: check.ended_at)
        return Standing(last.grade, int(last.ended_at), last.id)
    before = [last for last in checks if grader_id is not None and last.grader_id == grader_id]
    if before:
        last = max(before, key=lambda check: check.ended_at)
        return Standing(STALE, int(last.ended_at), last.id, last.grade)
    return Standing(NEVER)
