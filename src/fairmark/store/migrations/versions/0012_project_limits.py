"""What a project may take, and what it has spent on models each day."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.create_table(
        "project_limits",
        sa.Column("project", sa.String, primary_key=True),
        sa.Column("weight", sa.Float, nullable=False),
        sa.Column("requests_at_once", sa.BigInteger),
        sa.Column("tokens_a_day", sa.BigInteger),
        sa.Column("dollars_a_day", sa.Float),
        sa.Column("rows_queued", sa.BigInteger),
        sa.Column("storage_bytes", sa.BigInteger),
    )
    op.create_table(
        "project_days",
        sa.Column("project", sa.String, primary_key=True),
        sa.Column("day", sa.BigInteger, primary_key=True),
        sa.Column("tokens", sa.BigInteger, nullable=False),
        sa.Column("dollars", sa.Float, nullable=False),
    )
