"""What was made elsewhere: where it came from, as it was received, under its own ids; runs over copied rows."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    for table in ("files", "evals", "runs"):
        op.add_column(table, sa.Column("imported", sa.Text))
    op.add_column("runs", sa.Column("regraded_from", sa.String))
    op.add_column("runs", sa.Column("rows_file", sa.String))
    op.create_table(
        "received",
        sa.Column("kind", sa.String, primary_key=True),
        sa.Column("seq", SEQUENCE, primary_key=True, autoincrement=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "item_ids",
        sa.Column("run_seq", SEQUENCE, primary_key=True, autoincrement=False),
        sa.Column("idx", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("id", sa.String, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("item_ids_by_id", "item_ids", ["run_seq", "id"], unique=True)
    op.create_table(
        "imports",
        sa.Column("seq", SEQUENCE, primary_key=True),
        sa.Column("id", sa.String, nullable=False, unique=True),
        sa.Column("project", sa.String, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("progress", sa.Text, nullable=False),
        sa.Column("owner", sa.String),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("imports_of_project", "imports", ["project", "seq"])
