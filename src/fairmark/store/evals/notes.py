"""What a run has to say of its rows, each once with a count: why they could not be graded, and what to be warned of."""

import hashlib
from collections.abc import Iterable, Sequence

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from fairmark.store.base.tables import error_rows, run_notes
from fairmark.text.alike import alike

MOST = 50
"""Different ones that are counted apart; of more, only how many."""
OTHERS = ""
"""Stands for all beyond those."""


class Notes(msgspec.Struct):
    """Both: the text -> the number of rows. Texts that say the same, as `alike` has it, are one."""

    reasons: dict[str, int] = msgspec.field(default_factory=dict)
    warnings: dict[str, int] = msgspec.field(default_factory=dict)

    def add(self, reasons: Iterable[str], warnings: Iterable[str]) -> None:
        """One row's."""
        _count(self.reasons, dict.fromkeys(reasons, 1))
        _count(self.warnings, dict.fromkeys(warnings, 1))

    def plus(self, other: "Notes") -> "Notes":
        total = Notes(dict(self.reasons), dict(self.warnings))
        _count(total.reasons, other.reasons)
        _count(total.warnings, other.warnings)
        return total


class RowNotes(msgspec.Struct, frozen=True):
    """Why a row could not be graded, by one criterion or several, and what there is to be warned of."""

    idx: int
    reasons: Sequence[str]
    warnings: Sequence[str]


def _count(counts: dict[str, int], more: dict[str, int]) -> None:
    for text, count in more.items():
        key = text if text in counts or len(counts) < MOST else OTHERS
        counts[key] = counts.get(key, 0) + count


def reason_key(reason: str) -> int:
    """The number by which rows of a reason are found, in the form of `alike`."""
    body = reason.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(body, digest_size=8).digest(), signed=True)


async def insert(connection: AsyncConnection, run_seq: int, rows: Iterable[RowNotes]) -> None:
    """Within a transaction that holds the run's row."""
    notes = Notes()
    failed: list[dict[str, int]] = []
    for row in rows:
        reasons = {alike(reason) for reason in row.reasons}
        notes.add(sorted(reasons), sorted({alike(warning) for warning in row.warnings}))
        keys = {reason_key(reason) for reason in reasons}
        failed += [{"run_seq": run_seq, "reason": key, "idx": row.idx} for key in sorted(keys)]
    if failed:
        await connection.execute(error_rows.insert(), failed)
    if not notes.reasons and not notes.warnings:
        return
    this = run_notes.c.run_seq == run_seq
    before = (await connection.execute(select(run_notes.c.reasons, run_notes.c.warnings).where(this))).one_or_none()
    if before is None:
        values = msgspec.structs.asdict(notes)
        await connection.execute(run_notes.insert().values(run_seq=run_seq, **values))
    else:
        values = msgspec.structs.asdict(Notes(*before).plus(notes))
        await connection.execute(run_notes.update().where(this).values(values))
