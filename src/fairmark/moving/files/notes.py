"""What is told about a file that was turned into an archive: what came over, what did not, and where it stood."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Kind = Literal["exact", "differs", "draft", "accepted", "refused", "problem", "told"]
KINDS: dict[Kind, str] = {
    "problem": "could not be read",
    "refused": "not converted",
    "draft": "draft, not run until somebody accepts it (--accept-drafts)",
    "accepted": "accepted draft, whose own prompt was another",
    "differs": "converted, and numbers will differ",
    "exact": "converted, with the same rule",
    "told": "to know",
}
"""In the order in which people want to see them."""
MOST_OF_A_KIND = 1000
"""A file of a million bad lines gets no million notes: the rest is counted."""


def printable(text: str) -> str:
    """On one line, and without what would do something to a terminal: names come from files of anybody."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


class NotConverted(ValueError):
    """There is no grader that says the same. The message says why."""


class Note(NamedTuple):
    kind: Kind
    place: str
    """Where it stands in the file: `line 7`, `tests[3].assert[0]`."""
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}" if self.place else self.text


@dataclass
class FileReport:
    """All there is to say of one file."""

    format: str
    """What the file was taken for, in words."""
    notes: list[Note] = field(default_factory=list)
    made: Counter[str] = field(default_factory=Counter)
    """How many there are of each: evals, runs, items, files, completions …"""
    starts: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """Runs that can be started now: the eval's id and the body of the request."""
    left_out: Counter[Kind] = field(default_factory=Counter)
    """Notes beyond those that are told one by one."""
    accepts_drafts: bool = False
    _told: Counter[Kind] = field(default_factory=Counter)
    _known: set[Note] = field(default_factory=set)

    def note(self, kind: Kind, place: str, text: str) -> None:
        """Told once: what stands in one place and holds for a thousand tests must not crowd the others out."""
        if kind == "draft" and self.accepts_drafts:
            kind = "accepted"
        note = Note(kind, printable(place), printable(text))
        if note in self._known:
            return
        if self._told[kind] >= MOST_OF_A_KIND:
            self.left_out[kind] += 1
            return
        self._told[kind] += 1
        self._known.add(note)
        self.notes.append(note)

    def of_kind(self, kind: Kind) -> list[Note]:
        return [note for note in self.notes if note.kind == kind]

    @property
    def has_problems(self) -> bool:
        """Whether something in the file could not be read. What is not converted is no such thing: it was read."""
        return self._told["problem"] > 0

    def lines(self) -> list[str]:
        """The report as people read it, a line each."""
        made = ", ".join(f"{count:,} {name}" for name, count in self.made.items() if count) or "nothing"
        lines = [f"{self.format}: {made}"]
        for kind, words in KINDS.items():
            notes = self.of_kind(kind)
            if not notes:
                continue
            lines.append(f"{words} ({len(notes) + self.left_out[kind]:,}):")
            lines.extend(f"  {note}" for note in notes)
            if self.left_out[kind]:
                lines.append(f"  and {self.left_out[kind]:,} more")
        return lines
