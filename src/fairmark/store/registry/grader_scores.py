"""Scores that were computed elsewhere and pushed in, one for each sample of a grader."""

import hashlib
import time
from collections.abc import Sequence

import msgspec
from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite

from fairmark.store.base.database import Database, uninterrupted
from fairmark.store.base.pages import Order, Page, make_page, page_query, read_span
from fairmark.store.base.tables import grader_scores, graders
from fairmark.store.registry.graders import Grader


class PushedScore(msgspec.Struct, frozen=True):
    sample_id: str
    value: float
    reasoning: str | None = None
    created_at: int = 0


_COLUMNS = [grader_scores.c[name] for name in PushedScore.__struct_fields__]


class GraderScores:
    def __init__(self, database: Database) -> None:
        self._database = database

    @uninterrupted
    async def push(self, grader: Grader, scores: Sequence[PushedScore]) -> bool:
        """All or nothing. A sample's later score takes the place of its earlier one. False where the grader is gone."""
        now = int(time.time())
        insert = (sqlite if self._database.is_sqlite else postgresql).insert(grader_scores)
        new = insert.excluded
        place = insert.on_conflict_do_update(
            index_elements=["grader_seq", "sample_sha256"],
            set_={"value": new.value, "reasoning": new.reasoning, "created_at": new.created_at},
        )
        rows = [
            {
                "grader_seq": grader.seq,
                "sample_sha256": _hash(score.sample_id),
                "sample_id": score.sample_id,
                "value": score.value,
                "reasoning": score.reasoning,
                "created_at": now,
            }
            for score in {score.sample_id: score for score in scores}.values()
        ]
        async with self._database.write_in_order() as connection:
            # Held until the scores are there: who deletes the grader meanwhile waits, and finds them.
            query = select(graders.c.seq).where(graders.c.seq == grader.seq).with_for_update(read=True)
            if await connection.scalar(query) is None:
                return False
            if rows:
                await connection.execute(place, rows)
            return True

    @uninterrupted
    async def find(self, grader: Grader, sample_ids: Sequence[str]) -> dict[str, PushedScore]:
        """Those of these samples that have one."""
        of = grader_scores.c
        query = select(*_COLUMNS).where(of.grader_seq == grader.seq, of.sample_sha256.in_(list(map(_hash, sample_ids))))
        async with self._database.read() as connection:
            return {row.sample_id: PushedScore(*row) for row in await connection.execute(query)}

    @uninterrupted
    async def list(
        self,
        grader: Grader,
        limit: int = 20,
        after: str | None = None,
        order: Order = "asc",
        before: str | None = None,
    ) -> Page[PushedScore]:
        """In the order in which the samples first had a score; `after` and `before` are samples' ids."""
        of = grader_scores.c
        query = select(*_COLUMNS).where(of.grader_seq == grader.seq)
        async with self._database.read() as connection:

            async def find(sample_id: str) -> int | None:
                # None of them is ever deleted alone.
                there = select(of.seq).where(of.grader_seq == grader.seq, of.sample_sha256 == _hash(sample_id))
                seq: int | None = await connection.scalar(there)
                return seq

            span = await read_span(after, before, find)
            rows = (await connection.execute(page_query(query, of.seq, span, limit, order))).all()
        return make_page(rows, span, limit, PushedScore)


def _hash(sample_id: str) -> bytes:
    return hashlib.sha256(sample_id.encode("utf-8", "surrogatepass")).digest()
