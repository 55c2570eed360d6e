"""fairmark serve: the HTTP server."""

from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from fairmark.errors import InvalidData
from fairmark.settings import settings


class Level(StrEnum):
    """How much is logged."""

    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"


def command(
    host: Annotated[str, typer.Option(metavar="HOST", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="0 takes any free one.")] = 8000,
    db: Annotated[
        str | None,
        typer.Option(metavar="URL", help="sqlite:///FILE or postgresql://…; else FAIRMARK_DB, else a file at home."),
    ] = None,
    log_level: Annotated[
        Level, typer.Option(metavar="LEVEL", help="debug, info, warning or error; debug logs every request.")
    ] = Level.info,
) -> None:
    """Serve OpenAI's API for graders, evals and files.

    Clients change their base URL to http://HOST:PORT/v1 and keep their code. Without any key in the database the server
    is open to this machine; on every other address it wants keys: fairmark keys create.

    [bold]Example[/bold]

      fairmark serve --port 8000

    Exit status: 0 stopped by a signal, 2 it cannot start.
    """
    try:
        from fairmark.server.serve import serve
    except ModuleNotFoundError as error:
        raise InvalidData(f"The server needs {error.name}: pip install 'fairmark[server]'") from None
    given = settings()
    serve(host, port, given if db is None else replace(given, db=db), log_level.value, typer.echo)
