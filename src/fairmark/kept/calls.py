"""Kept runs in Python: `runs`, `find_run` and `compare` give what `fairmark runs list`, `show` and `compare` print.

They work where a loop runs already, as in notebooks: everything happens on a loop of their own.
"""

import asyncio
import dataclasses
import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

from fairmark.data import journal
from fairmark.data.comparing import MOST_RUNS
from fairmark.data.comparison import Comparison, compare_sides
from fairmark.errors import InvalidData
from fairmark.fragments import MOST_ROWS
from fairmark.kept.found import KeptRun, KeptRuns, RunsOnServer, RunSource, StoredRuns, find
from fairmark.kept.sides import read_files, read_sides
from fairmark.kept.summary import not_passed
from fairmark.registry.lookup import LOCAL_PROJECT
from fairmark.settings import settings
from fairmark.work import eventloop

T = TypeVar("T")


def runs(
    *,
    eval: str = "",  # noqa: A002  # the command's word
    name: str | None = None,
    limit: int = 20,
    server: str = "",
    api_key: str | None = None,
    project: str = LOCAL_PROJECT,
    db: str | None = None,
) -> KeptRuns:
    """Runs, the newest first: of the eval of this name or id, of this name.

    Those that `fairmark eval` kept on this machine, and those of a server on the same database; with `server` those of
    one elsewhere, with `api_key` or FAIRMARK_API_KEY. Raises InvalidData, StoreUnavailable or ServerFailed.
    """
    if limit < 1:
        raise InvalidData(f"limit: found {limit}. It takes a whole number, 1 or more.")

    async def listed(place: RunSource) -> KeptRuns:
        return KeptRuns(await place.runs(limit, eval, name))

    return eventloop.run(_with_place(listed, server, api_key, project, db))


def find_run(
    run: str,
    *,
    eval: str = "",  # noqa: A002
    server: str = "",
    api_key: str | None = None,
    project: str = LOCAL_PROJECT,
    db: str | None = None,
) -> KeptRun:
    """One run: by its id or the first digits of it, its name (the last completed one), or "last". Raises as `runs`."""

    async def shown(place: RunSource) -> KeptRun:
        found = await find(place, run, eval)
        columns, missed = await place.columns(found), await not_passed(place, found, MOST_ROWS)
        return dataclasses.replace(found, columns=columns, not_passed=missed)

    return eventloop.run(_with_place(shown, server, api_key, project, db))


def compare(
    *runs: str | KeptRun,
    server: str = "",
    api_key: str | None = None,
    project: str = LOCAL_PROJECT,
    db: str | None = None,
) -> Comparison:
    """From two to six runs, or results files of `fairmark eval`, with the first of them. Raises as `runs` does."""
    names = [run.id if isinstance(run, KeptRun) else run for run in runs]
    if not 2 <= len(names) <= MOST_RUNS:
        raise InvalidData(f"found {len(names)} runs. From 2 to {MOST_RUNS} can be compared.")
    sides = read_files(names)
    if sides is None:
        reading = _with_place(lambda place: read_sides(place, names), server, api_key, project, db)
        sides = eventloop.run(reading)
    return compare_sides(sides)


async def _with_place(
    work: Callable[[RunSource], Awaitable[T]], server: str, api_key: str | None, project: str, db: str | None
) -> T:
    if server:
        from fairmark.client.remote import RemoteBackend
        from fairmark.client.runs import ServedRuns

        try:
            remote = RemoteBackend(server, api_key or os.environ.get("FAIRMARK_API_KEY") or None)
        except ValueError as error:
            raise InvalidData(f"server: {error}") from None
        return await work(RunsOnServer(ServedRuns(remote)))
    try:
        from fairmark.evals.journals import take_in
        from fairmark.store import Store
        from fairmark.store.access.keys import check_project
    except ModuleNotFoundError as error:
        raise InvalidData(f"Kept runs need {error.name}: pip install 'fairmark[server]'") from None
    check_project(project)
    folder, url = settings().data_folder, db or settings().db
    makes = await asyncio.to_thread(journal.has_some_for, folder, url)
    store = await Store.open(url or None, folder, exclusive=False, makes=makes)
    try:
        await take_in(store, folder, url)
        return await work(StoredRuns(store, project))
    finally:
        await store.close()
