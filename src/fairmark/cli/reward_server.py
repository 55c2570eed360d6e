"""fairmark reward-server: graders as a reward server for trainers."""

import os
from typing import Annotated

import typer

from fairmark.cli.inputs import read_grader
from fairmark.errors import InvalidData
from fairmark.settings import settings


def command(
    grader: Annotated[
        list[str], typer.Option(metavar="GRADER", help="A grader's JSON file, or key:NAME; may be repeated.")
    ],
    host: Annotated[str, typer.Option(metavar="HOST", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="0 takes any free one.")] = 8100,
) -> None:
    """Serve graders as a reward server: Adaptive's contract, and OpenRLHF's remote reward model beside it.

    A single grader answers at /score, /batch_score, /info, /metadata_schema and /get_reward; several do so each below
    its own name. FAIRMARK_REWARD_KEY is the key that clients must send; addresses that others can reach need one.

    [bold]Example[/bold]

      fairmark reward-server --grader examples/exact.json --port 8100

    Exit status: 0 stopped by a signal, 2 a bad grader, or it cannot start.
    """
    graders = [read_grader(each) for each in grader]
    try:
        from fairmark.rewardserver.serve import serve
    except ModuleNotFoundError as error:
        raise InvalidData(f"The reward server needs {error.name}: pip install 'fairmark[server]'") from None
    serve(graders, host, port, os.environ.get("FAIRMARK_REWARD_KEY") or None, settings(), typer.echo)
