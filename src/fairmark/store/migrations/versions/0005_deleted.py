"""Where what was deleted stood in its list."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "deleted",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("scope", sa.String, nullable=False),
        sa.Column("seq", number, nullable=False),
        sa.Column("updated_seq", number),
        sa.Column("deleted_at", sa.BigInteger, nullable=False),
    )
    op.create_index("deleted_by_time", "deleted", ["deleted_at"])
    op.create_index("deleted_by_update", "deleted", ["kind", "scope", "updated_seq"])
