"""fairmark keys: who may use the server."""

from typing import Annotated

import typer

from fairmark import jsontext
from fairmark.cli.shared import exits
from fairmark.cli.shared.database import Db, with_store
from fairmark.cli.shared.tables import show_table
from fairmark.text.moment import time_text

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Make, list and revoke the API keys of a server. They work beside a running one, at once.",
)

_HEADINGS = ("ID", "PROJECT", "NAME", "START", "CREATED", "REVOKED")


@app.command("create")
def create(
    project: Annotated[str, typer.Option(help="What the key opens: projects do not see each other.")] = "default",
    name: Annotated[str, typer.Option(help="A word to know the key by.")] = "",
    db: Db = None,
) -> None:
    """Make a key and print it. It is shown here and never again.

    [bold]Example[/bold]

      fairmark keys create --name laptop

    Exit status: 0 made, 2 a bad option or database, 3 the database cannot be used now.
    """
    typer.echo(with_store(db, lambda store: store.keys.create(project, name), makes=True))


@app.command("list")
def list_(
    project: Annotated[str | None, typer.Option(help="Only the keys of this project.")] = None,
    db: Db = None,
) -> None:
    """List the keys: their first characters, never the whole.

    [bold]Example[/bold]

      fairmark keys list
    """
    keys = with_store(db, lambda store: store.keys.list(project))
    show_table(
        _HEADINGS,
        [
            (key.id, key.project, key.name, f"{key.start}…", time_text(key.created_at), time_text(key.revoked_at))
            for key in keys
        ],
    )


@app.command("revoke")
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="As `fairmark keys list` shows it.")],
    db: Db = None,
) -> None:
    """Make a key useless, for good.

    [bold]Example[/bold]

      fairmark keys revoke key_5f0c1d2e3a4b5c6d

    Exit status: 0 revoked, 2 no such key or a bad database, 3 the database cannot be used now.
    """
    if not with_store(db, lambda store: store.keys.revoke(key_id)):
        typer.echo(f"there is no key {jsontext.quote(key_id)}. List them: fairmark keys list", err=True)
        raise typer.Exit(exits.EXIT_INVALID)
    typer.echo(f"{key_id}: revoked")
