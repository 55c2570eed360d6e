"""Files: those that runs name, those for evals and fine-tuning, those of jobs; and their contents.

What is for something else (assistants, batches) is left alone unless a run names it.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import IO, Any, NamedTuple

import msgspec

from fairmark import jsontext
from fairmark.errors import CannotRead
from fairmark.moving.archive import Archive, part_name
from fairmark.moving.pull.disk import on_disk, stopped_by_disk
from fairmark.moving.pull.listing import ListPart
from fairmark.moving.pull.pages import Head, ListedObject, Unreadable, in_path, is_id, read_object
from fairmark.moving.pull.reader import Listing, SectionReader
from fairmark.moving.pull.rebuilt import rebuild

FILES = "files.jsonl"
PURPOSES = ("evals", "fine-tune", "fine-tune-results")
SIZES = (10_000, 1_000, 100, 20, 5, 1)
SAME_SIZE = 3
"""So often has a file come whole and in another size than the service says: then it is the service that is wrong."""


class Named(NamedTuple):
    """A file that something names."""

    id: str
    by: tuple[str, ...]
    """The runs, or the jobs."""


async def pull_files(reader: SectionReader) -> None:
    """Runs are here already: the files they name come first."""
    reader.tally.at("files")
    named = await on_disk(named_by_runs, reader.archive)
    for file in [file for file in named.values() if not is_id(file.id)]:
        # Azure takes addresses of data sets in place of files.
        shown = jsontext.shorten(file.id.encode("utf-8", "replace").decode(), 200)
        reader.journal.problem("file", shown, "a run names it, and it is no id of a file.", named_by=list(file.by[:10]))
        del named[file.id]

    def keep(head: Head) -> bool:
        return head.id in named or (head.purpose in PURPOSES and reader.is_wanted(head))

    await reader.read_once(Listing("files", "files", FILES, "files", sizes=SIZES, keep=keep))
    lacking = await _learn(reader, named.values())
    lacking |= await _contents(reader, list(named))
    await _rebuild(reader, [named[id_] for id_ in named if id_ in lacking])


async def pull_job_files(reader: SectionReader) -> None:
    """Jobs are here: the files they name that nothing else has brought."""
    named = await on_disk(named_by_jobs, reader.archive)
    await _learn(reader, named.values())
    await _contents(reader, list(named), only=set(named))


async def _learn(reader: SectionReader, named: Iterable[Named]) -> set[str]:
    """What is known of files that no list showed: those of which nothing is."""
    known = await on_disk(_known, reader.archive)
    objects: dict[str, ListedObject] = {}
    absent: set[str] = set()

    async def one(file: Named) -> None:
        try:
            objects[file.id] = read_object(await reader.service.object(f"files/{in_path(file.id)}"))
        except (CannotRead, Unreadable) as error:
            reader.journal.problem("file", file.id, str(error), named_by=list(file.by[:10]))
            absent.add(file.id)

    await reader.each([file for file in named if file.id not in known], one)
    if objects:
        await on_disk(_append, reader, [objects[id_] for id_ in sorted(objects)])
        reader.tally.count("files", len(objects))
    return absent


def _append(reader: SectionReader, files: list[ListedObject]) -> None:
    part = ListPart(reader.journal.part("more files"))
    part.begin()
    part.add([file._replace(raw=file.raw.strip()) for file in files])
    part.settle(reader.archive, FILES)


async def _contents(reader: SectionReader, first: list[str], only: set[str] | None = None) -> set[str]:
    """Those that cannot be had."""
    known = await on_disk(_known, reader.archive)
    order = dict.fromkeys([id_ for id_ in first if id_ in known] + list(known))
    refused: set[str] = set()

    async def one(file: ListedObject) -> None:
        if not await _content(reader, file):
            refused.add(file.id)

    await reader.each([known[id_] for id_ in order if only is None or id_ in only], one)
    return refused


def _known(archive: Archive) -> dict[str, ListedObject]:
    """What the service says of its files. One that had to be rebuilt is asked for anew."""
    files = (read_object(line) for line in archive.lines(FILES))
    return {file.id: file for file in files if file.head.rebuilt is None}


async def _content(reader: SectionReader, file: ListedObject) -> bool:
    """Whether it is here."""
    journal, tally = reader.journal, reader.tally
    target = reader.archive.path(part_name("files", file.id))
    size = file.head.bytes if isinstance(file.head.bytes, int) else None
    if size is not None and await on_disk(_has_size, target, size):
        tally.same("contents")
        journal.solved("file", file.id)
        return True
    download = _Download(reader, file.id)
    try:
        length = await _whole(reader, file.id, download, size)
        await on_disk(download.publish, target)
    except CannotRead as error:
        journal.problem("file", file.id, str(error), purpose=file.head.purpose)
        return False
    finally:
        download.close()
    tally.count("contents", 1, length)
    if size is not None and length != size:
        why = f"the service says that it has {size:,} bytes, and {length:,} came, {SAME_SIZE} times. They are kept."
        journal.problem("file", file.id, why)
    else:
        journal.solved("file", file.id)
    return True


async def _whole(reader: SectionReader, id_: str, download: "_Download", size: int | None) -> int:
    """The content in the part file, and its length. Raises CannotRead."""
    lengths: list[int] = []
    while len(lengths) < reader.service.patience.tries:
        reader.journal.check_room()
        await reader.service.save(f"files/{in_path(id_)}/content", download.begin, size)
        lengths.append(await on_disk(download.end))
        if size is None or lengths[-1] == size or lengths.count(lengths[-1]) == SAME_SIZE:
            return lengths[-1]
    raise CannotRead(f"it has {size:,} bytes, and {', '.join(f'{length:,}' for length in lengths)} came.")


def _has_size(target: Any, size: int) -> bool:
    with suppress(FileNotFoundError):
        return bool(target.stat().st_size == size)
    return False


class _Download:
    """A content on its way to a part file."""

    def __init__(self, reader: SectionReader, id_: str) -> None:
        self._path = reader.journal.part(f"files/{id_}")
        self._check_room = reader.journal.check_room
        self._file: IO[bytes] | None = None
        self._checked = 0

    def begin(self) -> Callable[[bytes], None]:
        """From the first byte on."""
        self.close()
        with stopped_by_disk():
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("wb", buffering=0)
        self._checked = 0
        return self._take

    def _take(self, chunk: bytes) -> None:
        with stopped_by_disk():
            self._open.write(chunk)
            self._checked += len(chunk)
            if self._checked > 64 << 20:
                self._checked = 0
                self._check_room()

    def end(self) -> int:
        """How long it is, once it is on disk."""
        os.fsync(self._open.fileno())
        return self._open.tell()

    def publish(self, target: Any) -> None:
        self.close()
        target.parent.mkdir(parents=True, exist_ok=True)
        self._path.replace(target)

    @property
    def _open(self) -> IO[bytes]:
        if self._file is None:
            raise ValueError("nothing was begun")
        return self._file

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


async def _rebuild(reader: SectionReader, lacking: list[Named]) -> None:
    """Files that runs name and that the service does not give are made of the runs' output items."""

    def work() -> None:
        for file in lacking:
            reader.journal.check_room()
            mark = rebuild(reader.archive, file.id, file.by)
            problem = reader.journal.problems.get(("file", file.id))
            if mark and problem:
                problem["instead"] = mark

    if lacking:
        await on_disk(work)


# Who names them


class _Source(msgspec.Struct):
    type: Any = None
    id: Any = None


class _DataSource(msgspec.Struct):
    source: _Source | None = None


class _NamingRun(msgspec.Struct):
    data_source: _DataSource | None = None


def named_by_runs(archive: Archive) -> dict[str, Named]:
    """The files that are the rows of runs, in the order of the runs' ids."""
    naming: dict[str, list[str]] = {}
    for run_id in archive.ids("runs", ".json"):
        content = archive.read(part_name("runs", run_id, ".json")) or b"{}"
        file_id = _file_of(content)
        if file_id:
            naming.setdefault(file_id, []).append(run_id)
    return {id_: Named(id_, tuple(runs)) for id_, runs in naming.items()}


def _file_of(run: bytes) -> str | None:
    try:
        read = msgspec.json.decode(run, type=_NamingRun)
        source = read.data_source.source if read.data_source else None
        kind, id_ = (source.type, source.id) if source else (None, None)
    except (msgspec.MsgspecError, RecursionError):
        try:
            value = jsontext.decode(run)
        except jsontext.NotJson:
            return None
        data_source = value.get("data_source") if isinstance(value, dict) else None
        inner = data_source.get("source") if isinstance(data_source, dict) else None
        kind, id_ = (inner.get("type"), inner.get("id")) if isinstance(inner, dict) else (None, None)
    return id_ if kind == "file_id" and isinstance(id_, str) else None


def named_by_jobs(archive: Archive) -> dict[str, Named]:
    naming: dict[str, list[str]] = {}
    for line in archive.lines("jobs.jsonl"):
        job = jsontext.decode(line)
        if not isinstance(job, dict):
            continue
        results = job.get("result_files")
        names = [job.get("training_file"), job.get("validation_file"), *(results if isinstance(results, list) else [])]
        for id_ in names:
            if isinstance(id_, str) and is_id(id_):
                naming.setdefault(id_, []).append(str(job.get("id")))
    return {id_: Named(id_, tuple(jobs)) for id_, jobs in naming.items()}
