"""The command line: decode, call the library, encode. Results on stdout, everything else on stderr."""

import os
import sys

import typer

from fairmark.cli.commands import CommandTable, ReaderGone
from fairmark.cli.shared.exits import EXIT_INTERNAL, EXIT_INTERRUPTED, EXIT_INVALID, EXIT_UNGRADED
from fairmark.errors import FairmarkError, NotNow

app = typer.Typer(
    name="fairmark",
    cls=CommandTable,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from fairmark import __version__

        typer.echo(f"fairmark {__version__}")
        raise typer.Exit


@app.callback()
def _fairmark(
    version: bool = typer.Option(False, "--version", "-V", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Grade what language models say, with the grader JSON you already have."""


def main() -> None:
    """The `fairmark` command. No traceback reaches the user unless FAIRMARK_DEBUG is set."""
    try:
        app()
    except FairmarkError as error:
        typer.echo(str(error), err=True)
        sys.exit(EXIT_UNGRADED if isinstance(error, NotNow) else EXIT_INVALID)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except ReaderGone:
        # Nothing may be written when Python closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_INTERRUPTED)
    except Exception as error:
        if os.environ.get("FAIRMARK_DEBUG"):
            raise
        typer.echo(f"internal error: {type(error).__name__}: {error}", err=True)
        typer.echo("This is a bug in Fairmark. FAIRMARK_DEBUG=1 shows where it happened.", err=True)
        sys.exit(EXIT_INTERNAL)
