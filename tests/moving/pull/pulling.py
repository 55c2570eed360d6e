"""Pulls of the double, with patience for tests."""

import asyncio
import dataclasses
import functools
import tempfile
from pathlib import Path
from typing import Any

from fairmark.moving.archive import NOT_COMPARED, Archive
from fairmark.moving.pull import SECTIONS, Pulled, pull
from fairmark.moving.pull.door import Door, openai_door
from fairmark.moving.pull.service import HostedService, PullPatience
from tests.hosted import Hosted, Size, World, hosting

PATIENCE = PullPatience(first_pause_s=0.001, longest_pause_s=0.004, attempt_s=10.0)


def pulled(
    hosted: Hosted, folder: Path, door: Door | None = None, patience: PullPatience = PATIENCE, **options: Any
) -> Pulled:
    """A pull of the double into the folder."""

    async def work() -> Pulled:
        service = HostedService(door or openai_door(hosted.base_url), hosted.key, patience=patience)
        try:
            return await pull(Archive(folder), service, **options)
        finally:
            await service.close()

    return asyncio.run(work())


def contents(folder: Path) -> dict[str, bytes]:
    """Everything in which two archives of the same things are equal."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    names = {str(path.relative_to(folder)): path for path in paths}
    return {name: path.read_bytes() for name, path in sorted(names.items()) if name not in NOT_COMPARED}


@functools.cache
def undisturbed(size: Size | None = None, *only: str) -> dict[str, bytes]:
    """What is in an archive of a world of that size, which nothing has disturbed: of all of it, or of some sections."""
    with hosting(World(size)) as hosted, tempfile.TemporaryDirectory() as folder:
        pulled(hosted, Path(folder, "undisturbed"), only=only or SECTIONS)
        return contents(Path(folder, "undisturbed"))


def impatient(**limits: Any) -> PullPatience:
    return dataclasses.replace(PATIENCE, **limits)
