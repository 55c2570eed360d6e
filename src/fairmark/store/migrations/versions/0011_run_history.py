"""When a run began and ended, whose key asked for it, and what each model cost; what its rows can be grouped by."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("runs", sa.Column("started_at", sa.Float))
    op.add_column("runs", sa.Column("ended_at", sa.Float))
    op.add_column("runs", sa.Column("created_by", sa.String))
    op.add_column("runs", sa.Column("costs", sa.Text, nullable=False, server_default="{}"))
    op.create_table(
        "facets",
        sa.Column("run_seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=False),
        sa.Column("first", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
