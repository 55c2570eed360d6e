"""fairmark import load: an archive into the store."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fairmark.cli.moving import moved
from fairmark.cli.shared import exits
from fairmark.cli.shared.database import Db, checked_project, with_store

if TYPE_CHECKING:
    from fairmark.moving.archive import Archive
    from fairmark.moving.load import LoadReport
    from fairmark.store import Store

OnClash = Annotated[
    Literal["skip", "replace", "copy"],
    typer.Option("--on-clash", help="What becomes of something whose id is taken by something else."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count what would be loaded.")]
Project = Annotated[str, typer.Option(help="Where it goes: projects do not see each other.")]


def command(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="An archive: a folder with manifest.json in it.")],
    on_clash: OnClash = "skip",
    dry_run: DryRun = False,
    project: Project = "default",
    db: Db = None,
) -> None:
    """Load an archive into the store: ids, times, statuses and counts stay as they were.

    Loading again adds what is new and writes again what has changed. It works beside a running server.

    [bold]Example[/bold]

      fairmark import load my-archive

    Exit status: 0 everything, 2 no archive or a bad option, 3 loaded with problems, or the database cannot be used now.
    """
    from pathlib import Path

    from fairmark.moving.archive import Archive

    archive = Archive.open(Path(folder))
    report = moved.with_progress(lambda progress: load_archive(archive, on_clash, dry_run, project, db, progress))
    for line in report.lines():
        typer.echo(line)
    if not report.is_whole:
        raise typer.Exit(exits.EXIT_UNGRADED)


def load_archive(
    archive: "Archive",
    on_clash: Literal["skip", "replace", "copy"],
    dry_run: bool,
    project: str,
    db: str | None,
    progress: moved.Progress,
) -> "LoadReport":
    from fairmark.moving.load import load

    async def work(store: "Store") -> "LoadReport":
        return await load(
            archive, store, checked_project(project), on_clash=on_clash, dry_run=dry_run, progress=progress
        )

    return with_store(db, work, makes=True)
