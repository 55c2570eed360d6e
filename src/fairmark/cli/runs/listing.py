"""fairmark runs list, show, export and delete."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer

from fairmark import jsontext
from fairmark.cli.runs.opening import Project, Server, with_place
from fairmark.cli.shared.database import Db
from fairmark.cli.shared.tables import show_table
from fairmark.data.outfile import writing
from fairmark.errors import InvalidData
from fairmark.kept.found import KeptRun, RunSource, find, has_no_threshold
from fairmark.kept.summary import (
    HEADINGS,
    LIST_HEADINGS,
    about,
    counted,
    criteria_cells,
    list_cells,
    not_passed,
    row_number,
    summary,
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Run = Annotated[str, typer.Argument(metavar="RUN", help="Its id or the first digits of it, its name, or last.")]
OfEval = Annotated[str, typer.Option("--eval", metavar="TEXT", help="Only of the eval of this name or id.")]


def list_runs(
    eval_name: OfEval = "",
    name: Annotated[str, typer.Option(help="Only runs of this name.")] = "",
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="How many, the newest first.")] = 20,
    as_json: AsJson = False,
    server: Server = "",
    project: Project = "default",
    db: Db = None,
) -> None:
    """List runs, the newest first: those of fairmark eval, and those of a server on the same database.

    [bold]Example[/bold]

      fairmark runs list --eval capitals
    """

    async def listed(place: RunSource) -> list[KeptRun]:
        return await place.runs(limit, eval_name, name or None)

    runs = with_place(server, project, db, listed)
    if as_json:
        typer.echo(jsontext.encode_pretty([summary(run) for run in runs]))
        return
    if not runs:
        typer.echo(
            "There are no such runs." if eval_name or name else "There are no runs yet. fairmark eval makes them."
        )
        return
    show_table(LIST_HEADINGS, [list_cells(run) for run in runs])


def show(
    run: Run,
    rows: Annotated[int, typer.Option(metavar="N", min=0, help="How many rows that did not pass are shown.")] = 5,
    eval_name: OfEval = "",
    as_json: AsJson = False,
    server: Server = "",
    project: Project = "default",
    db: Db = None,
) -> None:
    """Show a run: what each criterion made of it, why rows could not be graded, and the first rows that did not pass.

    [bold]Example[/bold]

      fairmark runs show last
    """

    async def shown(place: RunSource) -> tuple[KeptRun, list[dict[str, Any]]]:
        found = await find(place, run, eval_name)
        return found, await not_passed(place, found, rows)

    found, missed = with_place(server, project, db, shown)
    if as_json:
        typer.echo(jsontext.encode_pretty({**summary(found), "not_passed": missed}))
        return
    typer.echo("\n  ".join(about(found)))
    typer.echo("")
    show_table(HEADINGS, list(criteria_cells(found)))
    for title, reasons in (("could not be graded", found.reasons), ("warnings", found.warnings)):
        if reasons:
            typer.echo("\n  ".join([f"\n{title}:", *counted(reasons)]))
    if missed:
        typer.echo("\nrows that did not pass:")
        for row in missed:
            typer.echo(f"  {row['row']}: {row['results']}  {row['item']}")


def export(
    run: Run,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Where to write; - for stdout.")] = "-",
    items: Annotated[bool, typer.Option("--items", help="Output items, as the API gives them.")] = False,
    eval_name: OfEval = "",
    server: Server = "",
    project: Project = "default",
    db: Db = None,
) -> None:
    """Write a run as a results file, as fairmark eval writes it: for runs compare, label and judge, or as a baseline.

    [bold]Example[/bold]

      fairmark runs export main -o baseline.jsonl
    """

    async def written(place: RunSource, write: Callable[[bytes], object]) -> None:
        found = await find(place, run, eval_name)
        without_threshold = {str(each["name"]) for each in found.criteria if has_no_threshold(each)}
        count = 0
        async for bodies in place.items(found):
            count += len(bodies)
            lines = bodies if items else (_result_line(found, without_threshold, body) for body in bodies)
            write(b"".join(line + b"\n" for line in lines))
        if count < found.rows:
            raise InvalidData(f"{found.shown}: it was deleted meanwhile, after {count:,} of its {found.rows:,} rows.")

    if output == "-":
        with_place(server, project, db, lambda place: written(place, partial(typer.echo, nl=False)))
        return
    try:
        with writing(output) as file:
            with_place(server, project, db, lambda place: written(place, file.write))
    except OSError as error:
        raise InvalidData.unusable(output, error) from None


def delete(
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN]...", help="Ids or the first digits of them, names, or last.")
    ] = None,
    keep: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Delete all but the last N runs, of --eval or of all.")
    ] = None,
    eval_name: OfEval = "",
    server: Server = "",
    project: Project = "default",
    db: Db = None,
) -> None:
    """Delete runs with their rows.

    [bold]Example[/bold]

      fairmark runs delete --eval capitals --keep 20
    """
    if bool(runs) == (keep is not None):
        raise InvalidData("Name the runs to delete, or give --keep N.")

    async def deleted(place: RunSource) -> list[str]:
        if keep is not None:
            gone = (await place.runs(1_000_000, eval_name))[keep:]
        else:
            gone = [await find(place, run, eval_name) for run in runs or []]
        for found in gone:
            await place.delete(found)
        return [found.shown for found in gone]

    for shown in with_place(server, project, db, deleted):
        typer.echo(f"deleted {shown}")


def _result_line(run: KeptRun, without_threshold: set[str], body: bytes) -> bytes:
    """An output item as a line of a results file. `without_threshold`: criteria that say neither pass nor fail."""
    from fairmark.evals.foreign import by_criterion, item_status, result_error, result_outcome, result_score, results_of
    from fairmark.evals.regrade import row_of

    item = jsontext.decode(body)
    row, sample, _, _ = row_of(body)
    results, _ = by_criterion(results_of(item), run.criteria)
    shown: dict[str, Any] = {}
    for criterion, result in zip(run.criteria, results, strict=True):
        if result is None:
            continue
        outcome = result_outcome(result, item_status(item))
        passed = None if outcome == "skip" or criterion["name"] in without_threshold else outcome == "pass"
        status = {"error": "error", "skip": "skipped"}.get(outcome, "graded")
        line: dict[str, Any] = {"reward": result_score(result), "passed": passed, "status": status}
        if result.get("sub_rewards"):
            line["sub_rewards"] = result["sub_rewards"]
        if outcome in ("error", "skip"):
            line["error" if outcome == "error" else "skipped"] = result_error(result) or "the run does not say why"
        shown[str(criterion["name"])] = line
    return jsontext.encode(
        {"row": row_number(item), "graders": run.mark or "", "results": shown, "item": row, "sample": sample}
    )
