"""Which rows of a run a rater was given to label, in which order: kept, so that they go on where they stopped, so that
the next rater gets other rows, and so that the chance of each row is known."""

import time
from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Select, func, select

from fairmark.store.base import ids
from fairmark.store.base.database import Database, uninterrupted
from fairmark.store.base.tables import label_batches, runs
from fairmark.store.evals.labels import LabelKind
from fairmark.store.evals.runs import Run

PREFIX = "labelbatch_"
_other = runs.alias("other_run")


class BatchRow(msgspec.Struct, frozen=True, array_like=True):
    idx: int
    turn: int = 0
    """1 where it comes a second time."""
    picked: str = "random"
    chance: float = 1.0
    is_new: bool = True
    """Whether it was drawn for this batch. Others are rows of earlier ones: of another rater, or the same one again."""
    side: str = "a"
    """Of a pair, which answer stands first."""


class LabelBatch(msgspec.Struct, frozen=True):
    seq: int
    id: str
    run_seq: int
    rater: str
    criterion: str
    """The id of what it is about; empty for the answer as a whole."""
    kind: LabelKind
    other_seq: int | None
    rows: list[BatchRow]
    created_at: int
    other_run_id: str | None = None

    @property
    def subject(self) -> tuple[str, bool, int | None]:
        """What is asked: batches of the same share their rows."""
        return self.criterion, self.kind == "preferred", self.other_seq


_OWN = [label_batches.c[name] for name in LabelBatch.__struct_fields__ if name != "other_run_id"]


class LabelBatches:
    def __init__(self, database: Database) -> None:
        self._database = database

    @uninterrupted
    async def create(
        self,
        run: Run,
        rater: str,
        criterion: str,
        kind: LabelKind,
        other: Run | None,
        rows: Sequence[BatchRow],
        seen: int | None = None,
        batch_id: str = "",
        created_at: int = 0,
    ) -> LabelBatch | None:
        """None where the run is gone, or has not just the `seen` batches whose rows were left out: then look again."""
        values: dict[str, Any] = {
            "id": batch_id or ids.new(PREFIX),
            "run_seq": run.seq,
            "rater": rater,
            "criterion": criterion,
            "kind": kind,
            "other_seq": None if other is None else other.seq,
            "rows": msgspec.to_builtins(list(rows)),
            "created_at": created_at or int(time.time()),
        }
        async with self._database.write_in_order() as connection:
            held = select(runs.c.seq).where(runs.c.seq == run.seq).with_for_update()
            if await connection.scalar(held) is None:
                return None
            count = select(func.count()).where(label_batches.c.run_seq == run.seq)
            if seen is not None and await connection.scalar(count) != seen:
                return None
            if await connection.scalar(select(func.count()).where(label_batches.c.id == values["id"])):
                return None
            await connection.execute(label_batches.insert().values(values))
        return await self.get(run, values["id"])

    @uninterrupted
    async def get(self, run: Run, batch_id: str) -> LabelBatch | None:
        if not ids.plausible(batch_id):
            return None
        query = _select(run).where(label_batches.c.id == batch_id)
        async with self._database.read() as connection:
            row = (await connection.execute(query)).one_or_none()
        return None if row is None else _batch(*row)

    @uninterrupted
    async def of_run(self, run: Run) -> list[LabelBatch]:
        """In the order in which they were made."""
        async with self._database.read() as connection:
            return [_batch(*row) for row in await connection.execute(_select(run).order_by(label_batches.c.seq))]


def _select(run: Run) -> Select[Any]:
    query = select(*_OWN, _other.c.id).select_from(
        label_batches.outerjoin(_other, _other.c.seq == label_batches.c.other_seq)
    )
    return query.where(label_batches.c.run_seq == run.seq)


def _batch(*row: Any) -> LabelBatch:
    made = LabelBatch(*row)
    return msgspec.structs.replace(made, rows=msgspec.convert(made.rows, list[BatchRow]))
