"""fairmark models: which judge models are configured, whether they answer, and models to run here."""

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

from fairmark.cli.machine.retired import retired
from fairmark.cli.shared import exits
from fairmark.judges import trial
from fairmark.judges.models import LOCAL, ModelRegistry, read_registry
from fairmark.run import grade
from fairmark.settings import settings

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="List the judge models that are configured, try one, fetch one to run here.",
)


app.command("retired")(retired)


@app.command("list")
def list_() -> None:
    """List the configured models, aliases and providers, and the models that can run on this machine.

    [bold]Example[/bold]

      fairmark models list
    """
    registry = read_registry()
    for heading, lines in _lists(registry):
        typer.echo(f"{heading}:")
        for line in lines or ["none"]:
            typer.echo(f"  {line}")


def _lists(registry: ModelRegistry) -> list[tuple[str, list[str]]]:
    from fairmark.judges.local import LocalModels

    models = [f"{name}  →  {model.provider.name}/{model.real_name or '…'}" for name, model in registry.entries.items()]
    aliases = [f"{name}  →  {target}" for name, target in registry.aliases.items()]
    providers = [
        f"{name}/…  {provider.base_url}{'  (every other name)' if provider is registry.default else ''}"
        for name, provider in registry.providers.items()
        if name != LOCAL
    ]
    local = [f"{LOCAL}/{name}" for name in LocalModels(settings().data_folder).available()]
    return [("models", models), ("aliases", aliases), ("providers", providers), ("on this machine", local)]


@app.command("test")
def test(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A model as a grader would name it.")],
) -> None:
    """Ask a model one question as a label_model grader would, and say what came back.

    [bold]Example[/bold]

      fairmark models test local/smollm2

    Exit status: 0 it answered, 2 no such model, 3 it could not be asked or its answer could not be read.
    """
    read_registry().resolve(name)
    result = grade(trial.question(name))
    if result.error is not None:
        typer.echo(result.error, err=True)
        raise typer.Exit(exits.EXIT_UNGRADED)
    (said,) = result.judgements
    by = f" by {said.sampled_model}" if said.sampled_model not in (None, name) else ""
    typer.echo(
        f'{name}: answered "{said.value["result"]}"{by}; {said.usage.total_tokens} tokens, {said.latency_s:.2f} s'
    )
    for warning in result.warnings:
        typer.echo(f"warning: {warning}")


@app.command("pull")
def pull(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A model of the catalogue; a wrong name lists them.")],
) -> None:
    """Fetch a model that can run on this machine, from its official hub, and check it against its pinned SHA-256.

    A download that was interrupted goes on where it stopped.

    [bold]Example[/bold]

      fairmark models pull smollm2

    Exit status: 0 it is there, 2 no such model, 3 it could not be fetched.
    """
    from fairmark.errors import PullFailed
    from fairmark.judges.pull import pull as fetch

    progress = Progress(
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    with progress:
        task = progress.add_task(name, total=None)
        try:
            path = fetch(
                name,
                settings().data_folder,
                lambda done, total: progress.update(task, completed=done, total=total),
            )
        except PullFailed as error:
            typer.echo(str(error), err=True)
            raise typer.Exit(exits.EXIT_UNGRADED) from None
    typer.echo(f"{LOCAL}/{name}: {path}")
