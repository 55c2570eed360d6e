"""How far a pull has come: the manifest's cursors, what could not be read, and one puller an archive.

A cursor is saved after the page before it is on disk, so that whoever is killed loses at most that page. Saving is
shared: those who ask for it while it is under way are served together by the next.
"""

import asyncio
import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fairmark import __version__, jsontext
from fairmark.errors import InvalidArchive, PullStopped
from fairmark.moving.archive import MANIFEST, Archive
from fairmark.moving.pull.disk import on_disk, stopped_by_disk
from fairmark.moving.pull.door import Door

PROBLEMS = "problems.jsonl"
PARTS = ".parts"


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class PullJournal:
    """The state of one pull of one archive."""

    def __init__(self, archive: Archive, door: Door, least_free_bytes: int, since: float = 0) -> None:
        """Goes on with the pull that was broken off, or begins the next one. Raises InvalidArchive.

        A pull that leaves out other things begins anew: behind the cursors of the last one there is what that left out.
        """
        self.archive = archive
        self._least_free_bytes = least_free_bytes
        manifest = archive.manifest()
        where = {"source": door.source, "base_url": door.base_url}
        before = {name: manifest.get(name) for name in where}
        if manifest and before != where:
            raise InvalidArchive(
                f"{archive.folder}: it was read from {before['base_url'] or before['source']}, not from "
                f"{door.base_url}. Name another folder with --archive."
            )
        pulled = manifest.get("pull")
        self._pull: dict[str, Any] = pulled if isinstance(pulled, dict) else {}
        is_broken_off = bool(self._pull) and self._pull.get("finished_at") is None
        self.goes_on = is_broken_off and self._pull.get("since", 0) == since
        self._facts = {**where, "fairmark": __version__, "first_pull": manifest.get("first_pull") or now()}
        if not self.goes_on:
            kept = {name: self._pull.get(name, []) for name in ("incomplete", "going")}
            begun: dict[str, Any] = {"started_at": now(), "finished_at": None, "since": since}
            self._pull = {**begun, "lists": {}, "evals_done": 0, "gone": [], **kept}
        self._asked = self._written = 0
        self._lock = asyncio.Lock()
        self.problems: dict[tuple[str, str], dict[str, Any]] = {}
        if self.goes_on:
            self._recall_problems()
        else:
            archive.path(PROBLEMS).unlink(missing_ok=True)

    def _recall_problems(self) -> None:
        for line in self.archive.lines(PROBLEMS):
            try:
                problem = jsontext.decode(line)
                self.problems[problem["kind"], problem["id"]] = problem
            except (ValueError, TypeError, KeyError):
                continue  # the last line of a process that was killed

    # Cursors

    @property
    def lists(self) -> dict[str, dict[str, Any]]:
        """How far each list is that is not at its end, by its name."""
        lists: dict[str, dict[str, Any]] = self._pull["lists"]
        return lists

    def ids(self, name: str) -> list[str]:
        """A list of ids that outlasts a pull: `incomplete` lists, `going` jobs, `gone` evals."""
        ids: list[str] = self._pull[name]
        return ids

    def mark(self, name: str, id_: str, *, is_on: bool) -> None:
        ids = self.ids(name)
        if is_on and id_ not in ids:
            ids.append(id_)
        elif not is_on and id_ in ids:
            ids.remove(id_)

    @property
    def evals_done(self) -> int:
        """How many evals, from the first on, have all their runs here."""
        done: int = self._pull["evals_done"]
        return done

    @evals_done.setter
    def evals_done(self, count: int) -> None:
        self._pull["evals_done"] = count

    def part(self, name: str) -> Path:
        """Where a list or a file is until it is whole."""
        return self.archive.folder / PARTS / quote(name, safe="")

    async def save(self) -> None:
        """What is known so far is on disk when this returns. Raises PullStopped where there is no room."""
        self._asked += 1
        mine = self._asked
        async with self._lock:
            if self._written >= mine:
                return
            serving = self._asked
            content = self._content()
            await on_disk(self.archive.write, MANIFEST, content)
            self._written = serving

    def save_now(self) -> None:
        """The same without an event loop, at the beginning and at the end."""
        with stopped_by_disk():
            self.archive.write(MANIFEST, self._content())

    def _content(self) -> bytes:
        return self.archive.manifest_content({**self._facts, "pull": self._pull})

    def finish(self) -> None:
        """All that was asked for has been read, but for the problems."""
        self._pull.update(finished_at=now(), lists={}, evals_done=0, gone=[])
        shutil.rmtree(self.archive.folder / PARTS, ignore_errors=True)

    # Problems

    def problem(self, kind: str, id_: str, why: str, **more: Any) -> None:
        """One line about what could not be read. Told again it is still one."""
        problem = {"kind": kind, "id": id_, "why": why, **more, "at": now()}
        is_new = (kind, id_) not in self.problems
        self.problems[kind, id_] = problem
        if is_new:
            with stopped_by_disk(), self.archive.path(PROBLEMS).open("ab") as file:
                file.write(jsontext.encode(problem) + b"\n")

    def solved(self, kind: str, id_: str) -> None:
        self.problems.pop((kind, id_), None)

    def write_problems(self) -> None:
        with stopped_by_disk():
            if self.problems:
                lines = [jsontext.encode(problem) + b"\n" for problem in self.problems.values()]
                self.archive.write(PROBLEMS, b"".join(lines))
            else:
                self.archive.path(PROBLEMS).unlink(missing_ok=True)

    # Room

    def check_room(self) -> None:
        """Raises PullStopped where the disk is nearly full."""
        free = shutil.disk_usage(self.archive.folder).free
        if free < self._least_free_bytes:
            raise PullStopped(
                f"{self.archive.folder}: {free / 1e9:.1f} GB are free, and {self._least_free_bytes / 1e9:.1f} GB are "
                "left to others. Free some, or move the folder to another disk."
            )


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """The only puller of this archive among all processes. Raises InvalidArchive."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InvalidArchive(f"{folder}: another process is reading into it. Wait for it, or end it.") from None
        yield
    finally:
        os.close(descriptor)
