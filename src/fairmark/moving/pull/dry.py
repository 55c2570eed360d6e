"""How much there is at a hosted service, without anything being written."""

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping

from fairmark.errors import CannotRead
from fairmark.moving.pull.evals import total_of
from fairmark.moving.pull.files import PURPOSES
from fairmark.moving.pull.files import SIZES as FILE_SIZES
from fairmark.moving.pull.pages import ListedObject, in_path
from fairmark.moving.pull.reader import ASC
from fairmark.moving.pull.service import SIZES, HostedService, Pace


class DryCount:
    """What a pull would read. `items` are those that the runs say they have."""

    def __init__(self) -> None:
        self.objects: Counter[str] = Counter()
        self.file_bytes = 0
        self.problems: list[str] = []


async def count(service: HostedService, only: Iterable[str], since: float = 0) -> DryCount:
    """Only lists are read. Raises KeyRefused and PullStopped."""
    counted, wanted = DryCount(), set(only)
    if "evals" in wanted:
        async for entry in _walk(service, counted, "evals"):
            counted.objects["evals"] += 1
            async for run in _walk(service, counted, f"evals/{in_path(entry.id)}/runs"):
                if run.head.time >= since:
                    counted.objects["runs"] += 1
                    counted.objects["items"] += total_of(run.head)
    if "files" in wanted:
        async for file in _walk(service, counted, "files", sizes=FILE_SIZES):
            if file.head.purpose in PURPOSES and file.head.time >= since:
                counted.objects["files"] += 1
                counted.file_bytes += file.head.bytes if isinstance(file.head.bytes, int) else 0
    for section, path, query in (("jobs", "fine_tuning/jobs", {}), ("completions", "chat/completions", ASC)):
        if section in wanted:
            async for entry in _walk(service, counted, path, query):
                counted.objects[section] += entry.head.time >= since
    return counted


async def _walk(
    service: HostedService,
    counted: DryCount,
    path: str,
    query: Mapping[str, str] = ASC,
    sizes: tuple[int, ...] = SIZES,
) -> AsyncIterator[ListedObject]:
    after, pace = None, Pace(sizes)
    while True:
        try:
            page = await service.page(path, query, after, pace)
        except CannotRead as error:
            counted.problems.append(f"{path}: {error}")
            return
        for entry in page.objects:
            yield entry
        if not page.has_more or page.objects[-1].id == after:
            return
        after = page.objects[-1].id
