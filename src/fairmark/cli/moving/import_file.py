"""fairmark import file: move in what another tool has written."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fairmark import jsontext
from fairmark.cli.shared import exits
from fairmark.cli.shared.database import Db, checked_project, with_store
from fairmark.errors import InvalidData

if TYPE_CHECKING:
    from fairmark.moving.archive import Archive
    from fairmark.moving.files.drafts import Accepted
    from fairmark.moving.files.notes import FileReport
    from fairmark.store import Store

_STARTS_SHOWN = 3


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What was written elsewhere; - is not read.")],
    name: Annotated[str | None, typer.Option(help="What the eval is called; without it, as the file.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would come, and write nothing.")] = False,
    on_clash: Annotated[
        Literal["skip", "replace", "copy"], typer.Option("--on-clash", help="When an id is taken by something else.")
    ] = "skip",
    accept_drafts: Annotated[
        bool, typer.Option("--accept-drafts", help="Drafts are criteria like all others. Read them before.")
    ] = False,
    judge: Annotated[
        str | None, typer.Option(metavar="MODEL", help="With --accept-drafts: who judges where a draft names nobody.")
    ] = None,
    archive: Annotated[
        Path | None,
        typer.Option("--archive", metavar="DIR", help="Write the archive to this folder, and load nothing."),
    ] = None,
    project: Annotated[str, typer.Option(help="Where it goes: projects do not see each other.")] = "default",
    db: Db = None,
) -> None:
    """Move in what another tool has written, and say of every part whether it came as it was.

    FILE is a dashboard export of OpenAI's evals, objects of the API, a config or results of promptfoo, the registry of
    openai/evals (a YAML file, or the folder), or rows of Langfuse, LangSmith or Braintrust. What is in it tells which.

    [bold]Example[/bold]

      fairmark import file promptfooconfig.yaml --dry-run

    Exit status: 0 everything there is, 2 nothing can be made of it, 3 parts of it could not be read or loaded.
    """
    from fairmark.moving.archive import Archive
    from fairmark.moving.files.drafts import Accepted
    from fairmark.moving.files.writing import UnkeptArchive

    if judge is not None and not accept_drafts:
        raise typer.BadParameter("it is for --accept-drafts, which is missing.", param_hint="--judge")
    checked_project(project)
    accept = Accepted(judge) if accept_drafts else None
    if dry_run:
        report = _convert(file, UnkeptArchive(), name, accept)
        _show(report, wrote=None)
    elif archive is not None:
        _check_folder(archive)
        report = _convert(file, Archive(archive), name, accept)
        _show(report, wrote=archive)
    else:
        report = _load(file, name, accept, on_clash, project, db)
    if report.has_problems:
        raise typer.Exit(exits.EXIT_UNGRADED)


def _convert(
    file: Path, archive: "Archive", name: str | None, accept: "Accepted | None", created_at: int | None = None
) -> "FileReport":
    from fairmark.moving.files.converting import convert

    try:
        return convert(file, archive, name, created_at, accept)
    except OSError as error:
        raise InvalidData.unusable(str(error.filename or archive.folder), error) from None


def _check_folder(folder: Path) -> None:
    """Raises InvalidData where something is there already: two archives do not go into one folder."""
    if folder.exists() and not folder.is_dir():
        raise InvalidData(f"{folder}: it is no folder.")
    if folder.is_dir() and any(folder.iterdir()):
        raise InvalidData(f"{folder}: there is something in it already. Name a new folder.")


def _show(report: "FileReport", wrote: Path | None) -> None:
    for line in report.lines():
        typer.echo(line)
    if wrote is None:
        typer.echo("nothing was written: this was a dry run")
        return
    if report.starts:
        typer.echo(f"{len(report.starts)} runs can be started: {wrote}/report.md has their requests")
    typer.echo(f"wrote {wrote}. Load it: fairmark import load {wrote}")


def _show_starts(report: "FileReport") -> None:
    for eval_id, body in report.starts[:_STARTS_SHOWN]:
        typer.echo(f"to start a run: POST /v1/evals/{eval_id}/runs {jsontext.write(body)}")
    more = len(report.starts) - _STARTS_SHOWN
    if more > 0:
        typer.echo(f"and {more} more runs: --archive DIR writes the requests of all of them")


def _load(
    file: Path, name: str | None, accept: "Accepted | None", on_clash: Any, project: str, db: str | None
) -> "FileReport":
    """By way of an archive in a folder that is gone afterwards."""
    from fairmark.moving.archive import Archive
    from fairmark.moving.files.known import copies_of, known_since
    from fairmark.moving.load import load
    from fairmark.settings import settings

    with tempfile.TemporaryDirectory(prefix="fairmark-import-") as folder:
        made = Archive(Path(folder) / "archive")
        report = _convert(file, made, name, accept)

        async def work(store: "Store") -> Any:
            known = await known_since(store, project, made)
            if known is not None:  # the same file as before, copied or downloaded anew: it is as old as it was
                _convert(file, made, name, accept, known)
            copies = copies_of(settings().data_folder, made)
            return await load(made, store, project, on_clash=on_clash, copies_in=copies)

        loaded = with_store(db, work, makes=True)
    for line in [*report.lines(), *loaded.lines()]:
        typer.echo(line)
    _show_starts(report)
    if loaded.problems or any(clash.done == "skipped" for clash in loaded.clashes):
        raise typer.Exit(exits.EXIT_UNGRADED)
    return report
