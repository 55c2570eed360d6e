"""Judge checks and hacking reports."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "checks",
        sa.Column("seq", SEQUENCE, primary_key=True),
        sa.Column("id", sa.String, nullable=False, unique=True),
        sa.Column("project", sa.String, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("plan", sa.Text, nullable=False),
        sa.Column("progress", sa.Text, nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("grader_id", sa.String),
        sa.Column("fingerprint", sa.String),
        sa.Column("eval_id", sa.String),
        sa.Column("grade", sa.String),
        sa.Column("owner", sa.String),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("started_at", sa.Float),
        sa.Column("ended_at", sa.Float),
        sa.Column("created_by", sa.String),
        sqlite_autoincrement=True,
    )
    op.create_index("checks_of_project", "checks", ["project", "kind", "seq"])
    op.create_index("checks_of_grader", "checks", ["project", "grader_id", "seq"])
    op.create_index("checks_by_fingerprint", "checks", ["project", "fingerprint", "seq"])
    op.create_index("checks_of_eval", "checks", ["project", "eval_id", "seq"])
    op.create_index("checks_by_status", "checks", ["status", "seq"])
    op.create_table(
        "check_rows",
        sa.Column("check_seq", SEQUENCE, primary_key=True, autoincrement=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "check_answers",
        sa.Column("check_seq", SEQUENCE, primary_key=True, autoincrement=False),
        sa.Column("key", sa.String, primary_key=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "check_reports",
        sa.Column("check_seq", SEQUENCE, primary_key=True, autoincrement=False),
        sa.Column("report", sa.LargeBinary, nullable=False),
        sa.Column("page", sa.LargeBinary, nullable=False),
    )
