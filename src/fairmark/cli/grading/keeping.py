"""What `fairmark eval` keeps of itself: a journal in this machine's home, which becomes a run of the store."""

import getpass
import os
import platform
import time
import uuid
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec
import typer

from fairmark import jsontext
from fairmark.cli.shared.database import checked_project
from fairmark.data import journal
from fairmark.data.dataset import DataRow
from fairmark.data.journal import DataNamed, Digest, Journal, JournalledRun
from fairmark.data.results import encode_row, fingerprint
from fairmark.errors import FairmarkError, InvalidData
from fairmark.result import Result
from fairmark.settings import settings
from fairmark.spec import GraderSpec

OPEN_PROJECT = "default"
LONGEST_NAME = 256
DIGEST_WAIT_S = 60.0
"""How long the end of a run waits for the hash of its data, which takes a small part of grading it."""
_PACKAGES = ("sqlalchemy", "alembic", "aiosqlite", "asyncpg")


class WhereKept(NamedTuple):
    """How a run is to be kept."""

    name: str = ""
    eval_name: str = ""
    project: str = OPEN_PROJECT
    db: str | None = None


class Keeping:
    """The run that is going on."""

    def __init__(self, home: Path, kept: JournalledRun, db: str, digest: Digest | None) -> None:
        self._journal = Journal(home, kept)
        self._home = home
        self._db = db
        self._digest = digest
        self._mark = kept.mark

    @property
    def id(self) -> str | None:
        """None where it is not kept after all."""
        return None if self._journal.failure else self._journal.kept.id

    @property
    def home(self) -> Path:
        return self._home

    def add_line(self, line: bytes) -> None:
        self._journal.add(line)

    def add(self, row: DataRow, graded: Mapping[str, Result], line: bytes) -> None:
        """`line`: as the results file has it, which leaves out what judges were sent."""
        for result in graded.values():
            if result.grade.judgements:
                line = encode_row(self._mark, row, graded, with_input=True)
                break
        self._journal.add(line)

    def end(self, *, whole: bool, goes_on: bool, rows: int) -> None:
        """`goes_on`: whether --resume has something to do."""
        if not rows:
            self._journal.discard()
            return
        data = self._journal.kept.data
        if whole and self._digest is not None:
            data = msgspec.structs.replace(data, sha256=self._digest.result(DIGEST_WAIT_S))
        self._journal.end(whole=whole, goes_on=goes_on, data=data)
        if self._journal.failure:
            typer.echo(f"warning: this run is not kept: {self._journal.failure}.", err=True)
        elif whole and self._db:
            self._take_in()

    def _take_in(self) -> None:
        """A database that was named may be far from this machine, which may be gone in a minute."""
        from fairmark.cli.runs.opening import with_runs

        async def nothing(store: object) -> None:
            return None

        try:
            with_runs(self._db, nothing, home=self._home)
        except FairmarkError as error:
            advice = "It is kept in this machine's home, and taken in by the next fairmark runs."
            typer.echo(f"warning: {error} {advice}", err=True)


def begin(
    wanted: WhereKept,
    graders: Mapping[str, GraderSpec],
    data: str,
    sql: str | None,
    output: str | None,
    resumed: bool,
) -> Keeping | None:
    """None where runs cannot be kept here, which is told; nothing of it stops an eval."""
    if len(wanted.name) > LONGEST_NAME or len(wanted.eval_name) > LONGEST_NAME:
        raise InvalidData(f"--name and --eval take at most {LONGEST_NAME} characters.")
    missing = next((package for package in _PACKAGES if find_spec(package) is None), None)
    if missing is not None:
        typer.echo(
            f"This run is not kept: that needs {missing}. pip install 'fairmark[server]', or say --no-store.", err=True
        )
        return None
    if wanted.project != OPEN_PROJECT:  # what a store takes is known by the store, which is long to import
        checked_project(wanted.project)
    try:
        home = settings().data_folder.absolute()
    except RuntimeError:  # nobody knows where this user lives
        typer.echo("This run is not kept: there is no home directory. Set FAIRMARK_HOME, or say --no-store.", err=True)
        return None
    mark = fingerprint(graders)
    where = None if output in (None, "-") else str(Path(str(output)).absolute())
    stopped = None
    if where is not None:
        stopped = journal.find_stopped(home, where, mark)
        if not resumed:  # its results are replaced, so that it can no longer go on
            journal.forget_stopped(home, where)
            stopped = None
    # Not a pipe: whoever reads it takes its rows.
    is_file = data != "-" and sql is None and Path(data).is_file()
    named = _data_named(data, sql)
    db = wanted.db or settings().db
    kept = JournalledRun(
        id=stopped.id if stopped is not None else f"evalrun_{uuid.uuid4().hex}",
        project=wanted.project,
        eval_name=wanted.eval_name or named.name,
        name=wanted.name,
        graders={label: spec.echo() for label, spec in graders.items()},
        mark=mark,
        data=named,
        started_at=time.time(),
        store=journal.store_mark(db),
        output=where,
        by=_who(),
    )
    return Keeping(home, kept, db, Digest(data) if is_file else None)


def eval_name_of(data: str, sql: str | None) -> str:
    """The eval that a run is one of where nobody named it."""
    return _data_named(data, sql).name


def _who() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container's user may have no name
        user = ""
    return "@".join(part for part in (user, platform.node()) if part)


def _data_named(data: str, sql: str | None) -> DataNamed:
    if data == "-":
        return DataNamed("stdin", "-")
    if sql is not None:
        return DataNamed(
            _stem(urlsplit(data).path) or "query", _without_password(data), sql=jsontext.shorten(sql, 2000)
        )
    path = Path(data)
    return DataNamed(_stem(data) or "data", str(path.absolute()), _size(path))


def _size(path: Path) -> int | None:
    try:
        return os.stat(path).st_size  # noqa: PTH116  # as it may be a pipe
    except (OSError, ValueError):
        return None


def _stem(path: str) -> str:
    """`capitals` of data/capitals.jsonl.gz."""
    name = Path(path).name
    return name.split(".")[0] or name


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    if parts.password is None:
        return url
    user, _, host = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{user.partition(':')[0]}:***@{host}").geturl()
