"""fairmark label: which answers people should label, and what they said of those of a stored run."""

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairmark import jsontext
from fairmark.cli.shared import inputs
from fairmark.cli.shared.database import Db, checked_project, with_store
from fairmark.cli.trust.checking import check_outputs, write_file
from fairmark.cli.trust.runs import RUN_HELP, EvalId, RunPlace, read_named
from fairmark.cli.trust.series import Criterion
from fairmark.errors import InvalidData

if TYPE_CHECKING:
    from fairmark.client.remote import RemoteBackend
    from fairmark.store import Store

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode="rich", help="Pick answers that people should label; labels out and in."
)
StoredRun = Annotated[str, typer.Argument(metavar="RUN", help="The id of a run, as evalrun_….")]
ServerUrl = Annotated[
    str, typer.Option("--server", metavar="URL", help="Ask this server, with the key in FAIRMARK_API_KEY.")
]
Project = Annotated[str, typer.Option(help="Without --server: whose run it is.")]
About = Annotated[str | None, typer.Option(metavar="NAME", help="Which criterion the labels are about.")]


@app.callback()
def _label() -> None:
    """Pick answers that people should label; labels of stored runs out and in."""


@app.command("next")
def next_(
    run: Annotated[str, typer.Argument(metavar="RUN", help=RUN_HELP)],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Write them there; - for stdout.")
    ] = "-",
    count: Annotated[int, typer.Option("--count", "-n", metavar="N", min=1, help="How many.")] = 50,
    labels: Annotated[
        str | None, typer.Option(metavar="FILE", help="What is labelled already, and is not picked again.")
    ] = None,
    criterion: Criterion = None,
    seed: Annotated[int, typer.Option(metavar="N", help="For which rows are drawn.")] = 0,
    eval_id: EvalId = None,
    server: ServerUrl = "",
    project: Project = "default",
    db: Db = None,
) -> None:
    """Pick answers to label: half at random, the others where judges are in doubt, or a label tells most.

    Each line says why it was picked and with which chance, so that rates can be weighed by it. What the judge said is
    not on it.

    [bold]Example[/bold]

      fairmark label next results.jsonl -n 50 -o todo.jsonl

    Exit status: 0 picked, 2 bad files, or nothing is left to label.
    """
    from fairmark.trust.labelled import read_labelled
    from fairmark.trust.picking import pick
    from fairmark.trust.results import range_of

    check_outputs([output], [run, *([labels] if labels is not None else [])])
    (graded,) = read_named([run], criterion, RunPlace(eval_id, server or None, project, db))
    known = None if labels is None else read_labelled(labels)
    picks = pick(graded, count, known, seed, *range_of([graded]))
    write_file(output, "".join(jsontext.encode(one.dump()).decode() + "\n" for one in picks))
    if output != "-":
        reasons = [one.why for one in picks]
        counts = ", ".join(f"{reasons.count(why)} {why}" for why in dict.fromkeys(reasons))
        typer.echo(f"{len(picks)} answers to label in {output}: {counts}", err=True)


@app.command("export")
def export(
    run: StoredRun,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Write them there; - for stdout.")
    ] = "-",
    criterion: About = None,
    rater: Annotated[str | None, typer.Option(metavar="NAME", help="Only what this rater said.")] = None,
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="Only label, score or preferred, if there are several.")
    ] = None,
    grader: Annotated[
        str | None, typer.Option(metavar="KEY", help="The scores that were pushed to this custom grader instead.")
    ] = None,
    server: ServerUrl = "",
    project: Project = "default",
    db: Db = None,
) -> None:
    """Write what people said of a stored run, a line a judgement: what fairmark judge takes.

    [bold]Example[/bold]

      fairmark label export evalrun_1 -o labelled.jsonl

    Exit status: 0 written, 2 no such run or labels, 3 the server or the database cannot be used now.
    """
    if server:
        from fairmark.work import eventloop

        asked = {"criterion": criterion, "rater": rater, "kind": kind, "grader": grader}
        lines = eventloop.run(_remote(server).export_labels(run, asked))
    else:

        async def work(store: "Store") -> bytes:
            from fairmark.errors import ApiError
            from fairmark.labelling import rows
            from fairmark.labelling.calls import find_labelled

            try:
                eval_, labelled_run = await find_labelled(store, checked_project(project), run)
                return rows.encode_lines(
                    await rows.label_lines(store, eval_, labelled_run, criterion, kind, rater, grader)
                )
            except ApiError as error:
                raise InvalidData(error.message) from None

        lines = with_store(db, work)
    write_file(output, lines.decode())
    if output != "-":
        typer.echo(f"{len(lines.splitlines())} labels in {output}", err=True)


@app.command("import")
def import_(
    run: StoredRun,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Lines of labels, JSONL; - for standard input.")],
    criterion: About = None,
    rater: Annotated[str, typer.Option(metavar="NAME", help="Who said so, on lines that name nobody.")] = "",
    other: Annotated[str | None, typer.Option(metavar="RUN", help="Of pairs: the run whose answers are b.")] = None,
    server: ServerUrl = "",
    project: Project = "default",
    db: Db = None,
) -> None:
    """Take in what people said of the rows of a stored run. A line is known by its item and sample, or its item_id.

    All or nothing; taking the same file in again changes nothing.

    [bold]Example[/bold]

      fairmark label import evalrun_1 labelled.jsonl --rater kim

    Exit status: 0 taken in, 2 a bad line, or no such run, 3 the server or the database cannot be used now.
    """
    content = inputs.read_bytes(file)
    if server:
        from fairmark.work import eventloop

        asked = {"criterion": criterion, "rater": rater or None, "other_run_id": other}
        done = eventloop.run(_remote(server).import_labels(run, content, asked))
    else:

        async def work(store: "Store") -> dict[str, Any]:
            from fairmark.errors import ApiError
            from fairmark.labelling.calls import find_labelled
            from fairmark.labelling.lines import take_in

            try:
                eval_, labelled_run = await find_labelled(store, checked_project(project), run)
                taken = await take_in(store, eval_, labelled_run, content, file, criterion, rater, other)
            except ApiError as error:
                raise InvalidData(error.message) from None
            return taken.dump(labelled_run)

        done = with_store(db, work)
    more = [f"{done['older']} older than what is there"] if done["older"] else []
    more += [f"{done['without_value']} lines without a label"] if done["without_value"] else []
    typer.echo(f"{done['labels']} labels of {run}{''.join(f', {words}' for words in more)}")


def _remote(server: str) -> "RemoteBackend":
    from fairmark.client.remote import RemoteBackend

    try:
        return RemoteBackend(server, os.environ.get("FAIRMARK_API_KEY") or None)
    except ValueError as error:
        raise InvalidData(f"--server: {error}") from None
