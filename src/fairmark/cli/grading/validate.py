"""fairmark validate: every problem of a grader, without running it."""

from typing import Annotated

import typer

from fairmark import readiness
from fairmark.cli.shared import inputs
from fairmark.jsontext import encode_pretty


def command(grader: Annotated[str, typer.Argument(metavar="GRADER", help="The grader.")]) -> None:
    """Check a grader and print it in its normalised form. Nothing is run.

    GRADER is a JSON file, - for standard input, the JSON itself, or key:NAME for a registered grader. Every problem is
    told, with its place.

    [bold]Example[/bold]

      fairmark validate examples/combined.json

    Exit status: 0 valid, 2 not valid.
    """
    checked = readiness.validate(inputs.read_grader(grader))
    for warning in checked.warnings:
        typer.echo(f"warning: {warning}", err=True)
    typer.echo(encode_pretty(checked.grader))
