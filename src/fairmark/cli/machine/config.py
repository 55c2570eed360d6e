"""fairmark config: what the settings are, and where each comes from."""

import os
from pathlib import Path
from typing import Annotated

import typer

from fairmark import jsontext
from fairmark.cli.shared.tables import show_table
from fairmark.settings import FILE, Origin, origins, unknown_variables

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Show every setting: what it is, and where that comes from.",
)


@app.callback()
def group() -> None:
    """Keeps `show` a command of its own."""


@app.command("show")
def show(as_json: Annotated[bool, typer.Option("--json", help="Print them as JSON.")] = False) -> None:
    """Show every setting with its value and where that comes from: the default, fairmark.toml or the environment.

    Keys and passwords are not shown. Variables that begin with FAIRMARK_ and that nobody reads are told.

    [bold]Example[/bold]

      fairmark config show

    Exit status: 0 shown, 2 a value that cannot be, with what is allowed.
    """
    file = Path(FILE)
    told, unknown = origins(file, os.environ), unknown_variables(os.environ)
    if as_json:
        typer.echo(
            jsontext.encode_pretty(
                {
                    "file": str(file.absolute()) if file.is_file() else None,
                    "settings": [origin._asdict() for origin in told],
                    "unknown": unknown,
                }
            )
        )
    else:
        show_table(
            ("SETTING", "VALUE", "FROM"), [(origin.name, _shown(origin), origin.place or "default") for origin in told]
        )
        if not file.is_file():
            typer.echo(f"\nThere is no {file.absolute()}.")
    for line in unknown:
        typer.echo(f"warning: {line}", err=True)


def _shown(origin: Origin) -> str:
    if isinstance(origin.value, list):
        return ", ".join(origin.value)
    return "-" if origin.value in ("", None) else str(origin.value)
