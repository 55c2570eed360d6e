"""All that a grader may touch besides its spec and its row."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from fairmark.apart import Apart
from fairmark.endpoints.base import Endpoints
from fairmark.judges.base import Budget, Judge
from fairmark.result import Result
from fairmark.row import Row
from fairmark.sandbox.base import Sandbox
from fairmark.sandbox.patience import Patience
from fairmark.spec import GraderSpec

GradeChildren = Callable[[Mapping[str, GraderSpec], Sequence[Row], "Context"], Awaitable[dict[str, list[Result]]]]


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
    patience: Patience | None = None
    """What this call or run has seen of its untrusted code; without it, every batch of rows is on its own."""

    async def grade(self, children: Mapping[str, GraderSpec], rows: Sequence[Row]) -> dict[str, list[Result]]:
        """Grades the same rows with several graders, side by side: key -> results in the order of the rows."""
        return await self.grade_children(children, rows, self)
