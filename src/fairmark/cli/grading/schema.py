"""fairmark schema: the JSON Schemas of graders, for editors."""

from typing import Annotated

import typer

from fairmark import schema
from fairmark.jsontext import encode_pretty


def command(
    kind: Annotated[
        str | None, typer.Argument(metavar="[KIND]", help="One kind; without it, all of them in one schema.")
    ] = None,
) -> None:
    """Print the JSON Schema of graders, by which editors complete and check grader files.

    A grader file names it: {"$schema": "./grader.schema.json", "type": …}. Kinds of installed plugins are in it.

    [bold]Example[/bold]

      fairmark schema string_check

    Exit status: 0 printed, 2 there is no such kind.
    """
    typer.echo(encode_pretty(schema.published(kind)))
