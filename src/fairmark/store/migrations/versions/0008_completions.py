"""Chat completions and responses that are kept."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "completions",
        sa.Column("seq", SEQUENCE, primary_key=True),
        sa.Column("project", sa.String, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("id", sa.String, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("asked_model", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("metadata", sa.Text, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("input", sa.LargeBinary, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("request", sa.LargeBinary, nullable=False),
        sa.Column("imported", sa.Text),
        sa.UniqueConstraint("project", "kind", "id", name="completions_by_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("completions_by_time", "completions", ["project", "kind", "created_at", "seq"])
    op.create_index("completions_by_expiry", "completions", ["expires_at"])
    op.create_table(
        "completion_metadata",
        sa.Column("completion_seq", SEQUENCE, primary_key=True, autoincrement=False),
        sa.Column("pair_sha256", sa.LargeBinary, primary_key=True),
    )
    op.create_index("completion_metadata_by_pair", "completion_metadata", ["pair_sha256", "completion_seq"])
    op.create_table(
        "completion_totals",
        sa.Column("project", sa.String, primary_key=True),
        sa.Column("imported", sa.Boolean, primary_key=True),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
    )
