"""Graders by key, with their versions and the scores pushed in for them; what runs made of references to them."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "graders",
        sa.Column("seq", SEQUENCE, primary_key=True),
        sa.Column("id", sa.String, nullable=False, unique=True),
        sa.Column("project", sa.String, nullable=False),
        sa.Column("key", sa.String, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("description", sa.Text),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("locked", sa.Boolean, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("project", "key", name="graders_by_key"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "grader_versions",
        sa.Column("grader_seq", SEQUENCE, primary_key=True, autoincrement=False),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("grader", sa.Text, nullable=False),
        sa.Column("info", sa.Text),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "grader_scores",
        sa.Column("seq", SEQUENCE, primary_key=True),
        sa.Column("grader_seq", SEQUENCE, nullable=False),
        sa.Column("sample_sha256", sa.LargeBinary, nullable=False),
        sa.Column("sample_id", sa.Text, nullable=False),
        sa.Column("value", sa.Float, nullable=False),
        sa.Column("reasoning", sa.Text),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("grader_seq", "sample_sha256", name="grader_scores_by_sample"),
        sqlite_autoincrement=True,
    )
    op.create_index("grader_scores_of_grader", "grader_scores", ["grader_seq", "seq"])
    op.create_table(
        "run_criteria",
        sa.Column("run_seq", SEQUENCE, primary_key=True, autoincrement=False),
        sa.Column("criteria", sa.Text, nullable=False),
    )
