"""The table of commands. A command's module is imported when it is asked for: most people ask for one, and imports take
time that everybody waits for. So the list of them says here what each is for, in the words of its own help."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup


class Command(NamedTuple):
    """A command, or a group of them: its module in this package, and the first paragraph of its help."""

    module: str
    summary: str


COMMANDS = {
    "init": Command("grading.init", "Write a small eval that works: graders, rows, settings, and how to run it."),
    "grade": Command("grading.grade", "Grade one sample and print the result as JSON."),
    "validate": Command("grading.validate", "Check a grader and print it in its normalised form. Nothing is run."),
    "eval": Command(
        "grading.evaluate", "Grade every row of a data file, write the results, and show what they add up to."
    ),
    "kinds": Command(
        "grading.kinds", "List the kinds of grader and the fields each takes, those of installed plugins too."
    ),
    "schema": Command(
        "grading.schema", "Print the JSON Schema of graders, by which editors complete and check grader files."
    ),
    "config": Command("machine.config", "Show every setting: what it is, and where that comes from."),
    "doctor": Command("machine.doctor", "Say what this machine can do, and how to mend what it cannot."),
    "serve": Command("server.serve", "Serve OpenAI's API for graders, evals and files."),
    "reward": Command("grading.reward", "Say whether a grader is fit to be the reward of a training run."),
    "reward-server": Command(
        "server.reward_server",
        "Serve graders as a reward server: for Adaptive, OpenRLHF, NeMo Gym and LLaMA-Factory.",
    ),
    "train": Command(
        "machine.train", "Train reinforcement jobs of a server on this machine, and serve the models that come of them."
    ),
    "runs": Command(
        "runs.command", "List, show, compare, regrade, export and delete runs: of fairmark eval, and of a server."
    ),
    "import": Command("moving.import_", "Move in evals, runs, results and files that were made elsewhere."),
    "export": Command(
        "moving.export", "Write everything of a project into a folder, from which a server can be filled again."
    ),
    "graders": Command(
        "server.graders", "List, lock and delete registered graders; export them to a file and import them from one."
    ),
    "judge": Command("trust.judge", "Say whether a judge can be trusted: against people, and against itself."),
    "label": Command("trust.label", "Pick answers that people should label; labels out and in."),
    "limits": Command(
        "server.limits", "Set and list what projects may take of a server. A running one knows within a second."
    ),
    "keys": Command(
        "server.keys", "Make, list and revoke the API keys of a server. They work beside a running one, at once."
    ),
    "models": Command("machine.models", "List the judge models that are configured, try one, fetch one to run here."),
    "sandbox": Command("machine.sandbox", "Install, list and remove the images whose packages python graders import."),
}


def load(name: str) -> Any:
    """A command as Typer runs it. Its module has either `command`, a function, or `app`, a group."""
    module = import_module(f"fairmark.cli.{COMMANDS[name].module}")
    if hasattr(module, "app"):
        return typer.main.get_group(module.app)
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
    alone.command(name)(module.command)
    return typer.main.get_command(alone)


class ReaderGone(Exception):
    """Whoever read our output has gone, as `head` does."""


class CommandTable(TyperGroup):
    """The group of all commands, of which only the one that is asked for is imported."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: TyperCommand(name, help=listed.summary) for name, listed in COMMANDS.items()}
        self._listing = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if self._listing or cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        return load(cmd_name)

    def invoke(self, ctx: Any) -> Any:
        """Of a pipe that is closed and of a file that ends too early Typer makes status 1, and Rich does of the first:
        with us that says that a gate failed."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise ReaderGone from None
        except SystemExit as ended:
            if isinstance(ended.__context__, BrokenPipeError):
                raise ReaderGone from None
            raise
        except EOFError as error:
            raise RuntimeError(f"EOFError: {error}") from error

    def format_help(self, ctx: Any, formatter: Any) -> None:
        with self._list():
            super().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        with self._list():
            return super().shell_complete(ctx, incomplete)

    @contextmanager
    def _list(self) -> Iterator[None]:
        self._listing = True
        try:
            yield
        finally:
            self._listing = False
