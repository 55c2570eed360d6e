"""Reading a hosted service into an archive, so that the archive alone is enough from then on.

Killed at any moment and started again it goes on; read again it takes only what is new or has changed. Two pulls of the
same things are equal byte for byte, however often they were broken off.
"""

import asyncio
import contextlib
import shutil
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fairmark.errors import InvalidArchive, PullStopped
from fairmark.moving.archive import MANIFEST, Archive
from fairmark.moving.pull.completions import pull_completions
from fairmark.moving.pull.evals import pull_evals
from fairmark.moving.pull.files import pull_files, pull_job_files
from fairmark.moving.pull.jobs import pull_jobs
from fairmark.moving.pull.journal import PullJournal, alone
from fairmark.moving.pull.models import pull_models
from fairmark.moving.pull.reader import SectionReader
from fairmark.moving.pull.responses import pull_responses
from fairmark.moving.pull.service import HostedService
from fairmark.moving.pull.tally import PullTally

SECTIONS = ("evals", "files", "jobs", "completions", "responses")
LEAST_FREE_BYTES = 2_000_000_000


@dataclass
class Pulled:
    """How a pull ended."""

    tally: PullTally
    problems: list[dict[str, Any]]
    stopped: str | None = None
    """Why it ended early; the same call goes on."""


async def pull(
    archive: Archive,
    service: HostedService,
    *,
    only: Iterable[str] = SECTIONS,
    since: float = 0,
    response_ids: Sequence[str] = (),
    deadline_s: float | None = None,
    watch: Callable[[PullTally], None] | None = None,
    least_free_bytes: int = LEAST_FREE_BYTES,
) -> Pulled:
    """Reads what `only` names. Whatever ends it, the archive is in order, and the same call goes on.

    Raises KeyRefused where the service does not take the key at all, InvalidArchive where the folder is the archive of
    another service or somebody else is at work in it.
    """
    was_there, was_empty = archive.folder.exists(), _make_folder(archive)
    tally = PullTally(watch)
    service.on_wait = tally.waits
    with alone(archive.folder):
        journal = PullJournal(archive, service.door, least_free_bytes, since)
        reader = SectionReader(archive, service, journal, tally, since)
        stopped: str | None = None
        try:
            journal.check_room()
            if was_empty:
                journal.save_now()  # whoever is killed from here on leaves an archive
            async with asyncio.timeout(deadline_s):
                for section in _sections(reader, set(only), response_ids):
                    await section()
            journal.finish()
        except PullStopped as reason:
            stopped = str(reason)
        except TimeoutError:
            stopped = f"it took longer than {deadline_s:g} s."
        finally:
            if service.is_let_in:
                _leave_in_order(journal)
            elif was_empty:
                archive.path(MANIFEST).unlink(missing_ok=True)
                if not was_there:
                    shutil.rmtree(archive.folder, ignore_errors=True)
    return Pulled(tally, list(journal.problems.values()), stopped)


def _make_folder(archive: Archive) -> bool:
    """Whether there is nothing in it yet. Raises InvalidArchive where there is something that is no archive."""
    try:
        archive.folder.mkdir(parents=True, exist_ok=True)
        is_empty = archive.is_empty()
    except OSError as error:
        raise InvalidArchive(f"{archive.folder}: {(error.strerror or str(error)).lower()}.") from None
    if not is_empty and not archive.manifest():
        raise InvalidArchive(f"{archive.folder}: it is no archive, and not empty. Name another folder with --archive.")
    return is_empty


def _leave_in_order(journal: PullJournal) -> None:
    with contextlib.suppress(PullStopped):  # a full disk: what was saved before is in order
        journal.write_problems()
        journal.save_now()


def _sections(
    reader: SectionReader, wanted: set[str], response_ids: Sequence[str]
) -> list[Callable[[], Awaitable[None]]]:
    """In the order of moving out: what ends first is read first."""
    work: dict[str, list[Callable[[], Awaitable[None]]]] = {
        "evals": [lambda: pull_evals(reader), lambda: pull_models(reader)],
        "files": [lambda: pull_files(reader)],
        "jobs": [lambda: pull_jobs(reader), lambda: pull_job_files(reader)],
        "completions": [lambda: pull_completions(reader)],
        "responses": [lambda: pull_responses(reader, response_ids)],
    }
    return [step for section in SECTIONS if section in wanted for step in work[section]]
