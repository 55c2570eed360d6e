"""fairmark reward: a grader as the reward of a training run."""

from itertools import islice
from typing import Annotated, Any

import typer
from rich.console import Console

from fairmark import jsontext, readiness
from fairmark.cli.shared import exits, inputs
from fairmark.cli.shared.progress import RowProgress
from fairmark.cli.shared.tables import show_table
from fairmark.data.dataset import DataFile
from fairmark.errors import InvalidData, InvalidGrader
from fairmark.graders import grades_by_itself
from fairmark.judges.models import read_registry
from fairmark.trainers.check import TRAINERS, answered, check_reward
from fairmark.trainers.sampled import Answers, sample_answers

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Say whether a grader is fit to be the reward of a training run.",
)
ANSWERS = 4
VERDICTS = {True: "ok", False: "LOOK", None: "-"}


@app.callback()
def group() -> None:
    """Keeps `check` a command of its own."""


@app.command("check")
def check(
    grader: Annotated[str, typer.Argument(metavar="GRADER", help="A grader: JSON file, JSON text or key:NAME.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="Rows with answers: JSONL, a JSON array, or .csv.")],
    trainer: Annotated[str | None, typer.Option(metavar="NAME", help=f"Who will train: {', '.join(TRAINERS)}.")] = None,
    rows: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many rows are looked at, from the first on.")
    ] = 300,
    batch: Annotated[int, typer.Option(metavar="N", min=1, help="How many rows a step of the run will have.")] = 256,
    reference: Annotated[
        str | None, typer.Option(metavar="FIELD", help="The field of items that has the right answer.")
    ] = None,
    sample: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Ask this model for answers, in place of those in DATA.")
    ] = None,
    answers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=64, help=f"How many answers --sample asks for each item. [{ANSWERS}]"),
    ] = None,
    prompt: Annotated[
        str | None, typer.Option(metavar="FIELD", help="The field of items that --sample asks: a text or a chat.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> None:
    """Say what a grader would be like as a reward, on rows with answers, before a run.

    Several rows with the same item are several answers to one prompt. Judges are asked two times for each row, and four
    times more for 64 of them.

    [bold]Example[/bold]

      fairmark reward check examples/exact.json examples/capitals.jsonl --trainer trl

      fairmark reward check examples/exact.json examples/capitals.jsonl --sample local/smollm2 --answers 8 --rows 16

    Exit status: 0 fit, 1 something to look at, 2 a bad grader, data or option.
    """
    if trainer is not None and trainer not in TRAINERS:
        raise InvalidData(f"--trainer: found {jsontext.quote(trainer)}. Use one of: {', '.join(TRAINERS)}.")
    spec = inputs.read_grader(grader)
    if not grades_by_itself(spec):
        raise InvalidGrader.at("$.type", "a custom grader is scored from elsewhere and cannot be a reward.")
    missing = readiness.lacks(spec)
    if missing:
        raise InvalidGrader(missing)
    taken = _rows(data, rows)
    findings = []
    if sample is None and (answers is not None or prompt is not None):
        raise InvalidData("--answers and --prompt: nothing is sampled. --sample names the model that is to answer.")
    if sample is not None:
        sampled = _sampled(taken, sample, answers or ANSWERS, prompt)
        findings.append(answered(sampled, sample))
        taken = sampled.rows
    findings += check_reward(spec, taken, trainer, batch, reference)
    if as_json:
        typer.echo(jsontext.encode_pretty({"findings": [finding.dump() for finding in findings]}))
    else:
        show_table(
            ("VERDICT", "QUESTION", "WHAT WAS SEEN"),
            [(VERDICTS[finding.ok], finding.question, finding.words) for finding in findings],
        )
    if any(finding.ok is False for finding in findings):
        raise typer.Exit(exits.EXIT_BELOW)


def _sampled(rows: list[dict[str, Any]], model: str, answers: int, prompt: str | None) -> Answers:
    read_registry().resolve(model)
    items = [row["item"] for row in rows]
    with RowProgress(Console(stderr=True)) as progress:
        return sample_answers(items, model, answers, prompt, progress.update)


def _rows(path: str, most: int) -> list[dict[str, Any]]:
    """The first rows of a file. Raises InvalidData for one that cannot be read."""
    read = []
    for row in islice(DataFile(path), most):
        if isinstance(row, InvalidData):
            raise InvalidData(f"{path}: {row}", row.row)
        read.append({"item": row.item, "sample": row.sample})
    return read
