"""Scores by criterion, taken from the items that are there."""

import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

# Not a copy: rows that are there have to match those that come.
from fairmark.row import hash_item

revision = "0003"
down_revision = "0002"

SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")
ITEMS_AT_ONCE = 500
OUTCOMES = {"pass": 0, "fail": 1, "error": 2, "skip": 3}

items = sa.table(
    "items", sa.column("run_seq"), sa.column("idx"), sa.column("status"), sa.column("body", sa.LargeBinary)
)


def upgrade() -> None:
    scores = op.create_table(
        "scores",
        sa.Column("run_seq", SEQUENCE, primary_key=True, autoincrement=False),
        sa.Column("criterion", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("outcome", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("idx", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("status", sa.SmallInteger, nullable=False),
        sa.Column("score", sa.Float, nullable=False),
        sa.Column("item_hash", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    connection = op.get_bind()
    last = (-1, -1)
    query = sa.select(items).order_by(items.c.run_seq, items.c.idx).limit(ITEMS_AT_ONCE)
    while batch := connection.execute(query.where(sa.tuple_(items.c.run_seq, items.c.idx) > last)).all():
        last = (batch[-1].run_seq, batch[-1].idx)
        rows = [row for item in batch for row in _scores(*item)]
        if rows:
            connection.execute(scores.insert(), rows)
    op.create_index("scores_by_score", "scores", ["run_seq", "criterion", "outcome", "status", "score", "idx"])


def _scores(run_seq: int, idx: int, status: str, body: bytes) -> Iterator[dict[str, Any]]:
    item = json.loads(body)
    item_hash = hash_item(item.get("datasource_item") or {})
    for criterion, result in enumerate(item.get("results") or ()):
        graded = "pass" if result.get("passed") else "fail"
        outcome = {"error": "error", "skipped": "skip"}.get(result.get("status"), graded)
        yield {
            "run_seq": run_seq,
            "criterion": criterion,
            "outcome": OUTCOMES[outcome],
            "idx": idx,
            "status": OUTCOMES[status],
            "score": (result.get("score") or 0.0) if outcome == graded else 0.0,
            "item_hash": item_hash,
        }
