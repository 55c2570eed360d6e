"""What became of an archive that was loaded."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from fairmark.judges.retired import retirement

OnClash = Literal["skip", "replace", "copy"]


class KindTally(msgspec.Struct):
    """Of one kind of thing, how many."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    skipped: int = 0
    """Left out: a clash, or something they need is missing."""


class Clash(msgspec.Struct, frozen=True):
    """An id that something else has already."""

    kind: str
    id: str
    reason: str
    done: str
    """skipped, replaced, or `copied as …`."""


class LoadProblem(msgspec.Struct, frozen=True):
    kind: str
    id: str
    message: str


class Undecided(msgspec.Struct, frozen=True):
    """A criterion that cannot grade here until somebody changes it."""

    eval_id: str
    criterion: str
    reason: str


class LoadReport(msgspec.Struct):
    source: str = ""
    tallies: dict[str, KindTally] = msgspec.field(default_factory=dict)
    items: int = 0
    """Output items that were written."""
    clashes: list[Clash] = msgspec.field(default_factory=list)
    problems: list[LoadProblem] = msgspec.field(default_factory=list)
    undecided: list[Undecided] = msgspec.field(default_factory=list)
    warned: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """A run's id -> what there is to be warned of."""
    judges: dict[str, int] = msgspec.field(default_factory=dict)
    """A model -> how many criteria name it."""
    copied: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)
    """A kind -> the ids there were and those they have now."""

    def of(self, kind: str) -> KindTally:
        return self.tallies.setdefault(kind, KindTally())

    def problem(self, kind: str, id_: str, message: str) -> None:
        self.problems.append(LoadProblem(kind, id_, message))

    def retired(self) -> dict[str, int]:
        """The judges among them that are gone, or have a day on which they go."""
        return {model: count for model, count in sorted(self.judges.items()) if retirement(model) is not None}

    @property
    def is_whole(self) -> bool:
        """Whether all of the archive is in the store, be it under other ids. Criteria that cannot run here are."""
        return not self.problems and all(clash.done != "skipped" for clash in self.clashes)

    def counts(self) -> Iterator[tuple[str, str]]:
        """Of each kind, how many there are of what."""
        for kind, tally in self.tallies.items():
            counts = [f"{getattr(tally, name)} {name}" for name in KindTally.__struct_fields__ if getattr(tally, name)]
            yield kind, ", ".join(counts) or "none"
        if self.items:
            yield "output items", f"{self.items:,} written"

    def lines(self) -> Iterator[str]:
        """For people, the most important first."""
        yield from (f"{kind}: {words}" for kind, words in self.counts())
        yield from self.remarks()
        for undecided in self.undecided:
            yield f"cannot run here: {undecided.eval_id}, criterion {undecided.criterion}: {undecided.reason}"
        today = datetime.now(UTC).date()
        for model, count in self.retired().items():
            ended = retirement(model)
            if ended is not None:
                yield f"retired judge, named by {count} criteria: {ended.words(model, today)}"

    def remarks(self) -> Iterator[str]:
        """Clashes, problems, and what runs are to be warned of."""
        for clash in self.clashes:
            yield f"clash: {clash.kind} {clash.id}: {clash.reason} It was {clash.done}."
        for problem in self.problems:
            yield f"problem: {problem.kind} {problem.id}: {problem.message}"
        alike: dict[str, list[str]] = {}
        for run_id, texts in self.warned.items():
            for text in texts:
                alike.setdefault(text, []).append(run_id)
        for text, run_ids in alike.items():
            more = f" and {len(run_ids) - 1} more" if len(run_ids) > 1 else ""
            yield f"warning: run {run_ids[0]}{more}: {text}"

    def dump(self) -> dict[str, Any]:
        dumped: dict[str, Any] = msgspec.to_builtins(self)
        return dumped
