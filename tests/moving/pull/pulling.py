"""Pulls of the double, with patience for tests."""

import asyncio
import dataclasses
from pathlib import Path
from typing import Any

from fairmark.moving.archive import NOT_COMPARED, Archive
from fairmark.moving.pull import Pulled, pull
from fairmark.moving.pull.door import Door, openai_door
from fairmark.moving.pull.service import HostedService, PullPatience
from tests.hosted import Hosted

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


def impatient(**limits: Any) -> PullPatience:
    return dataclasses.replace(PATIENCE, **limits)
