"""fairmark serve: the HTTP server."""

from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from fairmark.cli.shared.engines import ACTORS_HELP, ADDRESS_HELP, ENGINE_HELP, EngineName, read_machines
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
    processes: Annotated[
        int, typer.Option(metavar="N", min=1, max=64, help="How many processes answer requests, on one port.")
    ] = 1,
    engine: Annotated[
        EngineName | None, typer.Option(metavar="ENGINE", help=f"Who grades the rows of runs. {ENGINE_HELP}")
    ] = None,
    address: Annotated[str | None, typer.Option(metavar="HOST:PORT", help=ADDRESS_HELP)] = None,
    actors: Annotated[int | None, typer.Option(metavar="N", min=1, max=10_000, help=ACTORS_HELP)] = None,
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
        from fairmark.server.supervisor import serve_together
    except ModuleNotFoundError as error:
        raise InvalidData(f"The server needs {error.name}: pip install 'fairmark[server]'") from None
    configuration = settings() if db is None else replace(settings(), db=db)
    if engine is not None or address is not None or actors is not None:
        chosen = read_machines(engine or EngineName(configuration.engine), address, actors)
        configuration = replace(
            configuration,
            engine="ray" if chosen.engine else "local",
            ray_address=chosen.address if address is not None else configuration.ray_address,
            ray_actors=chosen.actors or configuration.ray_actors,
        )
    # Ray ends whoever is connected to it together with its head: somebody has to be left who begins anew.
    if processes == 1 and configuration.engine != "ray":
        serve(host, port, configuration, log_level.value, typer.echo)
    else:
        serve_together(host, port, processes, configuration, log_level.value, typer.echo)
