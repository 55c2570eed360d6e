"""The events and checkpoints of fine-tuning jobs: kept in their wire form, shown the newest first."""

import time
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import msgspec
from sqlalchemy import Table, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fairmark import jsontext
from fairmark.store.base import ids
from fairmark.store.base.pages import Page, make_page, page_query, read_span
from fairmark.store.base.tables import job_checkpoints, job_events

Level = Literal["info", "warn", "error"]


class Entry(msgspec.Struct, frozen=True):
    """An event or a checkpoint, in its wire form."""

    id: str
    body: bytes


class NewEvent(NamedTuple):
    message: str
    level: Level = "info"
    data: dict[str, Any] | None = None
    """With data it is an event of metrics."""
    key: str | None = None
    """Of two events with the same key a job keeps the first: whoever does a step again tells it once."""


class NewCheckpoint(NamedTuple):
    model: str
    step: int
    metrics: dict[str, Any]
    """Of two checkpoints of the same model and step a job keeps the first."""


async def page_of_entries(
    connection: AsyncConnection, table: Table, seq: int, limit: int, after: str | None
) -> Page[Entry]:
    """Raises UnknownCursor."""

    async def find(id_: str) -> int | None:
        there = select(table.c.seq).where(table.c.job_seq == seq, table.c.id == id_)
        place: int | None = await connection.scalar(there) if ids.plausible(id_) else None
        return place

    span = await read_span(after, None, find)
    query = select(table.c.id, table.c.body).where(table.c.job_seq == seq)
    rows = (await connection.execute(page_query(query, table.c.seq, span, limit, "desc"))).all()
    return make_page(rows, span, limit, Entry)


async def add_events(connection: AsyncConnection, seq: int, job_id: str, events: Sequence[NewEvent]) -> None:
    now = int(time.time())
    for event in events:
        event_id = ids.new("ftevent-") if event.key is None else ids.made_by(job_id, "ftevent-", event.key)
        body = {
            "object": "fine_tuning.job.event",
            "id": event_id,
            "created_at": now,
            "level": event.level,
            "message": event.message,
            "type": "message" if event.data is None else "metrics",
            "data": event.data or {},
        }
        await _put_entry(connection, job_events, seq, event_id, jsontext.encode(body))


async def add_checkpoints(
    connection: AsyncConnection, seq: int, job_id: str, checkpoints: Sequence[NewCheckpoint]
) -> None:
    for checkpoint in checkpoints:
        checkpoint_id = ids.made_by(job_id, "ftckpt_", f"{checkpoint.step} {checkpoint.model}")
        body = {
            "object": "fine_tuning.job.checkpoint",
            "id": checkpoint_id,
            "created_at": int(time.time()),
            "fine_tuned_model_checkpoint": checkpoint.model,
            "fine_tuning_job_id": job_id,
            "metrics": checkpoint.metrics,
            "step_number": checkpoint.step,
        }
        await _put_entry(connection, job_checkpoints, seq, checkpoint_id, jsontext.encode(body))


async def put_entries(connection: AsyncConnection, table: Table, seq: int, entries: Sequence[bytes]) -> int:
    """Those that were received elsewhere, the newest first; how many of them were new. Raises ValueError."""
    fresh = 0
    for body in reversed(entries):
        entry = jsontext.decode(body)
        if not isinstance(entry, dict) or not isinstance(entry.get("id"), str) or not ids.plausible(entry["id"]):
            raise ValueError(f"found {jsontext.describe(entry)}. It takes an event or a checkpoint with an id.")
        fresh += await _put_entry(connection, table, seq, entry["id"], body)
    return fresh


async def _put_entry(connection: AsyncConnection, table: Table, seq: int, entry_id: str, body: bytes) -> bool:
    """False where there is one of this id."""
    there = select(table.c.seq).where(table.c.job_seq == seq, table.c.id == entry_id)
    if await connection.scalar(there) is not None:
        return False
    await connection.execute(table.insert().values(job_seq=seq, id=entry_id, body=body))
    return True
