"""All that a grader may touch besides its spec and its row."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from fairmark.apart import Apart
from fairmark.endpoints.base import Endpoints
from fairmark.judges.base import Budget, Judge
from fairmark.result import Result
from fairmark.row import Row
from fairmark.sandbox.base import Sandbox
from fairmark.sandbox.patience import Patience
from fairmark.spec import GraderSpec

GradeChildren = Callable[[Mapping[str, GraderSpec], Sequence[Row], "Context"], Awaitable[dict[str, list[Result]]]]


class Elsewhere(Protocol):
    """Other machines, which grade rows as this one would."""

    async def open(self, again: bool = False) -> None:
        """Before the first rows, where it should be known now whether anybody is there. Raises ClusterUnusable.
        `again`: somebody was, and may be gone for a while; nobody is asked now."""
        ...

    def ahead(self, spec: GraderSpec) -> int:
        """How many rows should be on their way there, so that nobody has to wait for more."""
        ...

    async def grade(self, spec: GraderSpec, rows: Sequence[Row], ctx: "Context") -> list[Result | None]:
        """In the order of the rows; None for those that have to be graded here."""
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """Handed to every kind's `grade`. What reaches outside (models, sandboxes) is a field here, never an import."""

    grade_children: GradeChildren
    sandbox: Sandbox
    """Runs untrusted code."""
    judge: Judge
    """Asks models."""
    endpoints: Endpoints
    """Asks reward servers."""
    owner: str = ""
    """Whose graders these are; code of different owners never shares a process."""
    budget: Budget | None = None
    """What may be spent on models; None is no limit."""
    apart: Apart | None = None
    """Where others need the event loop too: grades what would hold it, in other processes."""
    turn_s: float | None = None
    """What a row may take of the processor on this event loop. A kind that cannot tell beforehand stops by then and
    raises TakesLonger: the row is graded again elsewhere, where there is no such limit. None: nobody else waits."""
    patience: Patience | None = None
    """What this call or run has seen of its untrusted code; without it, every batch of rows is on its own."""

    elsewhere: Elsewhere | None = None
    """Where there are other machines: the rows go there, whole, and nothing of this context but what goes with them."""

    async def grade(self, children: Mapping[str, GraderSpec], rows: Sequence[Row]) -> dict[str, list[Result]]:
        """Grades the same rows with several graders, side by side: key -> results in the order of the rows."""
        return await self.grade_children(children, rows, self)
