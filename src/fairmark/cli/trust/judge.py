"""fairmark judge: can a judge be trusted?"""

import typer

from fairmark.cli.trust import checking, comparing, series

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Say whether a judge can be trusted: against people, and against itself.",
)
app.command("check")(checking.command)
app.command("compare")(comparing.compare)
app.command("calibrate")(comparing.calibrate)
app.command("rate")(series.rate)
app.command("hacking")(series.hacking)
