"""What people say of the rows of runs: one label of each rater for each row and question. A later one takes the place
of the earlier; one that was taken back stays away, however often it is sent again."""

import hashlib
import time
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import msgspec
from sqlalchemy import Select, and_, bindparam, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fairmark import jsontext
from fairmark.errors import LabelTaken
from fairmark.store.base import ids, positions
from fairmark.store.base.database import Database, uninterrupted
from fairmark.store.base.pages import Order, Page, make_page, page_query, read_span
from fairmark.store.base.positions import Deleted
from fairmark.store.base.tables import deleted, item_ids, labels, runs
from fairmark.store.evals.runs import Run

LabelKind = Literal["label", "score", "preferred", "skip"]
Became = Literal["kept", "older", "undone"]
"""Of one that was put: it counts; a later one of the same place does; it was taken back before."""
PREFIX = "label_"
_A_TIME = 500
_other = runs.alias("other_run")


class NewLabel(msgspec.Struct, frozen=True):
    idx: int
    rater: str
    kind: LabelKind
    value: str | float | None
    """None of a skip."""
    labelled_at: float
    id: str = ""
    """Given by whoever may have to send it again; made up where it is empty."""
    criterion: str = ""
    """The id of what it is about; empty for the answer as a whole."""
    turn: int = 0
    """1 where the row came a second time."""
    note: str | None = None
    seconds: float | None = None
    picked: str | None = None
    """Why the row was labelled: "random", or what made it worth a look."""
    chance: float | None = None
    """How likely it was to be picked."""
    weight: float | None = None
    """1 / that chance, of labels that bring it along."""
    side: str | None = None
    """Of a pair, which answer stood first: a or b."""
    other_seq: int | None = None
    """Of a pair: the run whose answer is b."""
    created_at: int = 0
    """Now, where it is 0."""


class Label(NewLabel, frozen=True):
    run_id: str = ""
    eval_id: str = ""
    item_id: str = ""
    other_run_id: str | None = None


_OWN = [labels.c[name] for name in NewLabel.__struct_fields__]
_CONTENT = tuple(name for name in NewLabel.__struct_fields__ if name not in ("id", "labelled_at", "created_at"))


class PutLabel(NamedTuple):
    id: str
    """Of the label that counts now; its own, where it was taken back."""
    became: Became


class Labels:
    def __init__(self, database: Database) -> None:
        self._database = database

    @uninterrupted
    async def put(self, run: Run, new: Sequence[NewLabel], *, bring_back: bool = False) -> list[PutLabel] | None:
        """What became of each, all or nothing; None where the run is gone.

        `bring_back`: also those that were taken back once, for archives. Raises LabelTaken where an id is taken by a
        label of another place.
        """
        async with self._database.write_in_order() as connection:
            # Who labels the same run, and who deletes it, waits.
            held = select(runs.c.seq).where(runs.c.seq == run.seq).with_for_update()
            if await connection.scalar(held) is None:
                return None
            put: list[PutLabel] = []
            for at in range(0, len(new), _A_TIME):
                put += await _put(connection, run, new[at : at + _A_TIME], bring_back)
            return put

    @uninterrupted
    async def delete(self, project: str, id_: str, run: Run | None = None) -> bool:
        """Takes it back, for good. False where there is none of this id.

        `run`: only where it is of this run; and one that has not come yet stays away when it does.
        """
        if not ids.plausible(id_):
            return False
        async with self._database.write_in_order() as connection:
            query = select(labels.c.seq, labels.c.run_seq, labels.c.project).where(labels.c.id == id_)
            there = (await connection.execute(query.with_for_update())).one_or_none()
            if there is None:
                if run is not None and id_.startswith(PREFIX):
                    await positions.leave(connection, "label", [Deleted(id_, project, 0)])
                return False
            if there.project != project or (run is not None and there.run_seq != run.seq):
                return False
            await connection.execute(labels.delete().where(labels.c.seq == there.seq))
            await positions.leave(connection, "label", [Deleted(id_, project, there.seq)])
            return True

    @uninterrupted
    async def get(self, project: str, id_: str) -> Label | None:
        if not ids.plausible(id_):
            return None
        async with self._database.read() as connection:
            row = (
                await connection.execute(_select().where(labels.c.id == id_, labels.c.project == project))
            ).one_or_none()
        return None if row is None else _label(*row)

    @uninterrupted
    async def of_run(self, run: Run) -> list[Label]:
        """All of them, skips too, in the order in which they came."""
        async with self._database.read() as connection:
            rows = await connection.execute(_select().where(labels.c.run_seq == run.seq).order_by(labels.c.seq))
            return [_label(*row) for row in rows]

    @uninterrupted
    async def of_row(self, run: Run, idx: int) -> list[Label]:
        query = _select().where(labels.c.run_seq == run.seq, labels.c.idx == idx, labels.c.kind != "skip")
        async with self._database.read() as connection:
            return [_label(*row) for row in await connection.execute(query.order_by(labels.c.seq))]

    @uninterrupted
    async def count(self, run: Run) -> int:
        query = select(func.count()).where(labels.c.run_seq == run.seq, labels.c.kind != "skip")
        async with self._database.read() as connection:
            return await connection.scalar(query) or 0

    @uninterrupted
    async def list(
        self,
        project: str,
        run: Run | None = None,
        rater: str | None = None,
        limit: int = 20,
        after: str | None = None,
        order: Order = "asc",
        before: str | None = None,
    ) -> Page[Label]:
        """Without skips, in the order in which they came."""
        query = _select().where(labels.c.project == project, labels.c.kind != "skip")
        if run is not None:
            query = query.where(labels.c.run_seq == run.seq)
        if rater is not None:
            query = query.where(labels.c.rater == rater)
        async with self._database.read() as connection:

            async def find(id_: str) -> int | None:
                there = select(labels.c.seq).where(labels.c.id == id_, labels.c.project == project)
                return await positions.find(connection, id_, there, "label", project)

            span = await read_span(after, before, find)
            rows = (await connection.execute(page_query(query, labels.c.seq, span, limit, order))).all()
        return make_page(rows, span, limit, _label)


def place_of(label: NewLabel) -> bytes:
    """Whose label of what, besides run and row: users send any text as a name."""
    return hashlib.sha256(
        jsontext.encode([label.rater, label.criterion, label.other_seq, label.turn, label.kind == "preferred"])
    ).digest()


async def _put(connection: AsyncConnection, run: Run, new: Sequence[NewLabel], bring_back: bool) -> list[PutLabel]:
    ids_ = [label.id for label in new if label.id]
    taken = {
        row.id: row
        for row in await connection.execute(
            select(labels.c.seq, labels.c.run_seq, labels.c.place, *_OWN).where(labels.c.id.in_(ids_))
        )
    }
    gone = set(await connection.scalars(_gone(run, ids_)))
    of_rows = select(labels.c.seq, labels.c.run_seq, labels.c.place, *_OWN).where(
        labels.c.run_seq == run.seq, labels.c.idx.in_({label.idx for label in new})
    )
    there = {(row.idx, bytes(row.place)): row for row in await connection.execute(of_rows)}
    put: list[PutLabel] = []
    wanted: dict[tuple[int, bytes], dict[str, Any]] = {}
    places: dict[str, tuple[int, bytes]] = {}
    replaced: list[Deleted] = []
    now = time.time()
    for label in new:
        place = (label.idx, place_of(label))
        id_ = label.id or ids.new(PREFIX)
        known = taken.get(id_) if label.id else there.get(place)
        is_elsewhere = known is not None and (known.run_seq, known.idx, bytes(known.place)) != (run.seq, *place)
        if (is_elsewhere and label.id) or places.setdefault(id_, place) != place:
            raise LabelTaken(f"id: {jsontext.quote(id_)} is the id of another label.")
        if id_ in gone and not bring_back:
            put.append(PutLabel(id_, "undone"))
            continue
        if known is not None and all(getattr(known, name) == getattr(label, name) for name in _CONTENT):
            put.append(PutLabel(known.id, "kept"))  # it came before, and its answer was lost
            continue
        stands = there[place]._asdict() if place in there else wanted.get(place)
        labelled_at = label.labelled_at if bring_back else min(label.labelled_at, now)
        if stands is not None and stands["labelled_at"] > labelled_at:
            put.append(PutLabel(stands["id"], "older"))
            continue
        if place in there:
            old = there.pop(place)
            replaced.append(Deleted(old.id, run.project, old.seq))
        wanted[place] = {
            **msgspec.structs.asdict(label),
            "id": id_,
            "project": run.project,
            "run_seq": run.seq,
            "place": place[1],
            "labelled_at": labelled_at,
            "created_at": label.created_at or int(now),
        }
        put.append(PutLabel(id_, "kept"))
    await _write(connection, replaced, list(wanted.values()))
    return put


def _gone(run: Run, ids_: Sequence[str]) -> Select[Any]:
    """Which of these ids labels had that were taken back, or replaced."""
    return select(deleted.c.id).where(deleted.c.id.in_(ids_), deleted.c.kind == "label", deleted.c.scope == run.project)


async def _write(connection: AsyncConnection, replaced: list[Deleted], rows: list[dict[str, Any]]) -> None:
    if replaced:
        these = [{"gone": old.seq} for old in replaced]
        await connection.execute(labels.delete().where(labels.c.seq == bindparam("gone")), these)
        kept = {row["id"] for row in rows}
        await positions.leave(connection, "label", [old for old in replaced if old.id not in kept])
    if rows:
        await positions.come_back(connection, *(row["id"] for row in rows))
        await connection.execute(labels.insert(), rows)


def _select() -> Select[Any]:
    noted = and_(item_ids.c.run_seq == labels.c.run_seq, item_ids.c.idx == labels.c.idx)
    return (
        select(*_OWN, runs.c.id, runs.c.eval_id, item_ids.c.id, _other.c.id)
        .join_from(labels, runs, runs.c.seq == labels.c.run_seq)
        .outerjoin(item_ids, noted)
        .outerjoin(_other, _other.c.seq == labels.c.other_seq)
    )


def _label(*row: Any) -> Label:
    *own, run_id, eval_id, item_id, other_id = row
    values: Any = (*own, run_id, eval_id, item_id or ids.of_item(run_id, own[0]), other_id)
    return Label(*values)
