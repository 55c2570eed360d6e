"""fairmark reward-server: graders as a reward server for trainers."""

import os
from enum import StrEnum
from typing import Annotated

import typer

from fairmark.cli.shared.inputs import read_grader
from fairmark.errors import InvalidData
from fairmark.settings import settings


class OnError(StrEnum):
    ZERO = "zero"
    MASK = "mask"


def command(
    grader: Annotated[
        list[str], typer.Option(metavar="GRADER", help="A grader's JSON file, or key:NAME; may be repeated.")
    ],
    host: Annotated[str, typer.Option(metavar="HOST", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="0 takes any free one.")] = 8100,
    on_error: Annotated[
        OnError, typer.Option(help="The score that OpenRLHF gets of rows that could not be graded: 0, or NaN to mask.")
    ] = OnError.ZERO,
) -> None:
    """Serve graders as a reward server: for Adaptive, OpenRLHF, NeMo Gym and LLaMA-Factory.

    A single grader answers at /score, /batch_score, /info, /metadata_schema, /get_reward, /verify and /scores; several
    do so each below its own name. FAIRMARK_REWARD_KEY is the key that clients must send; addresses that others can
    reach need one.

    [bold]Example[/bold]

      fairmark reward-server --grader examples/exact.json --port 8100

    Exit status: 0 stopped by a signal, 2 a bad grader, or it cannot start.
    """
    graders = [read_grader(text) for text in grader]
    for spec in graders:
        for warning in spec.all_warnings:
            typer.echo(f"warning: {spec.name}: {warning}", err=True)
    try:
        from fairmark.rewardserver.serve import serve
    except ModuleNotFoundError as error:
        raise InvalidData(f"The reward server needs {error.name}: pip install 'fairmark[server]'") from None
    serve(graders, host, port, os.environ.get("FAIRMARK_REWARD_KEY") or None, settings(), typer.echo, on_error.value)
