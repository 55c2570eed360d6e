"""What people say of the rows of runs, and which rows they were given."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "labels",
        sa.Column("seq", SEQUENCE, primary_key=True),
        sa.Column("id", sa.String, nullable=False, unique=True),
        sa.Column("project", sa.String, nullable=False),
        sa.Column("run_seq", SEQUENCE, nullable=False),
        sa.Column("idx", sa.Integer, nullable=False),
        sa.Column("place", sa.LargeBinary, nullable=False),
        sa.Column("turn", sa.Integer, nullable=False),
        sa.Column("rater", sa.Text, nullable=False),
        sa.Column("criterion", sa.Text, nullable=False),
        sa.Column("other_seq", SEQUENCE),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("value", sa.Text),
        sa.Column("note", sa.Text),
        sa.Column("seconds", sa.Float),
        sa.Column("picked", sa.Text),
        sa.Column("chance", sa.Float),
        sa.Column("weight", sa.Float),
        sa.Column("side", sa.String),
        sa.Column("labelled_at", sa.Float, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("run_seq", "idx", "place", name="labels_by_place"),
        sqlite_autoincrement=True,
    )
    op.create_index("labels_of_project", "labels", ["project", "seq"])
    op.create_index("labels_of_run", "labels", ["run_seq", "seq"])
    op.create_index("labels_by_other", "labels", ["other_seq"])
    op.create_table(
        "label_batches",
        sa.Column("seq", SEQUENCE, primary_key=True),
        sa.Column("id", sa.String, nullable=False, unique=True),
        sa.Column("run_seq", SEQUENCE, nullable=False),
        sa.Column("rater", sa.Text, nullable=False),
        sa.Column("criterion", sa.Text, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("other_seq", SEQUENCE),
        sa.Column("rows", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("label_batches_of_run", "label_batches", ["run_seq", "seq"])
    op.create_index("label_batches_by_other", "label_batches", ["other_seq"])
