"""Workers that train jobs, and how long a job is theirs."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.add_column("jobs", sa.Column("leased_until", sa.BigInteger))
    op.create_table(
        "workers",
        sa.Column("project", sa.String, primary_key=True),
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("models", sa.Text, nullable=False),
        sa.Column("seen_at", sa.BigInteger, nullable=False),
    )
    op.create_index("workers_by_time", "workers", ["seen_at"])
