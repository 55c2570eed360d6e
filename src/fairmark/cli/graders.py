"""fairmark graders: the registry, and packs of graders to keep in git."""

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairmark import jsontext
from fairmark.cli import inputs
from fairmark.cli.database import Db, with_store
from fairmark.cli.tables import show_table, time_text
from fairmark.data.outfile import write_whole
from fairmark.errors import DuplicateKey, InvalidData, InvalidGrader, LockedGrader, Problem

if TYPE_CHECKING:
    from fairmark.store import Grader, Store

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="List, lock and delete registered graders; export them to a file and import them from one.",
)

_HEADINGS = ("KEY", "VERSION", "TYPE", "NAME", "LOCKED", "CHANGED")

Key = Annotated[str, typer.Argument(metavar="KEY", help="As `fairmark graders list` shows it.")]
Project = Annotated[str, typer.Option(help="Whose graders: projects do not see each other's.")]


@app.command("list")
def list_(project: Project = "default", db: Db = None) -> None:
    """List the registered graders, by key.

    [bold]Example[/bold]

      fairmark graders list
    """
    found = with_store(db, lambda store: _all(store, project))
    show_table(
        _HEADINGS,
        [
            (
                each.key,
                str(each.version),
                each.grader["type"],
                each.name,
                "yes" if each.locked else "-",
                time_text(each.updated_at),
            )
            for each in found
        ],
    )


@app.command("show")
def show(
    key: Key,
    version: Annotated[int | None, typer.Option(metavar="N", min=1, help="A version other than the newest.")] = None,
    project: Project = "default",
    db: Db = None,
) -> None:
    """Print a registered grader as JSON.

    [bold]Example[/bold]

      fairmark graders show exact-match

    Exit status: 0 shown, 2 no such grader or a bad option, 3 the database cannot be used now.
    """

    async def work(store: "Store") -> "Grader | None":
        return await store.graders.get(_checked(project), key, version)

    found = with_store(db, work)
    if found is None:
        raise _unknown(key, version)
    from fairmark.registry.keeping import record

    typer.echo(jsontext.encode_pretty(record(found)))


@app.command("export")
def export(
    keys: Annotated[list[str] | None, typer.Argument(metavar="[KEY]…", help="Only these; without any, all.")] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Write the pack there; - for stdout.")
    ] = "-",
    project: Project = "default",
    db: Db = None,
) -> None:
    """Write graders as a pack: one JSON file, the same for the same graders, for keeping them in git.

    [bold]Example[/bold]

      fairmark graders export

    Exit status: 0 written, 2 no such grader, or a file that cannot be written, 3 the database cannot be used now.
    """
    from fairmark.registry.packs import make_pack

    found = {each.key: each for each in with_store(db, lambda store: _all(store, project))}
    for key in keys or []:
        if key not in found:
            raise _unknown(key)
    text = _stable(make_pack(found[key] for key in sorted(set(keys or found))))
    if output == "-":
        sys.stdout.write(text)
        return
    try:
        write_whole(output, text.encode())
    except OSError as error:
        raise InvalidData.unusable(output, error) from None


@app.command("import")
def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A pack; - for standard input.")],
    update: Annotated[bool, typer.Option("--update", help="Graders that differ get a new version.")] = False,
    project: Project = "default",
    db: Db = None,
) -> None:
    """Register the graders of a pack: all of them, or none where something is wrong with one.

    Says of each whether it was created, updated or unchanged. Without --update, one that is there and differs is an
    error. Locked graders are never changed.

    [bold]Example[/bold]

      fairmark graders import examples/graders.json

    Exit status: 0 all are there, 2 nothing was imported, 3 the database cannot be used now.
    """
    from fairmark.errors import FunctionRefused
    from fairmark.registry.keeping import Registration
    from fairmark.registry.lookup import Registry
    from fairmark.registry.packs import read_pack

    try:
        given = jsontext.decode(inputs.read_bytes(file).removeprefix(b"\xef\xbb\xbf"))
    except jsontext.NotJson as error:
        raise InvalidData(f"{file}: not JSON: {error}.") from None
    if not isinstance(given, dict):
        raise InvalidData(f"{file}: expected a pack, an object with graders; found {jsontext.describe(given)}.")

    async def work(store: "Store") -> dict[str, str]:
        registration = Registration(store.graders, Registry(store.graders.find))
        return await registration.bring(_checked(project), read_pack(given), update=update)

    try:
        done = with_store(db, work)
    except InvalidGrader as error:
        raise InvalidGrader([Problem(f"{file}: {each.path}", *each[1:]) for each in error.problems]) from None
    except DuplicateKey as error:
        raise InvalidData(f"{file}: {error} --update gives those that differ a new version.") from None
    except (FunctionRefused, LockedGrader) as error:
        raise InvalidData(f"{file}: {error}") from None
    for key, what in done.items():
        typer.echo(f"{key}: {what}")


@app.command("lock")
def lock(key: Key, project: Project = "default", db: Db = None) -> None:
    """Keep a grader from being changed or deleted, by anybody, until it is unlocked.

    [bold]Example[/bold]

      fairmark graders lock exact-match

    Exit status: 0 locked, 2 no such grader or a bad option, 3 the database cannot be used now.
    """
    _lock(key, True, project, db)


@app.command("unlock")
def unlock(key: Key, project: Project = "default", db: Db = None) -> None:
    """Let a grader be changed and deleted again.

    [bold]Example[/bold]

      fairmark graders unlock exact-match

    Exit status: 0 unlocked, 2 no such grader or a bad option, 3 the database cannot be used now.
    """
    _lock(key, False, project, db)


@app.command("delete")
def delete(key: Key, project: Project = "default", db: Db = None) -> None:
    """Delete a grader with all its versions and the scores that were pushed for it. Runs under way go on.

    [bold]Example[/bold]

      fairmark graders delete exact-match

    Exit status: 0 deleted, 2 no such grader, or it is locked, 3 the database cannot be used now.
    """

    async def work(store: "Store") -> "Grader | None":
        return await store.graders.delete(_checked(project), key)

    found = with_store(db, work)
    if found is None:
        raise _unknown(key)
    typer.echo(f"{found.key}: deleted")


def _lock(key: str, locked: bool, project: str, db: str | None) -> None:
    async def work(store: "Store") -> "Grader | None":
        return await store.graders.update(_checked(project), key, locked=locked)

    found = with_store(db, work)
    if found is None:
        raise _unknown(key)
    typer.echo(f"{found.key}: {'locked' if locked else 'unlocked'}")


async def _all(store: "Store", project: str) -> "list[Grader]":
    return list(await store.graders.all(_checked(project)))


def _checked(project: str) -> str:
    """Raises InvalidProject."""
    from fairmark.store.keys import check_project

    check_project(project)
    return project


def _unknown(key: str, version: int | None = None) -> InvalidData:
    which = "" if version is None else f"version {version} of "
    return InvalidData(f"there is no {which}grader {jsontext.quote(key)}. List them: fairmark graders list")


def _stable(pack: dict[str, Any]) -> str:
    """Keys sorted, so that a change in the file is a change of a grader."""
    text = json.dumps(pack, indent=2, sort_keys=True, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half an emoji
        text = json.dumps(pack, indent=2, sort_keys=True)
    return text + "\n"
