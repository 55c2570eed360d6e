"""fairmark sandbox: the images whose packages python graders import."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console

from fairmark.cli.shared import exits
from fairmark.errors import BuildFailed, InvalidData
from fairmark.sandbox.catalogue import BASE_TAG, DEFAULT_TAG, KNOWN
from fairmark.sandbox.images import Image, Images
from fairmark.settings import settings

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Install, list and remove the images whose packages python graders import.",
)


@app.command("install")
def install(
    everything: Annotated[
        bool, typer.Option("--all", help=f"The whole image {DEFAULT_TAG}: minutes, and 1 GB of disk.")
    ] = False,
    image: Annotated[str | None, typer.Option(metavar="TAG", help="The image to install, by its tag.")] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Build it again even if it is there.")] = False,
) -> None:
    """Build an image: its packages in their pinned versions, and its nltk data.

    Without an option that is the image base: numpy, rapidfuzz, pydantic and other small ones, in seconds.

    [bold]Example[/bold]

      fairmark sandbox install

    Exit status: 0 installed, 1 installed without some of its packages, 2 no such image, 3 could not be built.
    """
    if image is not None and everything:
        raise InvalidData("--all and --image: use one of them.")
    tag = image or (DEFAULT_TAG if everything else BASE_TAG)
    images = Images(settings().data_folder)
    with _ending_cleanly(), _Steps() as steps:
        try:
            built = images.install(tag, steps.say, rebuild)
        except BuildFailed as error:
            typer.echo(str(error), err=True)
            raise typer.Exit(exits.EXIT_UNGRADED) from None
    for name, reason in built.missing_packages.items():
        typer.echo(f"missing: {name}: {reason}", err=True)
    for name in built.missing_corpora:
        typer.echo(f"missing: nltk data {name}: no package registry has it and nltk could not download it.", err=True)
    if built.missing_packages or built.missing_corpora:
        typer.echo(_how_to_complete(built), err=True)
    typer.echo(f"{built.tag}: {_contents(built)}, in {images.folder / built.tag}")
    if built.missing_packages:
        raise typer.Exit(exits.EXIT_BELOW)


@app.command("list")
def list_() -> None:
    """List the images there are, whether they are installed, and what they lack.

    [bold]Example[/bold]

      fairmark sandbox list
    """
    installed = {image.tag: image for image in Images(settings().data_folder).installed()}
    for tag in sorted({*KNOWN, *installed}):
        typer.echo(f"{tag}  {_state(installed.get(tag))}")


@app.command("remove")
def remove(tag: Annotated[str, typer.Argument(metavar="TAG", help="The image to remove.")]) -> None:
    """Remove an installed image and free its disk space.

    [bold]Example[/bold]

      fairmark sandbox remove 2025-05-08

    Exit status: 0 removed, 2 no such image.
    """
    with _Steps() as steps:
        Images(settings().data_folder).remove(tag, steps.say)
    typer.echo(f"{tag}: removed")


def _contents(image: Image) -> str:
    parts = [f"{len(image.packages)} packages for Python {image.python}"]
    if image.corpora:
        parts.append(f"nltk data {', '.join(image.corpora)}")
    return f"{'; '.join(parts)}; {image.size_bytes / 1e6:,.0f} MB"


def _state(image: Image | None) -> str:
    if image is None:
        return "not installed"
    state = "installed" if image.is_usable else "installed for another Python"
    missing = [*image.missing_packages, *(f"nltk data {name}" for name in image.missing_corpora)]
    return f"{state}: {_contents(image)}" + (f"; missing: {', '.join(missing)}" if missing else "")


def _how_to_complete(image: Image) -> str:
    # Where only nltk data is missing the image counts as installed, so that it has to be asked for.
    rebuild = "" if image.missing_packages else " --rebuild"
    return f"Everything else works. To try again: fairmark sandbox install --image {image.tag}{rebuild}"


class _Steps:
    """Shows what is being done, and how long it has been: a spinner on a terminal, else lines."""

    def __init__(self, tell: Callable[[str], None] | None = None, every_s: float = 15.0) -> None:
        console = Console(stderr=True)
        self._status = console.status("") if console.is_terminal and tell is None else None
        self._tell = tell or (lambda line: typer.echo(line, err=True))
        self._every_s = 1.0 if self._status else every_s
        self._step = ""
        self._since = time.monotonic()
        self._is_over = threading.Event()
        self._reminder = threading.Thread(target=self._remind, daemon=True)

    def say(self, step: str) -> None:
        self._step, self._since = step, time.monotonic()
        if self._status:
            self._status.update(step)
            self._status.start()
        else:
            self._tell(step)

    def _remind(self) -> None:
        """Some steps take minutes: nobody shall wonder whether they still go on."""
        while not self._is_over.wait(self._every_s):
            step, seconds = self._step, time.monotonic() - self._since
            if self._status:
                self._status.update(f"{step} ({seconds:.0f} s)")
            elif step and seconds >= self._every_s:
                self._tell(f"{step} ({seconds:.0f} s)")

    def __enter__(self) -> "_Steps":
        self._reminder.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        self._reminder.join()
        if self._status:
            self._status.stop()


@contextmanager
def _ending_cleanly() -> Iterator[None]:
    """Let a polite request to end clear away as Ctrl-C does."""

    def end(number: int, frame: FrameType | None) -> None:
        sys.exit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
