"""fairmark import: move in what was made elsewhere."""

import typer

from fairmark.cli.moving import import_file, import_hosted, import_load

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Move in evals, runs, results and files that were made elsewhere.",
)
app.command("openai")(import_hosted.openai)
app.command("azure")(import_hosted.azure)
app.command("file")(import_file.command)
app.command("load")(import_load.command)
