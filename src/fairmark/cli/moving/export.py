"""fairmark export: everything of a project as an archive."""

from typing import TYPE_CHECKING, Annotated

import typer

from fairmark.cli.moving import moved
from fairmark.cli.shared.database import Db, checked_project, with_store

if TYPE_CHECKING:
    from fairmark.store import Store


def command(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A folder that is new, empty, or an earlier export.")],
    project: Annotated[str, typer.Option(help="Whose: projects do not see each other.")] = "default",
    db: Db = None,
) -> None:
    """Write everything of a project into a folder, from which a server can be filled again.

    Evals, runs, output items, files, registered graders: `fairmark import load` loads them. It works beside a running
    server.

    [bold]Example[/bold]

      fairmark export my-archive

    Exit status: 0 written, 2 a folder that holds something else, or cannot be written, 3 the database is away.
    """
    from pathlib import Path

    from fairmark.errors import InvalidArchive
    from fairmark.moving.export import export

    def write(progress: moved.Progress) -> dict[str, int]:
        async def work(store: "Store") -> dict[str, int]:
            return await export(store, checked_project(project), Path(folder), progress)

        return with_store(db, work)

    try:
        counts = moved.with_progress(write)
    except OSError as error:
        raise InvalidArchive(f"{folder}: {(error.strerror or str(error)).lower()}.") from None
    typer.echo(f"{folder}: {', '.join(f'{number} {kind}' for kind, number in counts.items()) or 'nothing to export'}")
