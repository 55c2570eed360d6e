"""fairmark runs compare: up to six runs, or results files, side by side."""

from pathlib import Path
from typing import Annotated

import typer

from fairmark import jsontext
from fairmark.cli.runs.opening import Project, Server, with_place
from fairmark.cli.shared.database import Db
from fairmark.cli.shared.exits import EXIT_BELOW
from fairmark.data.comparing import MOST_RUNS, in_words
from fairmark.data.comparison import compare_sides
from fairmark.data.comparison_forms import FORMS, Form, write
from fairmark.data.outfile import refuse_input, write_whole
from fairmark.errors import InvalidData
from fairmark.kept.sides import is_file, read_files, read_sides

_ENDINGS: dict[str, Form] = {".md": "markdown", ".json": "json", ".xml": "junit", ".html": "html", ".htm": "html"}


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN RUN...",
            help="Ids or the first digits of them, names (their last run), last, or results files. The baseline first.",
        ),
    ],
    form: Annotated[
        str | None,
        typer.Option(metavar="FORM", help=f"{', '.join(FORMS)}; without it as --output ends, or a table."),
    ] = None,
    output: Annotated[str | None, typer.Option("--output", "-o", metavar="FILE", help="Write it to a file.")] = None,
    fail_if_worse: Annotated[
        bool, typer.Option("--fail-if-worse", help="Exit 1 if a run is worse than the first, as its rows show.")
    ] = False,
    server: Server = "",
    project: Project = "default",
    db: Db = None,
) -> None:
    """Compare up to six runs with the first of them, criterion by criterion: how far apart they are, how sure that is,
    and which rows flipped.

    [bold]Example[/bold]

      fairmark runs compare main last

    Exit status: 0 compared, 1 worse with --fail-if-worse, 2 something is wrong with the request, 3 the server or the
    database cannot be used now.
    """
    if not 2 <= len(runs) <= MOST_RUNS:
        raise InvalidData(f"found {len(runs)} runs. From 2 to {MOST_RUNS} can be compared.")
    chosen = _form(form, output)
    if output is not None:
        refuse_input(output, [name for name in runs if is_file(name)])
    sides = read_files(runs)
    if sides is None:
        sides = with_place(server, project, db, lambda place: read_sides(place, runs))
    comparison = compare_sides(sides)
    text = write(comparison, chosen)
    if output is None:
        typer.echo(text)
    else:
        try:
            write_whole(output, f"{text}\n".encode())
        except OSError as error:
            raise InvalidData.unusable(output, error) from None
    if fail_if_worse and comparison.worse:
        for name, criterion, compared in comparison.worse:
            typer.echo(f"{criterion.name}: {name} is {in_words(compared)}", err=True)
        raise typer.Exit(EXIT_BELOW)


def _form(form: str | None, output: str | None) -> Form:
    for known in FORMS:
        if form == known:
            return known
    if form is not None:
        raise InvalidData(f"--form: found {jsontext.quote(form)}. Use one of: {', '.join(FORMS)}.")
    return _ENDINGS.get(Path(output or "").suffix.lower(), "table")
