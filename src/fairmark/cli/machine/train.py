"""fairmark train: reinforcement jobs, trained on this machine."""

import os
import signal
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from fairmark.errors import InvalidData
from fairmark.settings import settings

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Train reinforcement jobs of a server on this machine, and serve the models that come of them.",
)
NEEDED = ("torch", "trl", "transformers", "datasets", "accelerate")


@app.callback()
def group() -> None:
    """Keeps `worker` a command of its own."""


@app.command("worker")
def worker(
    model: Annotated[
        list[str], typer.Option(metavar="NAME=DIR", help="A model that jobs name, and its folder; may be repeated.")
    ],
    server: Annotated[str, typer.Option(metavar="URL", help="The Fairmark server.")] = "http://127.0.0.1:8000",
    home: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where checkpoints and trained models go.", show_default=False)
    ] = None,
    serve: Annotated[
        str | None, typer.Option(metavar="[HOST:]PORT", help="Serve the trained models there, in OpenAI's API.")
    ] = None,
    serve_with: Annotated[str, typer.Option(metavar="NAME", help="transformers or vllm.")] = "transformers",
    max_completion_length: Annotated[int, typer.Option(metavar="N", min=1, help="Tokens of an answer.")] = 1024,
    checkpoint_every: Annotated[int, typer.Option(metavar="N", min=1, help="Steps between checkpoints.")] = 10,
    grpo: Annotated[
        str, typer.Option(metavar="JSON", help="More arguments of TRL's GRPOConfig, or @FILE.", show_default=False)
    ] = "{}",
    ignore_tools: Annotated[
        bool, typer.Option("--ignore-tools", help="Train rows with tools although the model is offered none.")
    ] = False,
    lease: Annotated[
        int, typer.Option(metavar="SECONDS", min=2, max=3600, help="A job goes to another worker after such a silence.")
    ] = 60,
    patience: Annotated[
        float, typer.Option(metavar="SECONDS", min=1, help="How long training goes on while the server is away.")
    ] = 3600,
    silence: Annotated[float, typer.Option(metavar="SECONDS", min=10, help="The longest that a step may take.")] = 3600,
    once: Annotated[bool, typer.Option("--once", help="End after one job.")] = False,
) -> None:
    """Take reinforcement jobs of a server, train them with TRL's GRPO, and tell how it goes.

    FAIRMARK_API_KEY is the key of the server: jobs of its project are trained. A signal (Ctrl-C) ends the step, saves
    a checkpoint and gives the job back.

    [bold]Example[/bold]

      fairmark train worker --server https://fairmark.example.org --model small=models/small --serve 8200

    Exit status: 0 stopped, 2 a bad option, a folder without a model, or a key that is not let in.
    """
    from fairmark.training.attendance import WorkerTerms
    from fairmark.training.door import JobDoor
    from fairmark.training.modelserver import ModelServer, read_place
    from fairmark.training.offers import read_offers
    from fairmark.training.plan import TrainingOptions, read_more
    from fairmark.training.worker import Worker, new_name

    offers = read_offers(model)
    more = read_more(_text(grpo))
    if serve_with not in ("transformers", "vllm"):
        raise InvalidData(f"--serve-with: found {serve_with}. Use transformers or vllm.")
    lacking = [name for name in NEEDED if find_spec(name) is None]
    if lacking:
        raise InvalidData(f"The worker needs {', '.join(lacking)}: pip install 'fairmark[train]'")
    place = (home or settings().data_folder / "training").resolve()
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidData.unusable(str(place), error) from None
    try:
        door = JobDoor(server, os.environ.get("FAIRMARK_API_KEY") or None)
    except ValueError as error:
        raise InvalidData(f"--server: {error}") from None
    options = TrainingOptions(max_completion_length, checkpoint_every, more, ignore_tools)
    terms = WorkerTerms(place, offers, options, lease_s=lease, patience_s=patience, silence_s=silence)
    models = None
    if serve is not None:
        models = ModelServer("vllm" if serve_with == "vllm" else "transformers", read_place(serve), place, _say)
    at_work = Worker(door, terms, new_name(), _say, models)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: at_work.stopping.set())
    if models is not None:
        models.start()
    _say(f"Training {', '.join(offers)} for {server}, in {place}.")
    try:
        at_work.work(once=once)
    finally:
        if models is not None:
            models.stop()


def _text(given: str) -> str:
    if not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise InvalidData(f"{given[1:]}: {error}") from None


def _say(text: str) -> None:
    typer.echo(text, err=True)
