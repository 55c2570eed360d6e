"""fairmark runs: the group of commands about runs."""

import typer

from fairmark.cli.runs.comparing import compare
from fairmark.cli.runs.listing import delete, export, list_runs, show
from fairmark.cli.runs.regrading import regrade

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="List, show, compare, regrade, export and delete runs: of fairmark eval, and of a server.",
)


@app.callback()
def _runs() -> None:
    """List, show, compare, regrade, export and delete runs: of fairmark eval, and of a server."""


app.command("list")(list_runs)
app.command("show")(show)
app.command("compare")(compare)
app.command("regrade")(regrade)
app.command("export")(export)
app.command("delete")(delete)
