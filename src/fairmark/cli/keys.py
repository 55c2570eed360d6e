"""fairmark keys: who may use the server."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from fairmark import jsontext
from fairmark.cli import exits
from fairmark.errors import InvalidData
from fairmark.settings import settings

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fairmark.store import Store

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Make, list and revoke the API keys of a server. They work beside a running one, at once.",
)

_HEADINGS = ("ID", "PROJECT", "NAME", "START", "CREATED", "REVOKED")

Result = TypeVar("Result")
Db = Annotated[
    str | None,
    typer.Option("--db", metavar="URL", help="The server's database: sqlite:///… or postgresql://…; as FAIRMARK_DB."),
]


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
    typer.echo(_with_store(db, lambda store: store.keys.create(project, name)))


@app.command("list")
def list_(
    project: Annotated[str | None, typer.Option(help="Only the keys of this project.")] = None,
    db: Db = None,
) -> None:
    """List the keys: their first characters, never the whole.

    [bold]Example[/bold]

      fairmark keys list
    """
    found = _with_store(db, lambda store: store.keys.list(project))
    lines = [
        (key.id, key.project, _shown(key.name), f"{key.start}…", _time(key.created_at), _time(key.revoked_at))
        for key in found
    ]
    widths = [max(map(len, column)) for column in zip(_HEADINGS, *lines, strict=True)]
    for line in (_HEADINGS, *lines):
        typer.echo("  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip())


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
    if not _with_store(db, lambda store: store.keys.revoke(key_id)):
        typer.echo(f"there is no key {jsontext.quote(key_id)}. List them: fairmark keys list", err=True)
        raise typer.Exit(exits.EXIT_INVALID)
    typer.echo(f"{key_id}: revoked")


def _with_store(db: str | None, work: "Callable[[Store], Awaitable[Result]]") -> Result:
    try:
        from fairmark.store import Store, StoreUnavailable
    except ModuleNotFoundError as error:
        raise InvalidData(f"The server's keys need {error.name}: pip install 'fairmark[server]'") from None

    import asyncio

    async def opened() -> Result:
        store = await Store.open(db or settings().db or None, settings().data_folder, exclusive=False)
        try:
            return await work(store)
        finally:
            await store.close()

    try:
        return asyncio.run(opened())
    except StoreUnavailable as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(exits.EXIT_UNGRADED) from None


def _time(seconds: int | None) -> str:
    return "-" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _shown(name: str) -> str:
    """On one line, whatever it holds."""
    return name if name.isprintable() else jsontext.quote(name)
