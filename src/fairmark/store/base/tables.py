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
    Column("imported", Json),
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
    # Where it came from and when, of what was made elsewhere.
    Column("imported", Json),
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
    # Such a run is history: nobody works on it, whatever its status says.
    Column("imported", Json),
    # The run whose answers it grades again.
    Column("regraded_from", String),
    # A file of the run's own that holds its rows, where they were copied from what changes.
    Column("rows_file", String),
    # When somebody first worked on it, and when it ended last.
    Column("started_at", Float),
    Column("ended_at", Float),
    # The id of the key that it was asked for with.
    Column("created_by", String),
    # Dollars by model.
    Column("costs", Json, nullable=False, server_default="{}"),
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

# What rows can be chosen and grouped by, many rows in one (evals/facets.py). Rows that are in none are read themselves.
facets = Table(
    "facets",
    metadata,
    _sequence("run_seq", primary_key=True, autoincrement=False),
    # The index of its first row, which is in no other.
    Column("first", Integer, primary_key=True, autoincrement=False),
    Column("count", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
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

# What people said of the rows of runs.
labels = Table(
    "labels",
    metadata,
    _sequence(primary_key=True),
    Column("id", String, nullable=False, unique=True),
    Column("project", String, nullable=False),
    _sequence("run_seq", nullable=False),
    Column("idx", Integer, nullable=False),
    # The hash of whose label of what it is (labels.place_of): there is one, and a later one takes its place.
    Column("place", LargeBinary, nullable=False),
    # 1 where the row came a second time, to see whether its rater agrees with themselves.
    Column("turn", Integer, nullable=False),
    Column("rater", Json, nullable=False),
    # The id of the criterion that it is about; "" for the answer as a whole.
    Column("criterion", Json, nullable=False),
    # Of a pair: the run whose answer is b.
    _sequence("other_seq"),
    # label, score, preferred, or skip where the rater had nothing to say.
    Column("kind", String, nullable=False),
    Column("value", Json),
    Column("note", Json),
    Column("seconds", Float),
    Column("picked", Json),
    Column("chance", Float),
    Column("weight", Float),
    # Of a pair: which answer stood first.
    Column("side", String),
    Column("labelled_at", Float, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("run_seq", "idx", "place", name="labels_by_place"),
    Index("labels_of_project", "project", "seq"),
    Index("labels_of_run", "run_seq", "seq"),
    Index("labels_by_other", "other_seq"),
    sqlite_autoincrement=True,
)

# Which rows a rater was given, in which order.
label_batches = Table(
    "label_batches",
    metadata,
    _sequence(primary_key=True),
    Column("id", String, nullable=False, unique=True),
    _sequence("run_seq", nullable=False),
    Column("rater", Json, nullable=False),
    Column("criterion", Json, nullable=False),
    Column("kind", String, nullable=False),
    _sequence("other_seq"),
    Column("rows", Json, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Index("label_batches_of_run", "run_seq", "seq"),
    Index("label_batches_by_other", "other_seq"),
    sqlite_autoincrement=True,
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
# What a project may take; without a row, or a number in it, as much as it likes.
project_limits = Table(
    "project_limits",
    metadata,
    Column("project", String, primary_key=True),
    Column("weight", Float, nullable=False),
    Column("requests_at_once", BigInteger),
    Column("tokens_a_day", BigInteger),
    Column("dollars_a_day", Float),
    Column("rows_queued", BigInteger),
    Column("storage_bytes", BigInteger),
)

# What a project spent on models, by days since 1970.
project_days = Table(
    "project_days",
    metadata,
    Column("project", String, primary_key=True),
    Column("day", BigInteger, primary_key=True),
    Column("tokens", BigInteger, nullable=False),
    Column("dollars", Float, nullable=False),
)

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

# What was made elsewhere, byte for byte as it was received, by its table's name and its number there.
received = Table(
    "received",
    metadata,
    Column("kind", String, primary_key=True),
    _sequence("seq", primary_key=True, autoincrement=False),
    Column("body", LargeBinary, nullable=False),
)

# The ids of output items that were made elsewhere. Those of our own hold their run and their index.
item_ids = Table(
    "item_ids",
    metadata,
    _sequence("run_seq", primary_key=True, autoincrement=False),
    Column("idx", Integer, primary_key=True, autoincrement=False),
    Column("id", String, nullable=False),
    Index("item_ids_by_id", "run_seq", "id", unique=True),
    sqlite_with_rowid=False,
)

# Imports that were asked for by the API or on the page, also those that have ended.
imports = Table(
    "imports",
    metadata,
    _sequence(primary_key=True),
    Column("id", String, nullable=False, unique=True),
    Column("project", String, nullable=False),
    # What was asked for: source, base URL, the name of the key's variable, never the key.
    Column("request", Json, nullable=False),
    Column("status", String, nullable=False),
    # Counts, as they stood last.
    Column("progress", Json, nullable=False),
    Column("owner", String),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    # What came of it: problems, decisions, judges. Lists leave it out.
    Column("report", Json),
    Column("error", Json),
    Index("imports_of_project", "project", "seq"),
    sqlite_autoincrement=True,
)

# Exchanges with models: chat completions and responses that were asked to be stored.
completions = Table(
    "completions",
    metadata,
    _sequence(primary_key=True),
    Column("project", String, nullable=False),
    # chat or response
    Column("kind", String, nullable=False),
    # As the provider gave it: two projects may hold the same.
    Column("id", String, nullable=False),
    # The one that answered, and the one that was asked for: an alias, or a name without its date.
    Column("model", Json, nullable=False),
    Column("asked_model", Json, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("metadata", Json, nullable=False),
    # In bytes, of input, body and request together.
    Column("size", BigInteger, nullable=False),
    # Messages, or input items: a list, each with an id.
    Column("input", LargeBinary, nullable=False),
    Column("body", LargeBinary, nullable=False),
    # What was asked besides: sampling parameters, instructions, tools.
    Column("request", LargeBinary, nullable=False),
    Column("imported", Json),
    UniqueConstraint("project", "kind", "id", name="completions_by_id"),
    Index("completions_by_time", "project", "kind", "created_at", "seq"),
    Index("completions_by_expiry", "expires_at"),
    sqlite_autoincrement=True,
)

completion_metadata = Table(
    "completion_metadata",
    metadata,
    _sequence("completion_seq", primary_key=True, autoincrement=False),
    # Users send texts that a database refuses as they are, so pairs are found by their hash.
    Column("pair_sha256", LargeBinary, primary_key=True),
    Index("completion_metadata_by_pair", "pair_sha256", "completion_seq"),
)

# How many completions a project holds, and how long they are, so that its share can be told without counting them.
completion_totals = Table(
    "completion_totals",
    metadata,
    Column("project", String, primary_key=True),
    # Those that were made elsewhere are counted apart: they are beyond the limits.
    Column("imported", Boolean, primary_key=True),
    Column("count", BigInteger, nullable=False),
    Column("size", BigInteger, nullable=False),
)

# Fine-tuning jobs; body is the wire form without what stands in columns.
jobs = Table(
    "jobs",
    metadata,
    _sequence(primary_key=True),
    Column("id", String, nullable=False, unique=True),
    Column("project", String, nullable=False),
    Column("status", String, nullable=False),
    Column("metadata", Json),
    Column("body", Json, nullable=False),
    # Who works on it: a server that checks it, or the lease of a worker that trains it.
    Column("owner", String),
    # Nobody works on it until it is resumed, whatever its status says.
    Column("paused", Boolean, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("imported", Json),
    # When another worker may take it, of one that a worker has: it says that it is alive long before.
    Column("leased_until", BigInteger),
    Index("jobs_of_project", "project", "seq"),
    Index("jobs_by_status", "status", "seq"),
    sqlite_autoincrement=True,
)

# Who trains jobs of a project, by the name it gives itself, and which models.
workers = Table(
    "workers",
    metadata,
    Column("project", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("models", Json, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
    Index("workers_by_time", "seen_at"),
)

# Users send texts that a database refuses as they are, so pairs are found by their hash.
job_metadata = Table(
    "job_metadata",
    metadata,
    _sequence("job_seq", primary_key=True, autoincrement=False),
    Column("pair_sha256", LargeBinary, primary_key=True),
    Index("job_metadata_by_pair", "pair_sha256", "job_seq"),
)

job_events = Table(
    "job_events",
    metadata,
    _sequence(primary_key=True),
    _sequence("job_seq", nullable=False),
    Column("id", String, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index("job_events_of_job", "job_seq", "seq"),
    Index("job_events_by_id", "job_seq", "id", unique=True),
    sqlite_autoincrement=True,
)

job_checkpoints = Table(
    "job_checkpoints",
    metadata,
    _sequence(primary_key=True),
    _sequence("job_seq", nullable=False),
    Column("id", String, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index("job_checkpoints_of_job", "job_seq", "seq"),
    Index("job_checkpoints_by_id", "job_seq", "id", unique=True),
    sqlite_autoincrement=True,
)

# Judge checks and hacking reports: what was asked for, how far it is, and in short what came of it.
checks = Table(
    "checks",
    metadata,
    _sequence(primary_key=True),
    Column("id", String, nullable=False, unique=True),
    Column("project", String, nullable=False),
    # judge_check or hacking_report
    Column("kind", String, nullable=False),
    Column("status", String, nullable=False),
    Column("request", Json, nullable=False),
    # Calls, tokens and dollars, before anything is asked.
    Column("plan", Json, nullable=False),
    Column("progress", Json, nullable=False),
    Column("error", Json),
    # The registered grader that is checked, if it is one, and everything that makes its verdicts, in short.
    Column("grader_id", String),
    Column("fingerprint", String),
    Column("eval_id", String),
    # In a word: trusted, with care, …; of a hacking report, its state.
    Column("grade", String),
    Column("owner", String),
    Column("created_at", BigInteger, nullable=False),
    Column("started_at", Float),
    Column("ended_at", Float),
    # The id of the key that it was asked for with.
    Column("created_by", String),
    Index("checks_of_project", "project", "kind", "seq"),
    Index("checks_of_grader", "project", "grader_id", "seq"),
    Index("checks_by_fingerprint", "project", "fingerprint", "seq"),
    Index("checks_of_eval", "project", "eval_id", "seq"),
    Index("checks_by_status", "status", "seq"),
    sqlite_autoincrement=True,
)

# What people said, a line a judgement, while the check is under way: its file may be deleted meanwhile.
check_rows = Table(
    "check_rows",
    metadata,
    _sequence("check_seq", primary_key=True, autoincrement=False),
    Column("body", LargeBinary, nullable=False),
)

# What judges answered, by the key of the question, while the check is under way: so that nobody is asked twice.
check_answers = Table(
    "check_answers",
    metadata,
    _sequence("check_seq", primary_key=True, autoincrement=False),
    Column("key", String, primary_key=True),
    Column("body", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

# What came of it: JSON, and a page that stands alone.
check_reports = Table(
    "check_reports",
    metadata,
    _sequence("check_seq", primary_key=True, autoincrement=False),
    Column("report", LargeBinary, nullable=False),
    Column("page", LargeBinary, nullable=False),
)
