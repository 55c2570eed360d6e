"""fairmark grade: one sample, one result."""

from typing import Annotated, Any

import typer

from fairmark import run
from fairmark.cli.shared import exits, inputs
from fairmark.jsontext import encode_pretty

HELP = f"""Grade one sample and print the result as JSON.

GRADER is a JSON file, - for standard input, the JSON itself, or key:NAME for a registered grader.

[bold]Example[/bold]

  fairmark grade examples/exact.json --sample Paris --item '{{"answer": "Paris"}}'

{exits.HELP}
"""


def command(
    grader: Annotated[str, typer.Argument(metavar="GRADER", help="The grader.")],
    sample: Annotated[str | None, typer.Option(metavar="TEXT", help="Model output to grade; @FILE reads it.")] = None,
    sample_json: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="The same as an object, such as a chat completion; @FILE reads it."),
    ] = None,
    item: Annotated[str, typer.Option(metavar="JSON", help="Row behind {{ item.* }}; @FILE reads it.")] = "{}",
) -> None:
    spec = inputs.read_grader(grader)
    model_sample: Any = None if sample is None else inputs.read_text(sample)
    if sample_json is not None:
        model_sample = inputs.read_json("--sample-json", sample_json, (dict, list))
    result = run.grade(spec, model_sample, inputs.read_object("--item", item))
    typer.echo(encode_pretty(result.model_dump()))
    for warning in result.warnings:
        typer.echo(f"warning: {warning}", err=True)
    if result.error is not None:
        typer.echo(f"{result.name}: {result.error}", err=True)
        raise typer.Exit(exits.EXIT_UNGRADED)
    if result.passed is False:
        raise typer.Exit(exits.EXIT_BELOW)


command.__doc__ = HELP
