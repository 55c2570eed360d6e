"""A real PostgreSQL server in a temporary folder, on a unix socket, gone when the tests are."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

USER = "fairmark"
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
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0

    def start(self) -> None:
        options = [word for name, value in OPTIONS.items() for word in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [binary("postgres"), "-D", self._data, "-k", self.folder, *options],
                stdout=log,
                stderr=log,
                cwd="/",
                **ordinary_user(),
            )
        until = time.monotonic() + 60
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > until:
                raise AssertionError((self.folder / "log").read_text())
            time.sleep(0.01)

    def stop(self) -> None:
        """As after a power cut, only that nothing is lost: sessions are ended, nobody is waited for."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(timeout=60)
            self._process = None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder)

    def url(self, database: str) -> str:
        return f"postgresql://{USER}@/{database}?host={self.folder}"

    def new_database(self, template: str = "template0") -> str:
        """The URL of a new one, empty or a copy."""
        self._databases += 1
        name = f"test_{self._databases}"
        self.query(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    def query(self, statement: str, database: str = "postgres") -> str:
        asked: list[str | Path] = [binary("psql"), "-h", self.folder, "-U", USER, "-d", database, "-XAtc", statement]
        return subprocess.run(asked, check=True, capture_output=True, text=True).stdout

    def _is_ready(self) -> bool:
        try:
            return (self._data / "postmaster.pid").read_text().splitlines()[7].strip() == "ready"
        except (OSError, IndexError):
            return False
