"""What came of imports."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("imports", sa.Column("report", sa.Text))
    op.add_column("imports", sa.Column("error", sa.Text))
