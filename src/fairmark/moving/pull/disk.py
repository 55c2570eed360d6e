"""What waits for the disk, away from the event loop, and what becomes of a disk that takes nothing more."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import TypeVar

from fairmark.errors import InvalidArchive, PullStopped
from fairmark.moving.pull.pages import Unreadable

T = TypeVar("T")


@contextlib.contextmanager
def stopped_by_disk() -> Iterator[None]:
    """A disk that takes nothing more ends the pull in good order."""
    try:
        yield
    except OSError as error:
        raise PullStopped(f"{error.filename or 'the archive'}: {(error.strerror or str(error)).lower()}.") from None


async def on_disk(work: Callable[..., T], *arguments: object) -> T:
    """In a thread, to its end also where nobody waits any more: two never write the same file.

    Raises PullStopped where there is no room, InvalidArchive where what was there cannot be read.
    """
    loop = asyncio.get_running_loop()
    future = loop.run_in_executor(None, work, *arguments)
    try:
        with stopped_by_disk():
            return await asyncio.shield(future)
    except asyncio.CancelledError:
        if not future.done():
            await asyncio.wait([future])
        future.exception()  # nobody asks for it any more
        raise
    except Unreadable as error:
        raise InvalidArchive(f"a list of the archive was changed by hand: {error}.") from None
