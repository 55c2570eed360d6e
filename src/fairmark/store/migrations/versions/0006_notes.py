"""Why rows of a run could not be graded, and what there is to be warned of; the reasons of items that are there."""

import json

import sqlalchemy as sa
from alembic import op

# Not copies: rows that are there have to match those that come.
from fairmark.store.evals.notes import Notes, reason_key
from fairmark.text.alike import alike

revision = "0006"
down_revision = "0005"

SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")
ITEMS_AT_ONCE = 500

items = sa.table(
    "items", sa.column("run_seq"), sa.column("idx"), sa.column("status"), sa.column("body", sa.LargeBinary)
)


def upgrade() -> None:
    run_notes = op.create_table(
        "run_notes",
        sa.Column("run_seq", SEQUENCE, primary_key=True, autoincrement=False),
        sa.Column("reasons", sa.Text, nullable=False),
        sa.Column("warnings", sa.Text, nullable=False),
    )
    error_rows = op.create_table(
        "error_rows",
        sa.Column("run_seq", SEQUENCE, primary_key=True, autoincrement=False),
        sa.Column("reason", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("idx", sa.Integer, primary_key=True, autoincrement=False),
        sqlite_with_rowid=False,
    )
    connection = op.get_bind()
    notes: dict[int, Notes] = {}
    last = (-1, -1)
    query = sa.select(items).where(items.c.status == "error").order_by(items.c.run_seq, items.c.idx)
    query = query.limit(ITEMS_AT_ONCE)
    while batch := connection.execute(query.where(sa.tuple_(items.c.run_seq, items.c.idx) > last)).all():
        last = (batch[-1].run_seq, batch[-1].idx)
        rows = []
        for item in batch:
            reasons = _reasons(item.body)
            notes.setdefault(item.run_seq, Notes()).add(reasons, ())
            keys = sorted({reason_key(reason) for reason in reasons})
            rows += [{"run_seq": item.run_seq, "reason": key, "idx": item.idx} for key in keys]
        if rows:
            connection.execute(error_rows.insert(), rows)
    if notes:
        connection.execute(
            run_notes.insert(),
            [{"run_seq": seq, "reasons": json.dumps(note.reasons), "warnings": "{}"} for seq, note in notes.items()],
        )


def _reasons(body: bytes) -> list[str]:
    results = json.loads(body).get("results") or ()
    return sorted({alike(result.get("error") or "") for result in results if result.get("status") == "error"})
