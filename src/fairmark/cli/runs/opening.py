"""Where the commands find runs: in a store, with what `fairmark eval` left on this machine taken in, or on a server."""

import os
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.console import Console

from fairmark.cli.shared.database import checked_project, with_store
from fairmark.cli.shared.progress import RowProgress
from fairmark.data import journal
from fairmark.errors import InvalidData
from fairmark.kept.found import RunsOnServer, RunSource, StoredRuns
from fairmark.settings import settings

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from fairmark.client.remote import RemoteBackend
    from fairmark.store import Store

Result = TypeVar("Result")
Server = Annotated[
    str, typer.Option("--server", metavar="URL", help="Ask this server, with the key in FAIRMARK_API_KEY.")
]
Project = Annotated[str, typer.Option(help="Without --server: whose runs they are.")]


def with_place(server: str, project: str, db: str | None, work: "Callable[[RunSource], Awaitable[Result]]") -> Result:
    if server:
        from fairmark.client.runs import ServedRuns
        from fairmark.work import eventloop

        async def asked() -> Result:
            return await work(RunsOnServer(ServedRuns(remote_of(server))))

        return eventloop.run(asked())

    async def looked(store: "Store") -> Result:
        return await work(StoredRuns(store, checked_project(project)))

    return with_runs(db, looked)


def remote_of(server: str) -> "RemoteBackend":
    from fairmark.client.remote import RemoteBackend

    try:
        return RemoteBackend(server, os.environ.get("FAIRMARK_API_KEY") or None)
    except ValueError as error:
        raise InvalidData(f"--server: {error}") from None


def with_runs(db: str | None, work: "Callable[[Store], Awaitable[Result]]", home: "Path | None" = None) -> Result:
    """`with_store`, after the runs that are still in journals were taken in; a bar shows what takes long."""
    folder = home or settings().data_folder

    async def taken_in(store: "Store") -> Result:
        from fairmark.evals.journals import take_in

        with RowProgress(Console(stderr=True)) as progress:
            taken: dict[str, int] = {}

            def told(run_id: str, rows: int) -> None:
                taken[run_id] = rows
                progress.update(sum(taken.values()), None)

            await take_in(store, folder, db or settings().db, told)
        return await work(store)

    return with_store(db, taken_in, makes=journal.has_some_for(folder, db or settings().db))
