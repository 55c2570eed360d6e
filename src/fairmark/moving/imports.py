"""Imports that a server does: a hosted service, an archive or a file of another tool, into the project that asks.

One at a time of a project, so many in all. A pull has a thread and an event loop of its own, because it writes to disk
as it reads; what is loaded goes through the server's store like everything else. How far it is stands in the store.
Whatever ends the server, what was read is kept, and whoever continues the import goes on from there.
"""

import asyncio
import contextlib
import logging
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from fairmark.errors import FairmarkError, InvalidData, StoreUnavailable
from fairmark.failures import in_words
from fairmark.moving.archive import Archive
from fairmark.moving.files.converting import convert
from fairmark.moving.files.drafts import Accepted
from fairmark.moving.files.known import copies_of, known_since
from fairmark.moving.import_reports import file_report, stored
from fairmark.moving.import_requests import ImportRequest, folder_of
from fairmark.moving.load import LoadReport, load
from fairmark.moving.pull import Pulled, pull
from fairmark.moving.pull.service import HostedService
from fairmark.moving.pull.tally import PullTally
from fairmark.moving.report import MovingReport, report_of
from fairmark.refusals import invalid
from fairmark.store import Import, Store
from fairmark.store.imports import ImportStatus
from fairmark.work.aloof import Aloof

AT_ONCE = 2
"""How many imports of all projects are under way; the others wait their turn."""
LONGEST_S = 24 * 3600.0
NOTE_EVERY_S = 1.0
LOOK_EVERY_S = 30.0
"""How often imports are looked for whose server is gone."""

log = logging.getLogger("fairmark.imports")


class ImportEngine:
    """Does the imports of a server. Lives on its event loop."""

    def __init__(self, store: Store, home: Path, works: bool = True, tell: Callable[[str], None] | None = None) -> None:
        """`works`: whether this process of the server does them; otherwise it tells the one that does. `tell` is for
        several processes on one SQLite file."""
        self._works = works
        self._tell = tell
        self._news = asyncio.Event()
        self._store = store
        self._home = home
        self._places = asyncio.Semaphore(AT_ONCE)
        self._threads = ThreadPoolExecutor(AT_ONCE, "import")
        self._working: dict[str, asyncio.Task[None]] = {}
        self._keeper: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._keeper = asyncio.create_task(self._keep())

    async def stop(self) -> None:
        """What is under way is interrupted, and may be continued on the next start."""
        tasks = [*self._working.values(), *([self._keeper] if self._keeper is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def begin(self, import_: Import) -> None:
        """One that the store has queued for us."""
        if self._works:
            self._begin(import_)
        else:
            await self._store.imports.release(import_)
            if self._tell is not None:
                self._tell("new import")

    def wake(self) -> None:
        """Another process has queued one."""
        self._news.set()

    async def interrupt_lost(self) -> None:
        """Says of those whose server is gone that they were interrupted, where this process can know."""
        if self._works:
            await self._store.imports.interrupt_lost()

    def _begin(self, import_: Import) -> None:
        task = asyncio.create_task(_ImportWork(self._store, self._home, self._threads, import_).do(self._places))
        self._working[import_.id] = task
        task.add_done_callback(lambda _: self._working.pop(import_.id, None))

    async def cancel(self, import_: Import) -> None:
        """Nothing more is read or loaded; what was stays."""
        await self._store.imports.cancel(import_)
        task = self._working.get(import_.id)
        if task is not None:
            task.cancel()
            await asyncio.wait([task], timeout=10)

    def folder(self, project: str) -> Path:
        return folder_of(self._home, project)

    async def _keep(self) -> None:
        while True:
            self._news.clear()
            try:
                for queued in await self._store.imports.take_queued() if self._tell is not None else ():
                    self._begin(queued)
                await self._store.imports.interrupt_lost()
            except StoreUnavailable as error:
                log.warning("imports cannot be looked for: %s", error)
            except Exception:
                log.exception("imports could not be looked for")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY_S):
                    await self._news.wait()


class _ImportWork:
    """One import, from its turn to its end."""

    def __init__(self, store: Store, home: Path, threads: ThreadPoolExecutor, import_: Import) -> None:
        self._store = store
        self._threads = threads
        self._import = import_
        self._request = ImportRequest.read(import_.request)
        self._folder = folder_of(home, import_.project)
        self._archive = Archive(self._folder / self._request.archive)
        self._progress: dict[str, Any] = {"stage": "waiting"}
        self._tally: PullTally | None = None
        self._report: MovingReport | None = None

    async def do(self, places: asyncio.Semaphore) -> None:
        status: ImportStatus = "interrupted"
        error: str | None = "The server was stopped. What was read is kept: continue it."
        try:
            async with places, self._noting():
                error = await self._work()
                status = "completed" if error is None else "interrupted"
        except (FairmarkError, OSError) as failure:
            is_passing = isinstance(failure, StoreUnavailable) or not isinstance(failure, FairmarkError)
            status, error = ("interrupted" if is_passing else "failed"), self._words(failure)
        except Exception as failure:
            log.exception("%s could not be done", self._import.id)
            status, error = "failed", in_words(failure)
        finally:
            with contextlib.suppress(StoreUnavailable):
                await asyncio.shield(self._end(status, error))

    async def _end(self, status: ImportStatus, error: str | None) -> None:
        report = None if self._report is None else await asyncio.to_thread(stored, self._report, self._request)
        if self._request.source == "file" and status != "interrupted":  # who continues needs it
            # Before the end is told: from then on nobody would look for it, were the server killed in between.
            await asyncio.to_thread(shutil.rmtree, self._upload.parent, ignore_errors=True)
        try:
            await self._store.imports.end(self._import, status, self._progress, report, error)
        finally:
            await self._store.imports.release(self._import)

    def _words(self, failure: Exception) -> str:
        """Without the folders of the server, which are nobody's business."""
        text = str(failure) if isinstance(failure, FairmarkError) else in_words(failure)
        return text.replace(f"{self._upload.parent}/", "").replace(f"{self._folder}/", "")

    @contextlib.asynccontextmanager
    async def _noting(self) -> Any:
        """Has the store know how far it is, and ends the work where somebody has cancelled it elsewhere."""
        work = asyncio.current_task()

        async def note() -> None:
            noted: dict[str, Any] | None = None
            while True:
                if self._tally is not None:
                    self._progress = self._tally.dump()
                if noted != self._progress:
                    noted = dict(self._progress)
                    with contextlib.suppress(StoreUnavailable):
                        if not await self._store.imports.note(self._import, noted) and work is not None:
                            work.cancel()
                            return
                await asyncio.sleep(NOTE_EVERY_S)

        noting = asyncio.create_task(note())
        try:
            yield
        finally:
            noting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await noting

    async def _work(self) -> str | None:
        """Why it ended early; None where it did not. Raises FairmarkError or OSError."""
        if self._request.source == "file":
            self._report = await self._convert_and_load()
            return None
        if self._request.source != "archive":
            pulled = await self._pull()
            self._progress, self._tally = pulled.tally.dump(), None
            if pulled.stopped is not None:
                if self._archive.manifest():
                    self._report = await asyncio.to_thread(report_of, self._archive)
                return pulled.stopped
        archive = await asyncio.to_thread(Archive.open, self._archive.folder)
        self._progress = {**self._progress, "stage": "reading the archive"}
        report = await asyncio.to_thread(report_of, archive)
        self._report = report
        _add(report, await self._load(archive))
        return None

    async def _pull(self) -> Pulled:
        key = os.environ.get(self._request.key_env or "", "").strip()
        if not key or not key.isascii() or not key.isprintable():
            raise InvalidData(f"key_env: the server's environment has no key in {self._request.key_env}.")
        await asyncio.to_thread(self._folder.mkdir, parents=True, exist_ok=True)
        door = self._request.door()

        async def work() -> Pulled:
            service = HostedService(door, key, os.environ)
            try:
                return await pull(
                    self._archive,
                    service,
                    only=self._request.only,
                    since=self._request.since,
                    deadline_s=LONGEST_S,
                    watch=self._watch,
                )
            finally:
                await service.close()

        return await Aloof(self._threads).run(work)

    def _watch(self, tally: PullTally) -> None:
        """In the pull's thread. Its counts are looked at when they are noted."""
        self._tally = tally

    async def _load(self, archive: Archive) -> LoadReport:
        def tell(kind: str, done: int) -> None:
            loaded = {**self._progress.get("loaded", {}), kind: done}
            self._progress = {**self._progress, "stage": "loading", "loaded": loaded}

        self._progress = {**self._progress, "stage": "loading"}
        copies = copies_of(self._folder, archive) if self._request.source == "file" else None
        return await load(
            archive,
            self._store,
            self._import.project,
            on_clash=self._request.on_clash,
            progress=tell,
            copies_in=copies,
        )

    # Files

    @property
    def _upload(self) -> Path:
        return upload_path(self._folder, self._import.id, self._request.file or "file")

    async def _convert_and_load(self) -> MovingReport:
        if not await asyncio.to_thread(self._upload.exists):
            raise invalid("the file is not here any more. Upload it again.")
        archive = Archive(self._upload.parent / "archive")
        self._progress = {"stage": "converting"}
        accept = Accepted(self._request.judge) if self._request.accept_drafts else None
        make = partial(convert, self._upload, archive, self._request.name, accept=accept)
        converted = await asyncio.to_thread(make)
        known = await known_since(self._store, self._import.project, archive)
        if known is not None:
            await asyncio.to_thread(make, created_at=known)
        report = file_report(await asyncio.to_thread(report_of, archive), converted, self._request.file or "file")
        self._report = report
        _add(report, await self._load(archive))
        return report


def upload_path(folder: Path, import_id: str, filename: str) -> Path:
    """Where an uploaded file lies until it is loaded. Its name comes from anybody."""
    kept = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "._-") else "_" for sign in filename)
    return folder / f"{import_id}.upload" / f"_{kept[-100:]}"[0 if kept.startswith(".") or not kept else 1 :]


def _add(report: MovingReport, loaded: LoadReport) -> None:
    report.loaded = dict(loaded.counts())
    report.notes += loaded.remarks()
