"""The tables. What is asked for is a column; what is only carried is JSON, as text, or bytes.

There are no foreign keys: whoever writes below a run holds the run's row, and whoever deletes a run or an eval takes
its row first. A check for each of a million items would tell nothing new.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

from fairmark import jsontext

metadata = MetaData()


class Json(TypeDecorator[Any]):
    """A JSON value as its text; None is NULL.

    Names are such values too: users send texts that a database refuses as they are, with NUL or half an emoji in them.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else jsontext.encode(value).decode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else jsontext.decode(value)


# sqlite_autoincrement below: a number is never given twice, so that nothing of a deleted run can become another's.
def _sequence(name: str = "seq", **more: Any) -> Column[int]:
    # SQLite counts by itself only in a column that is called INTEGER.
    return Column(name, BigInteger().with_variant(Integer, "sqlite"), **more)


keys = Table(
    "keys",
    metadata,
    _sequence(primary_key=True),
    Column("id", String, nullable=False, unique=True),
    Column("project", String, nullable=False),
    Column("name", Json, nullable=False),
    Column("start", String, nullable=False),
    Column("sha256", LargeBinary, nullable=False, unique=True),
    Column("created_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
    sqlite_autoincrement=True,
)

files = Table(
    "files",
    metadata,
    _sequence(primary_key=True),
    Column("id", String, nullable=False, unique=True),
    Column("project", String, nullable=False),
    Column("filename", Json, nullable=False),
    Column("purpose", String, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Index("files_of_project", "project", "seq"),
    Index("files_of_purpose", "project", "purpose", "seq"),
    Index("files_by_expiry", "expires_at"),
    sqlite_autoincrement=True,
)

evals = Table(
    "evals",
    metadata,
    _sequence(primary_key=True),
    Column("id", String, nullable=False, unique=True),
    Column("project", String, nullable=False),
    Column("name", Json, nullable=False),
    Column("metadata", Json, nullable=False),
    Column("data_source_config", Json, nullable=False),
    Column("criteria", Json, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    _sequence("updated_seq", nullable=False),
    Index("evals_of_project", "project", "seq"),
    Index("evals_by_update", "project", "updated_seq"),
    sqlite_autoincrement=True,
)

runs = Table(
    "runs",
    metadata,
    _sequence(primary_key=True),
    Column("id", String, nullable=False, unique=True),
    _sequence("eval_seq", nullable=False),
    Column("eval_id", String, nullable=False),
    Column("project", String, nullable=False),
    Column("name", Json, nullable=False),
    Column("metadata", Json, nullable=False),
    Column("model", Json),
    Column("options", Json, nullable=False),
    Column("status", String, nullable=False),
    Column("error", Json),
    # Which server works on it. Who finds another's name here has lost the run, and writes nothing.
    Column("owner", String),
    Column("created_at", BigInteger, nullable=False),
    Column("total", BigInteger),
    Column("passed", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
    Column("errored", BigInteger, nullable=False),
    Column("skipped", BigInteger, nullable=False),
    Column("criteria_counts", Json, nullable=False),
    Column("usage", Json, nullable=False),
    Column("cost", Float),
    Index("runs_of_eval", "eval_seq", "seq"),
    Index("runs_of_eval_by_status", "eval_seq", "status", "seq"),
    Index("runs_by_status", "status", "seq"),
    sqlite_autoincrement=True,
)

# Apart from its run, whose row is written again with every batch of items.
sources = Table(
    "sources",
    metadata,
    _sequence("run_seq", primary_key=True, autoincrement=False),
    Column("body", LargeBinary, nullable=False),
)

# The criteria of a run as they stood when it was created, where some were references to registered graders.
run_criteria = Table(
    "run_criteria",
    metadata,
    _sequence("run_seq", primary_key=True, autoincrement=False),
    Column("criteria", Json, nullable=False),
)

items = Table(
    "items",
    metadata,
    _sequence("run_seq", primary_key=True, autoincrement=False),
    Column("idx", Integer, primary_key=True, autoincrement=False),
    Column("status", String, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index("items_by_status", "run_seq", "status", "idx"),
)

# What each criterion made of an item, for sorting, filtering and comparing: the item's body says the same and more.
# The key finds an outcome's rows by number. The index finds them by score, also of items of one status.
scores = Table(
    "scores",
    metadata,
    _sequence("run_seq", primary_key=True, autoincrement=False),
    # Its place in the eval's list of criteria.
    Column("criterion", Integer, primary_key=True, autoincrement=False),
    # As counts.OUTCOMES numbers them.
    Column("outcome", SmallInteger, primary_key=True, autoincrement=False),
    Column("idx", Integer, primary_key=True, autoincrement=False),
    # The whole item's, as a number too.
    Column("status", SmallInteger, nullable=False),
    Column("score", Float, nullable=False),
    # Of the data source's item, so that another run's row of the same item is found.
    Column("item_hash", BigInteger, nullable=False),
    Index("scores_by_score", "run_seq", "criterion", "outcome", "status", "score", "idx"),
    sqlite_with_rowid=False,
)

# Which rows could not be graded for which reason, by the number that `notes.reason_key` gives it.
error_rows = Table(
    "error_rows",
    metadata,
    _sequence("run_seq", primary_key=True, autoincrement=False),
    Column("reason", BigInteger, primary_key=True, autoincrement=False),
    Column("idx", Integer, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)

# Those reasons in words, and warnings, each with the number of its rows.
run_notes = Table(
    "run_notes",
    metadata,
    _sequence("run_seq", primary_key=True, autoincrement=False),
    Column("reasons", Json, nullable=False),
    Column("warnings", Json, nullable=False),
)

samples = Table(
    "samples",
    metadata,
    _sequence("run_seq", primary_key=True, autoincrement=False),
    Column("idx", Integer, primary_key=True, autoincrement=False),
    Column("body", LargeBinary, nullable=False),
)

graders = Table(
    "graders",
    metadata,
    _sequence(primary_key=True),
    Column("id", String, nullable=False, unique=True),
    Column("project", String, nullable=False),
    Column("key", String, nullable=False),
    Column("name", Json, nullable=False),
    Column("description", Json),
    # Of what it says now; what it said before stays in grader_versions.
    Column("version", Integer, nullable=False),
    Column("locked", Boolean, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    UniqueConstraint("project", "key", name="graders_by_key"),
    sqlite_autoincrement=True,
)

grader_versions = Table(
    "grader_versions",
    metadata,
    _sequence("grader_seq", primary_key=True, autoincrement=False),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("grader", Json, nullable=False),
    # What an endpoint said of itself when it was kept.
    Column("info", Json),
    Column("created_at", BigInteger, nullable=False),
)

# Pushed in from outside, for graders that do not grade by themselves.
grader_scores = Table(
    "grader_scores",
    metadata,
    _sequence(primary_key=True),
    _sequence("grader_seq", nullable=False),
    # Users send anything as an id, so it is found by its hash.
    Column("sample_sha256", LargeBinary, nullable=False),
    Column("sample_id", Json, nullable=False),
    Column("value", Float, nullable=False),
    Column("reasoning", Json),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("grader_seq", "sample_sha256", name="grader_scores_by_sample"),
    Index("grader_scores_of_grader", "grader_seq", "seq"),
    sqlite_autoincrement=True,
)

# Of the web page. A session is only its token, of which the hash is kept, and the key that it was made with.
sessions = Table(
    "sessions",
    metadata,
    Column("sha256", LargeBinary, primary_key=True),
    Column("key_id", String, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Index("sessions_by_expiry", "expires_at"),
)

# Where what was deleted stood in its list, for whoever pages through the list meanwhile. Kept for a while.
deleted = Table(
    "deleted",
    metadata,
    Column("id", String, primary_key=True),
    Column("kind", String, nullable=False),
    # Whose list it was in: the project's, or for a run the number of its eval.
    Column("scope", String, nullable=False),
    _sequence("seq", nullable=False),
    _sequence("updated_seq"),
    Column("deleted_at", BigInteger, nullable=False),
    Index("deleted_by_time", "deleted_at"),
    Index("deleted_by_update", "kind", "scope", "updated_seq"),
)
