"""A real PostgreSQL server in a temporary folder, on a unix socket, gone when the tests are."""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests import command

USER = "fairmark"
# Takes what a test has left out of a database, whoever still has it open; all but which migrations it has seen.
EMPTY = """
DO $$
DECLARE
  name text;
  is_used boolean;
BEGIN
  PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid();
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version' LOOP
    EXECUTE format('SELECT EXISTS (SELECT FROM %I)', name) INTO is_used;
    IF is_used THEN
      EXECUTE format('TRUNCATE %I RESTART IDENTITY', name);
    END IF;
  END LOOP;
END $$
"""
# Nothing here outlives the tests, so nothing has to reach the disk.
OPTIONS = {
    "listen_addresses": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "60",
}


def binary(name: str) -> str:
    """PostgreSQL's own programs; Debian keeps them out of the PATH."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: -float(path.parent.name))
    found = shutil.which(name, path=os.pathsep.join([*map(str, versions), "/usr/local/bin", os.environ["PATH"]]))
    assert found, f"{name} of PostgreSQL is not installed. make test installs it."
    return found


def ordinary_user() -> dict[str, Any]:
    """For subprocess: PostgreSQL refuses to run as root."""
    return {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.getuid() == 0 else {}


def _ordinary_ids() -> tuple[int, int] | None:
    if os.getuid():
        return None
    user = pwd.getpwnam("nobody")
    return user.pw_uid, user.pw_gid


def initialise(data: Path) -> None:
    """Makes the files of a new server. It takes about a second; copies of them are good for more servers."""
    folder = _open_folder()
    subprocess.run(
        [binary("initdb"), "-D", folder / "data", "-U", USER, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"],
        check=True,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "TZ": "UTC"},
        cwd="/",
        **ordinary_user(),
    )
    shutil.move(folder / "data", data)
    folder.rmdir()


def _open_folder() -> Path:
    """A folder for PostgreSQL: pytest's own are closed to other users, and too long for the path of a socket."""
    folder = Path(tempfile.mkdtemp(prefix="fairmark-pg-"))
    if os.getuid() == 0:
        shutil.chown(folder, "nobody", "nogroup")
    return folder


class Postgres:
    def __init__(self, template: Path) -> None:
        self.folder = _open_folder()
        self._data = self.folder / "data"
        subprocess.run(["cp", "-a", template, self._data], check=True)
        self._process: command.Command | None = None
        self._databases = 0
        self._emptied: list[str] = []

    def start(self) -> None:
        options = [word for name, value in OPTIONS.items() for word in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._process = command.start_program(
                [binary("postgres"), "-D", str(self._data), "-k", str(self.folder), *options],
                cwd=Path("/"),
                env={"PATH": os.environ["PATH"], "TZ": "UTC"},
                output=log,
                user=_ordinary_ids(),
            )
        until = time.monotonic() + 60
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > until:
                raise AssertionError((self.folder / "log").read_text())
            time.sleep(0.01)

    def stop(self, number: int = signal.SIGINT) -> None:
        """As after a power cut, only that nothing is lost: sessions are ended, nobody is waited for."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(timeout=60)
            self._process = None

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)  # what it has in memory need not go into files that are removed next
        shutil.rmtree(self.folder)

    def url(self, database: str) -> str:
        return f"postgresql://{USER}@/{database}?host={self.folder}"

    def new_database(self, template: str = "template0", tablespace: str = "pg_default") -> str:
        """The URL of a new one, empty or a copy."""
        self._databases += 1
        name = f"test_{self._databases}"
        self.query(f"CREATE DATABASE {name} TEMPLATE {template} TABLESPACE {tablespace}")
        return self.url(name)

    @contextlib.contextmanager
    def tablespace(self, folder: Path) -> Iterator[str]:
        """The name of a place for databases below a folder, which are dropped at its end."""
        self._databases += 1
        name, place = f"space_{self._databases}", folder / "tables"
        place.mkdir()
        if os.getuid() == 0:
            shutil.chown(place, "nobody", "nogroup")
        self.query(f"CREATE TABLESPACE {name} LOCATION '{place}'")
        try:
            yield name
        finally:
            places = "SELECT datname, spcname FROM pg_database d JOIN pg_tablespace t ON t.oid = d.dattablespace"
            for database, _, where in (line.partition("|") for line in self.query(places).splitlines()):
                if where == name:
                    self.query(f"DROP DATABASE {database} WITH (FORCE)")
            self.query(f"DROP TABLESPACE {name}")

    def lend_database(self, template: str) -> str:
        """The name of one that is as new: a copy costs ten times as much as emptying what few tables a test fills."""
        if self._emptied:
            return self._emptied.pop()
        return self.new_database(template).partition("@/")[2].partition("?")[0]

    def take_back(self, database: str) -> None:
        self.query(EMPTY, database)
        self._emptied.append(database)

    def query(self, statement: str, database: str = "postgres") -> str:
        asked: list[str | Path] = [binary("psql"), "-h", self.folder, "-U", USER, "-d", database, "-XAtc", statement]
        return subprocess.run(asked, check=True, capture_output=True, text=True).stdout

    def _is_ready(self) -> bool:
        try:
            return (self._data / "postmaster.pid").read_text().splitlines()[7].strip() == "ready"
        except (OSError, IndexError):
            return False
