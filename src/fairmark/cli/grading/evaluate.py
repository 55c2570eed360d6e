"""fairmark eval: a data file through graders, with a results file and a summary. Its options; `job` does the work."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from fairmark import jsontext, readiness
from fairmark.cli.grading.gate import GateLimits
from fairmark.cli.grading.job import EvalOrder, carry_out
from fairmark.cli.grading.keeping import WhereKept
from fairmark.cli.shared import inputs
from fairmark.cli.shared.database import Db
from fairmark.cli.shared.engines import ACTORS_HELP, ADDRESS_HELP, ENGINE_HELP, EngineName, read_machines
from fairmark.data.formats import Told, read_columns
from fairmark.data.outfile import refuse_input
from fairmark.errors import InvalidData, InvalidGrader
from fairmark.judges.base import Budget
from fairmark.registry.named import labelled
from fairmark.run import LONGEST_S
from fairmark.spec import GraderSpec


def command(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="JSONL, a JSON array, CSV, Parquet or Arrow, also .gz or .zst; - for stdin; a database with --sql.",
        ),
    ],
    grader: Annotated[
        list[str],
        typer.Option(metavar="GRADER", help="A grader: JSON file, JSON text or key:NAME. Give it again for more."),
    ],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="OUT", help="Write results as JSONL; - for stdout."),
    ] = None,
    fail_under: Annotated[
        float | None,
        typer.Option(metavar="X", help="Exit 1 if a grader's pass rate (mean without a threshold) is below X."),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--fail-on-regression",
            metavar="BASELINE",
            help="Exit 1 if a grader is worse than in this run, or results file, as far as the rows can show.",
        ),
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(metavar="X", help="Exit 1 if judges cost more dollars than X.")
    ] = None,
    max_seconds_per_row: Annotated[
        float | None, typer.Option(metavar="X", help="Exit 1 if a row took more seconds than X on average.")
    ] = None,
    summary: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the summary as Markdown, for a pull request.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the results file of a stopped run.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the results file.")] = False,
    skip_bad_rows: Annotated[
        bool, typer.Option("--skip-bad-rows", help="Report rows that cannot be read and go on.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Processes to share the work; without it, one a core."),
    ] = None,
    engine: Annotated[EngineName, typer.Option(metavar="ENGINE", help=ENGINE_HELP)] = EngineName.local,
    address: Annotated[str | None, typer.Option(metavar="HOST:PORT", help=ADDRESS_HELP)] = None,
    actors: Annotated[int | None, typer.Option(metavar="N", min=1, max=10_000, help=ACTORS_HELP)] = None,
    budget_tokens: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Tokens that judges may take; rows beyond are skipped."),
    ] = None,
    budget_dollars: Annotated[
        float | None,
        typer.Option(metavar="X", min=0, help="Dollars that judges may cost; rows beyond are skipped."),
    ] = None,
    deadline: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="For all rows together; what is not graded by then is an error."),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="FIELD=COLUMN", help="Read a field from a column of another name. Repeatable."),
    ] = None,
    separator: Annotated[
        str | None, typer.Option(metavar="SIGN", help="What is between the columns of CSV; a comma without it.")
    ] = None,
    encoding: Annotated[str, typer.Option(metavar="NAME", help="How a text file is encoded.")] = "utf-8",
    sql: Annotated[
        str | None,
        typer.Option(metavar="QUERY", help="DATA is a database, such as sqlite:///rows.db; these are the rows."),
    ] = None,
    name: Annotated[str, typer.Option(metavar="TEXT", help="What the run is called, such as main or a branch.")] = "",
    eval_name: Annotated[
        str,
        typer.Option("--eval", metavar="TEXT", help="The eval that it is a run of; without it, the data file's name."),
    ] = "",
    no_store: Annotated[bool, typer.Option("--no-store", help="Keep nothing of this run for fairmark runs.")] = False,
    project: Annotated[str, typer.Option(help="Whose run it is.")] = "default",
    db: Db = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no table; warnings stay.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Grade every row of a data file, write the results, and show what they add up to.

    A row is {"item": {…}, "sample": …}, or a flat object, which is then the item.

    [bold]Example[/bold]

      fairmark eval examples/capitals.jsonl --grader examples/exact.json --fail-under 0.5

    Exit status: 0 graded, 1 a gate failed (--fail-under, --fail-on-regression, --max-…), 2 bad grader or data, 3 a
    grader graded no row, no row has a sample, a gate could not tell, or no machine of a cluster answers, 130 stopped
    with Ctrl-C; what was graded is kept and --resume goes on.
    """
    _check_deadline(deadline)
    machines = read_machines(engine, address, actors, workers)
    budget = _budget(budget_tokens, budget_dollars)
    graders = labelled((text, inputs.read_grader(text)) for text in grader)
    _check_outputs(output, summary, data.partition(":///")[2] if sql else data, grader, baseline)
    _check_ready(graders)
    carry_out(
        EvalOrder(
            data,
            _told(columns or [], separator, encoding, sql),
            graders,
            limits=GateLimits(fail_under, baseline, max_cost, max_seconds_per_row),
            where=WhereKept(name, eval_name, project, db),
            no_store=no_store,
            output=output,
            resume=resume,
            overwrite=overwrite,
            skip_bad_rows=skip_bad_rows,
            workers=workers,
            machines=machines,
            budget=budget,
            deadline_s=deadline,
            summary=summary,
            quiet=quiet,
            as_json=as_json,
        )
    )


def _check_deadline(seconds: float | None) -> None:
    if seconds is not None and not 0 < seconds <= LONGEST_S:
        raise InvalidData(f"--deadline: found {seconds:g}. It takes seconds, more than 0.")


def _budget(tokens: int | None, dollars: float | None) -> Budget | None:
    if tokens is None and dollars is None:
        return None
    try:
        return Budget(tokens, dollars)
    except ValueError:  # not a number, which is not below 0 either
        raise InvalidData(f"--budget-dollars: found {dollars}. It takes a number, 0 or more.") from None


def _check_outputs(
    output: str | None, summary: str | None, data: str, graders: list[str], baseline: str | None
) -> None:
    """Raises InvalidData for a file that is to be written and is one of those to be read, or is to be written twice."""
    # A run that replaced what it is held against would pass the gate the second time.
    read = [sys.stdin.fileno() if data == "-" else data, *graders, *([] if baseline is None else [baseline])]
    if output not in {None, "-"}:
        refuse_input(output, read)
    if summary is not None:
        refuse_input(summary, read)
        if output not in {None, "-"} and Path(summary).resolve() == Path(output).resolve():
            raise InvalidData(f"--summary: {summary} is where the results go. Name another file.")


def _check_ready(graders: Mapping[str, GraderSpec]) -> None:
    """Raises InvalidGrader where no row could be graded: before the first one is, and before anything is paid for."""
    problems = [
        problem._replace(path=f"{label}: {problem.path}")
        for label, spec in graders.items()
        for problem in readiness.lacks(spec)
    ]
    if not problems:
        wrong = readiness.look_up({name for spec in graders.values() for _, name in readiness.models(spec)})
        problems = [
            problem._replace(path=f"{label}: {problem.path}")
            for label, spec in graders.items()
            for problem in readiness.unlisted(spec, wrong)
        ]
    if problems:
        raise InvalidGrader(problems)


def _told(columns: list[str], separator: str | None, encoding: str, sql: str | None) -> Told:
    if separator == "\\t":  # as people write it in a shell
        separator = "\t"
    if separator is not None and len(separator) != 1:
        raise InvalidData(f"--separator: found {jsontext.quote(separator)}. It takes one sign, such as ';'.")
    return Told(separator, encoding, read_columns(columns), sql)
