"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "keys",
        sa.Column("seq", SEQUENCE, primary_key=True),
        sa.Column("id", sa.String, nullable=False, unique=True),
        sa.Column("project", sa.String, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("start", sa.String, nullable=False),
        sa.Column("sha256", sa.LargeBinary, nullable=False, unique=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("revoked_at", sa.BigInteger),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "files",
        sa.Column("seq", SEQUENCE, primary_key=True),
        sa.Column("id", sa.String, nullable=False, unique=True),
        sa.Column("project", sa.String, nullable=False),
        sa.Column("filename", sa.Text, nullable=False),
        sa.Column("purpose", sa.String, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger),
        sqlite_autoincrement=True,
    )
    op.create_index("files_of_project", "files", ["project", "seq"])
    op.create_index("files_of_purpose", "files", ["project", "purpose", "seq"])
    op.create_index("files_by_expiry", "files", ["expires_at"])
    op.create_table(
        "evals",
        sa.Column("seq", SEQUENCE, primary_key=True),
        sa.Column("id", sa.String, nullable=False, unique=True),
        sa.Column("project", sa.String, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("metadata", sa.Text, nullable=False),
        sa.Column("data_source_config", sa.Text, nullable=False),
        sa.Column("criteria", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("updated_seq", SEQUENCE, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("evals_of_project", "evals", ["project", "seq"])
    op.create_index("evals_by_update", "evals", ["project", "updated_seq"])
    op.create_table(
        "runs",
        sa.Column("seq", SEQUENCE, primary_key=True),
        sa.Column("id", sa.String, nullable=False, unique=True),
        sa.Column("eval_seq", SEQUENCE, nullable=False),
        sa.Column("eval_id", sa.String, nullable=False),
        sa.Column("project", sa.String, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("metadata", sa.Text, nullable=False),
        sa.Column("model", sa.Text),
        sa.Column("options", sa.Text, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("owner", sa.String),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("total", sa.BigInteger),
        sa.Column("passed", sa.BigInteger, nullable=False),
        sa.Column("failed", sa.BigInteger, nullable=False),
        sa.Column("errored", sa.BigInteger, nullable=False),
        sa.Column("skipped", sa.BigInteger, nullable=False),
        sa.Column("criteria_counts", sa.Text, nullable=False),
        sa.Column("usage", sa.Text, nullable=False),
        sa.Column("cost", sa.Float),
        sqlite_autoincrement=True,
    )
    op.create_index("runs_of_eval", "runs", ["eval_seq", "seq"])
    op.create_index("runs_of_eval_by_status", "runs", ["eval_seq", "status", "seq"])
    op.create_index("runs_by_status", "runs", ["status", "seq"])
    op.create_table(
        "sources",
        sa.Column("run_seq", SEQUENCE, primary_key=True, autoincrement=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "items",
        sa.Column("run_seq", SEQUENCE, primary_key=True, autoincrement=False),
        sa.Column("idx", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_index("items_by_status", "items", ["run_seq", "status", "idx"])
    op.create_table(
        "samples",
        sa.Column("run_seq", SEQUENCE, primary_key=True, autoincrement=False),
        sa.Column("idx", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
