"""fairmark graders: the registry, and packs of graders to keep in git."""

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairmark import jsontext
from fairmark.cli.shared import inputs
from fairmark.cli.shared.database import Db, checked_project, with_store
from fairmark.cli.shared.tables import show_table
from fairmark.data.outfile import write_whole
from fairmark.errors import DuplicateKey, InvalidData, InvalidGrader, LockedGrader, Problem
from fairmark.text.moment import time_text

if TYPE_CHECKING:
    from fairmark.checks.standing import Standing
    from fairmark.store import Grader, Store

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="List, lock and delete registered graders; export them to a file and import them from one.",
)

_HEADINGS = ("KEY", "VERSION", "TYPE", "NAME", "LOCKED", "CHANGED", "JUDGE")

Key = Annotated[str, typer.Argument(metavar="KEY", help="As `fairmark graders list` shows it.")]
Project = Annotated[str, typer.Option(help="Whose graders: projects do not see each other's.")]


@app.command("list")
def list_(project: Project = "default", db: Db = None) -> None:
    """List the registered graders, by key.

    [bold]Example[/bold]

      fairmark graders list
    """
    graders = with_store(db, lambda store: _with_standings(store, project))
    show_table(
        _HEADINGS,
        [
            (
                grader.key,
                str(grader.version),
                grader.grader["type"],
                grader.name,
                "yes" if grader.locked else "-",
                time_text(grader.updated_at),
                "-" if standing is None else standing.grade,
            )
            for grader, standing in graders
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
        return await store.graders.get(checked_project(project), key, version)

    grader = with_store(db, work)
    if grader is None:
        raise _unknown(key, version)
    from fairmark.registry.keeping import record

    typer.echo(jsontext.encode_pretty(record(grader)))


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

    graders = {grader.key: grader for grader in with_store(db, lambda store: _all(store, project))}
    for key in keys or []:
        if key not in graders:
            raise _unknown(key)
    text = _stable(make_pack(graders[key] for key in sorted(set(keys or graders))))
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
        pack = jsontext.decode(inputs.read_bytes(file).removeprefix(b"\xef\xbb\xbf"))
    except jsontext.NotJson as error:
        raise InvalidData(f"{file}: not JSON: {error}.") from None
    if not isinstance(pack, dict):
        raise InvalidData(f"{file}: expected a pack, an object with graders; found {jsontext.describe(pack)}.")

    async def work(store: "Store") -> dict[str, str]:
        registration = Registration(store.graders, Registry(store.graders.find))
        return await registration.bring(checked_project(project), read_pack(pack), update=update)

    try:
        done = with_store(db, work, makes=True)
    except InvalidGrader as error:
        raise InvalidGrader([Problem(f"{file}: {problem.path}", *problem[1:]) for problem in error.problems]) from None
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
        return await store.graders.delete(checked_project(project), key)

    grader = with_store(db, work)
    if grader is None:
        raise _unknown(key)
    typer.echo(f"{grader.key}: deleted")


def _lock(key: str, locked: bool, project: str, db: str | None) -> None:
    async def work(store: "Store") -> "Grader | None":
        return await store.graders.update(checked_project(project), key, locked=locked)

    grader = with_store(db, work)
    if grader is None:
        raise _unknown(key)
    typer.echo(f"{grader.key}: {'locked' if locked else 'unlocked'}")


async def _with_standings(store: "Store", project: str) -> "list[tuple[Grader, Standing | None]]":
    """Each with how the last check of it as a judge went; None of those that ask no model."""
    from fairmark.checks.standing import of_graders
    from fairmark.registry.lookup import Registry

    graders = await _all(store, project)
    standings = await of_graders(store, Registry(store.graders.find), project, graders)
    return list(zip(graders, standings, strict=True))


async def _all(store: "Store", project: str) -> "list[Grader]":
    return list(await store.graders.all(checked_project(project)))


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
