"""Fine-tuning jobs, their events and checkpoints."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "jobs",
        sa.Column("seq", SEQUENCE, primary_key=True),
        sa.Column("id", sa.String, nullable=False, unique=True),
        sa.Column("project", sa.String, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("metadata", sa.Text),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("owner", sa.String),
        sa.Column("paused", sa.Boolean, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("imported", sa.Text),
        sqlite_autoincrement=True,
    )
    op.create_index("jobs_of_project", "jobs", ["project", "seq"])
    op.create_index("jobs_by_status", "jobs", ["status", "seq"])
    op.create_table(
        "job_metadata",
        sa.Column("job_seq", SEQUENCE, primary_key=True, autoincrement=False),
        sa.Column("pair_sha256", sa.LargeBinary, primary_key=True),
    )
    op.create_index("job_metadata_by_pair", "job_metadata", ["pair_sha256", "job_seq"])
    for table in ("job_events", "job_checkpoints"):
        op.create_table(
            table,
            sa.Column("seq", SEQUENCE, primary_key=True),
            sa.Column("job_seq", SEQUENCE, nullable=False),
            sa.Column("id", sa.String, nullable=False),
            sa.Column("body", sa.LargeBinary, nullable=False),
            sqlite_autoincrement=True,
        )
        op.create_index(f"{table}_of_job", table, ["job_seq", "seq"])
        op.create_index(f"{table}_by_id", table, ["job_seq", "id"], unique=True)
