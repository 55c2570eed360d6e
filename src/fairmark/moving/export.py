"""Everything of a project as an archive, from which another store, or this one, can be filled again.

What was made elsewhere is written as it was received, unless it was changed since; what was made here in the form that
the API gives it. The same store makes the same archive, byte for byte but for its manifest.
"""

import asyncio
import json
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

from fairmark import jsontext
from fairmark.errors import InvalidArchive
from fairmark.finetuning.job_calls import job_wire
from fairmark.moving.archive import Archive, part_name
from fairmark.moving.bodies import eval_body, file_body, run_body
from fairmark.moving.load import evals, files, graders, jobs, labels
from fairmark.moving.load.completions import CHATS, RESPONSES, Exchanges
from fairmark.registry.packs import make_pack
from fairmark.store import Eval, File, Page, Run, Store
from fairmark.store.completions import Chosen, StoredCompletion
from fairmark.store.jobs.jobs import Job

SOURCE = "fairmark"
_EVALS_A_PAGE = 100
_RUNS_A_PAGE = 5
"""A run may hold all its rows."""
_FILES_A_PAGE = 1_000
_ENTRIES_A_PAGE = 100

Progress = Callable[[str, int], None]
Counts = dict[str, int]
"""Of each kind, how many were written."""


async def export(store: Store, project: str, folder: Path, progress: Progress = lambda kind, done: None) -> Counts:
    """How many of each kind it holds now. Raises InvalidArchive for a folder that holds something else, OSError for one
    that cannot be written.

    An earlier export is written anew only by the project that it is of, and not by one that has nothing: whoever
    mistypes a project, or a database, must not lose what the folder keeps.
    """
    archive = _prepared(folder, project)
    writing = _Export(store, project, archive, progress)
    if _holds_anything(archive) and not await writing.has_anything():
        raise InvalidArchive(
            f"{folder}: it holds an earlier export, and project {jsontext.quote(project)} has nothing now. It stays as "
            "it is. Is it the right project and database? Else name another folder."
        )
    archive.save_manifest({"source": SOURCE, "project": project})  # whoever is killed now can export to it again
    await writing.graders()
    await writing.files()
    await writing.evals()
    await writing.completions()
    await writing.jobs()
    await asyncio.to_thread(archive.save_manifest, {"source": SOURCE, "project": project, "at": int(time.time())})
    return writing.counts


def _prepared(folder: Path, project: str) -> Archive:
    archive = Archive(folder)
    if folder.exists() and not folder.is_dir():
        raise InvalidArchive(f"{folder}: it is no folder.")
    if folder.exists() and any(folder.iterdir()):
        manifest = archive.manifest()
        if not manifest:
            raise InvalidArchive(f"{folder}: it is not empty, and no archive. Name another folder, or empty this one.")
        Archive.open(folder)
        if manifest.get("source") != SOURCE:
            source = jsontext.describe(manifest.get("source"))
            raise InvalidArchive(f"{folder}: it holds an archive of another source: {source}. Name another folder.")
        if manifest.get("project", project) != project:
            whose = jsontext.write(manifest["project"])
            raise InvalidArchive(f"{folder}: it holds an export of another project: {whose}. Name another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    return archive


def _holds_anything(archive: Archive) -> bool:
    lists = (evals.LIST, files.LIST, jobs.LIST, CHATS.list, RESPONSES.list)
    return archive.path(graders.PACK).exists() or any(line for name in lists for line in archive.lines(name))


class _Export:
    def __init__(self, store: Store, project: str, archive: Archive, progress: Progress) -> None:
        self._store = store
        self._project = project
        self._archive = archive
        self._progress = progress
        self._labelled: set[str] = set()
        self.counts: Counts = {}

    async def has_anything(self) -> bool:
        """Whether the project has anything that an archive holds."""
        store, project = self._store, self._project
        return bool(
            (await store.evals.list(project, 1, None)).data
            or (await store.files.list(project, None, 1, None, "asc")).data
            or (await store.jobs.list(project, 1, None)).data
            or list(await store.graders.all(project))
            or [
                these
                for these in (CHATS, RESPONSES)
                if (await store.completions.list(project, Chosen(these.kind), 1, None)).data
            ]
        )

    def _count(self, kind: str, number: int = 1) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + number
        self._progress(kind, self.counts[kind])

    async def graders(self) -> None:
        """As a pack: what they say now, without their earlier versions."""
        registered = list(await self._store.graders.all(self._project))
        if registered:
            text = json.dumps(make_pack(registered), indent=2, sort_keys=True)
            await asyncio.to_thread(self._archive.write, graders.PACK, f"{text}\n".encode())
            self._count("graders", len(registered))
        else:
            await asyncio.to_thread(self._archive.path(graders.PACK).unlink, missing_ok=True)

    async def files(self) -> None:
        uploaded = sorted([file async for file in self._all_files()], key=lambda file: (file.created_at, file.seq))
        for file in uploaded:
            await asyncio.to_thread(self._copy, file)
            self._count("files")
        await asyncio.to_thread(self._write_list, files.LIST, map(file_body, uploaded))
        await asyncio.to_thread(self._keep_only, "files", "", {file.id for file in uploaded})

    async def _all_files(self) -> AsyncIterator[File]:
        after = None
        while True:
            page = await self._store.files.list(self._project, None, _FILES_A_PAGE, after, "asc")
            for file in page.data:
                yield file
            if not page.has_more:
                return
            after = page.data[-1].id

    def _copy(self, file: File) -> None:
        source = self._store.files.content(file.id)
        with source.open("rb") as content, self._archive.writing(part_name("files", file.id)) as out:
            shutil.copyfileobj(content, out, 1_000_000)

    async def evals(self) -> None:
        dated: list[tuple[int, int, bytes]] = []
        runs: set[str] = set()
        async for eval_ in self._all_evals():
            dated.append((eval_.created_at, eval_.seq, eval_body(eval_)))
            async for run in self._all_runs(eval_):
                await self._run(run)
                runs.add(run.id)
            self._count("evals")
        bodies = [body for _, _, body in sorted(dated)]
        await asyncio.to_thread(self._write_list, evals.LIST, bodies)
        await asyncio.to_thread(self._keep_only, "runs", ".json", runs)
        await asyncio.to_thread(self._keep_only, "items", ".jsonl", runs)
        await asyncio.to_thread(self._keep_only, labels.FOLDER, ".jsonl", self._labelled)

    async def _all_evals(self) -> AsyncIterator[Eval]:
        after = None
        while True:
            page = await self._store.evals.list(self._project, _EVALS_A_PAGE, after)
            for eval_ in page.data:
                yield eval_
            if not page.has_more:
                return
            after = page.data[-1].id

    async def _all_runs(self, eval_: Eval) -> AsyncIterator[Run]:
        after = None
        while True:
            page = await self._store.runs.list(self._project, eval_.id, _RUNS_A_PAGE, after)
            for run in page.data:
                yield run
            if not page.has_more:
                return
            after = page.data[-1].id

    async def _run(self, run: Run) -> None:
        """With its items; of one that is being worked on, those that are there now."""
        name = part_name("items", run.id, ".jsonl")
        with self._archive.writing(name) as file:
            async for items in self._store.rows.stream(run):
                await asyncio.to_thread(_write_lines, file, [item.body for item in items])
                self._count("items", len(items))
        await asyncio.to_thread(self._archive.write, part_name("runs", run.id, ".json"), run_body(run))
        self._count("runs")
        await self._labels(run)

    async def _labels(self, run: Run) -> None:
        batches, said = await self._store.label_batches.of_run(run), await self._store.labels.of_run(run)
        if batches or said:
            name = part_name(labels.FOLDER, run.id, ".jsonl")
            await asyncio.to_thread(self._write_list, name, labels.bodies(batches, said))
            self._labelled.add(run.id)
            self._count("labels", len(said))

    async def jobs(self) -> None:
        """The newest first, as services list them, with their events and checkpoints."""
        dated: list[tuple[int, int, bytes]] = []
        written: set[str] = set()
        async for job in self._all_jobs():
            body = await self._store.jobs.received(job) or jsontext.encode(job_wire(job))
            dated.append((job.created_at, job.seq, body))
            for folder, page in (("events", self._store.jobs.events), ("checkpoints", self._store.jobs.checkpoints)):
                with self._archive.writing(part_name(folder, job.id, ".jsonl")) as file:
                    async for entries in _pages(partial(page, job, _ENTRIES_A_PAGE)):
                        await asyncio.to_thread(_write_lines, file, [entry.body for entry in entries])
            written.add(job.id)
            self._count("jobs")
        if dated:
            bodies = [body for _, _, body in sorted(dated, reverse=True)]
            await asyncio.to_thread(self._write_list, jobs.LIST, bodies)
        else:
            await asyncio.to_thread(self._archive.path(jobs.LIST).unlink, missing_ok=True)
        for folder in ("events", "checkpoints"):
            await asyncio.to_thread(self._keep_only, folder, ".jsonl", written)

    async def _all_jobs(self) -> AsyncIterator[Job]:
        async for page in _pages(partial(self._store.jobs.list, self._project, _ENTRIES_A_PAGE)):
            for job in page:
                yield job

    async def completions(self) -> None:
        """Chat completions and responses, in the order of their time, each with what was asked."""
        for these in (CHATS, RESPONSES):
            written: set[str] = set()
            with self._archive.writing(these.list) as file:
                async for one in self._all_completions(these):
                    asked = await self._store.completions.read_input(self._project, these.kind, one.id)
                    if asked is None:  # it has gone meanwhile
                        continue
                    name = part_name(these.folder, one.id, these.ending)
                    await asyncio.to_thread(self._archive.write, name, _asked_body(these, asked))
                    await asyncio.to_thread(_write_lines, file, [one.body])
                    written.add(one.id)
                    self._count(these.name)
            if not written:
                await asyncio.to_thread(self._archive.path(these.list).unlink, missing_ok=True)
            await asyncio.to_thread(self._keep_only, these.folder, these.ending, written)

    async def _all_completions(self, these: Exchanges) -> AsyncIterator[StoredCompletion]:
        after = None
        while True:
            page = await self._store.completions.list(self._project, Chosen(these.kind), _EVALS_A_PAGE, after)
            for one in page.data:
                yield one
            if not page.has_more:
                return
            after = page.data[-1].id

    def _write_list(self, name: str, bodies: Iterable[bytes]) -> None:
        with self._archive.writing(name) as file:
            _write_lines(file, bodies)

    def _keep_only(self, folder: str, ending: str, wanted: set[str]) -> None:
        """What an earlier export wrote and is there no longer."""
        for id_ in self._archive.ids(folder, ending):
            if id_ not in wanted:
                self._archive.path(part_name(folder, id_, ending)).unlink(missing_ok=True)


async def _pages(look: Callable[[str | None], Awaitable[Page[Any]]]) -> AsyncIterator[list[Any]]:
    """The pages of a list, one after the other."""
    after = None
    while True:
        page = await look(after)
        yield page.data
        if not page.has_more:
            return
        after = page.data[-1].id


def _asked_body(these: Exchanges, asked: Sequence[bytes]) -> bytes:
    parts = [bytes(part) for part in asked]
    return b"".join(part + b"\n" for part in parts) if these.ending == ".jsonl" else b"[" + b",".join(parts) + b"]"


def _write_lines(file: IO[bytes], bodies: Iterable[bytes]) -> None:
    file.writelines(body + b"\n" for body in bodies)
