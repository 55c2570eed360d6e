"""fairmark eval: a data file through graders, with a results file and a summary."""

import math
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fairmark import jsontext, readiness
from fairmark.cli import exits, inputs
from fairmark.cli.progress import RowProgress
from fairmark.data import report
from fairmark.data.dataset import DataFile, DataRow
from fairmark.data.outfile import refuse_input
from fairmark.data.results import PARTIAL, ResultsFile, StoredRow, fingerprint, stopped, stored_rows
from fairmark.data.runner import run
from fairmark.data.tally import Tally
from fairmark.errors import InvalidData, InvalidGrader
from fairmark.jsontext import encode_pretty
from fairmark.judges.base import Budget
from fairmark.run import LONGEST_S
from fairmark.spec import GraderSpec


def command(
    data: Annotated[str, typer.Argument(metavar="DATA", help="JSONL, a JSON array, or .csv; - for standard input.")],
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
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the results file of a stopped run.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the results file.")] = False,
    skip_bad_rows: Annotated[
        bool, typer.Option("--skip-bad-rows", help="Report rows that cannot be read and go on.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Processes to share the work; without it, one a core."),
    ] = None,
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
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no table; warnings stay.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Grade every row of a data file, write the results, and show what they add up to.

    A row is {"item": {…}, "sample": …}, or a flat object, which is then the item.

    [bold]Example[/bold]

      fairmark eval examples/capitals.jsonl --grader examples/exact.json --fail-under 0.5

    Exit status: 0 graded, 1 below --fail-under, 2 bad grader or data, 3 a grader graded no row, or no row has a sample,
    130 stopped with Ctrl-C; what was graded is kept and --resume goes on.
    """
    if deadline is not None and not 0 < deadline <= LONGEST_S:
        raise InvalidData(f"--deadline: found {deadline:g}. It takes seconds, more than 0.")
    budget = _budget(budget_tokens, budget_dollars)
    graders = _labelled(grader)
    _check_fail_under(fail_under, graders)
    if output not in {None, "-"}:
        refuse_input(output, [sys.stdin.fileno() if data == "-" else data, *grader])
    _check_ready(graders)
    job = _Job(DataFile(data), graders, skip_bad_rows, Console(stderr=True))
    results = _open_results(job, output, resume, overwrite)
    started = time.monotonic()
    whole = False
    try:
        with RowProgress(Console(stderr=True, quiet=quiet)) as progress:
            for row, graded in run(job.rows(), graders, workers, budget, deadline):
                if results:
                    results.write(row, graded)
                job.tally.add(graded)
                progress.update(job.tally.rows, job.data.share_read)
        whole = True
    except KeyboardInterrupt:
        typer.echo(f"\nStopped after {job.tally.rows:,} rows.", err=True)
        raise
    finally:
        if results:
            results.close(whole=whole)
            if not whole:
                _tell_how_to_go_on(results, output, sys.exc_info()[0] is KeyboardInterrupt)
    seconds = time.monotonic() - started
    if as_json:
        typer.echo(encode_pretty(report.summary(job.tally, graders, seconds)), err=output == "-")
    elif not quiet:
        _summarise(job, output, seconds)
    for warning in report.warnings(job.tally, job.graders):
        typer.echo(f"warning: {warning}", err=True)
    _exit_by(job.tally, fail_under)


class _Job:
    """One evaluation: its rows, what they add up to so far, and how many are done from before."""

    def __init__(self, data: DataFile, graders: Mapping[str, GraderSpec], skip_bad_rows: bool, stderr: Console) -> None:
        self.data = data
        self.graders = graders
        self.stderr = stderr
        self.tally = Tally.of(graders)
        self.bad_rows = 0
        self.resumed_rows = 0
        self._skip_bad_rows = skip_bad_rows
        self._last: StoredRow | None = None
        self._again: set[int] = set()

    def go_on_after(self, stored: Iterable[StoredRow]) -> bool:
        """Takes over what is graded already. True where rows among it were skipped, and are to be graded again."""
        for row in stored:
            if row.is_skipped:
                self._again.add(row.row)
            else:
                self.tally.add(row.results)
            self._last = row
        self.resumed_rows = self.tally.rows
        return bool(self._again)

    def rows(self) -> Iterator[DataRow]:
        """The rows still to grade. A bad one stops everything, unless the user said to go on."""
        done = self._last.row if self._last else 0
        for row in self.data:
            if isinstance(row, InvalidData):
                if (row.row or 0) <= done:
                    continue
                if not self._skip_bad_rows:
                    raise InvalidData(f"{self.data.path}: {row} --skip-bad-rows goes on without such rows.", row.row)
                self.bad_rows += 1
                self.stderr.print(f"{self.data.path}: {row}", style="yellow", markup=False, highlight=False)
            elif self._last and row.number == done and not _same(row.item, self._last.item):
                raise InvalidData(f"{self.data.path}: row {done} is not the row that was graded; cannot resume.")
            elif row.number > done or row.number in self._again:
                yield row


def _same(item: object, stored: object) -> bool:
    return jsontext.encode(item) == jsontext.encode(stored)


def _labelled(given: list[str]) -> dict[str, GraderSpec]:
    """The graders by label: its own name, else its file's, made unique."""
    graders: dict[str, GraderSpec] = {}
    for text in given:
        spec = inputs.read_grader(text)
        is_file = not text.lstrip().startswith("{") and not text.startswith(inputs.BY_KEY) and text != "-"
        label = base = Path(text).stem if spec.name == spec.type and is_file else spec.name
        count = 1
        while label in graders:
            count += 1
            label = f"{base} ({count})"
        graders[label] = spec
    return graders


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


def _open_results(job: _Job, output: str | None, resume: bool, overwrite: bool) -> ResultsFile | None:
    mark = fingerprint(job.graders)
    if output is None:
        if resume:
            raise InvalidData("--resume needs --output: the results file of the run to go on with.")
        return None
    if resume and output != "-" and Path(stopped(output)).exists():
        again = job.go_on_after(stored_rows(stopped(output), mark))
        return ResultsFile.go_on(output, mark, again=again)
    return ResultsFile.create(output, mark, stdout=sys.stdout.buffer, overwrite=overwrite)


def _budget(tokens: int | None, dollars: float | None) -> Budget | None:
    if tokens is None and dollars is None:
        return None
    try:
        return Budget(tokens, dollars)
    except ValueError:  # not a number, which is not below 0 either
        raise InvalidData(f"--budget-dollars: found {dollars}. It takes a number, 0 or more.") from None


def _check_fail_under(fail_under: float | None, graders: Mapping[str, GraderSpec]) -> None:
    """Raises InvalidData for what no grader can reach: a per cent, mostly."""
    if fail_under is None:
        return
    for label, spec in graders.items():
        # A threshold makes it a pass rate; without one it is the mean reward.
        low, high = (0.0, 1.0) if spec.threshold is not None else spec.reward_range or (-math.inf, math.inf)
        if not low <= fail_under <= high:
            what = "pass rate" if spec.threshold is not None else "mean"
            raise InvalidData(f"--fail-under: found {fail_under:g}. The {what} of {label} is from {low:g} to {high:g}.")


def _tell_how_to_go_on(results: ResultsFile, output: str | None, asked: bool) -> None:
    """Where a run stopped, as its user asked, or for something that is told already."""
    is_partial = results.path.endswith(PARTIAL)
    if results.path == "-" or not (asked or is_partial):
        return
    where = f"{results.path}, and {output} is as it was" if is_partial else output
    words = [word for word in sys.argv[1:] if word not in {"--overwrite", "--resume"}]
    told = "They are" if asked else "What was graded is"
    typer.echo(f"{told} in {where}. Go on with:\n  fairmark {shlex.join(words)} --resume", err=True)


def _summarise(job: _Job, output: str | None, seconds: float) -> None:
    console = job.stderr if output == "-" else Console()
    report.show(job.tally, console)
    new_rows = job.tally.rows - job.resumed_rows
    text = f"\n{new_rows:,} rows in {seconds:.2f} s ({new_rows / max(seconds, 1e-9):,.0f} rows/s)"
    if job.resumed_rows:
        text += f", {job.resumed_rows:,} from before"
    if job.bad_rows:
        text += f", {job.bad_rows:,} bad rows left out"
    if output not in {None, "-"}:
        text += f"; results in {output}"
        if any(counts.skipped for counts in job.tally.graders.values()):
            text += "; --resume grades the skipped rows"
    if spent := report.spent(job.tally):
        text += f"\n{spent}"
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _exit_by(tally: Tally, fail_under: float | None) -> None:
    empty = [label for label, counts in tally.graders.items() if counts.warnings.without_sample == tally.rows]
    if tally.rows and empty:
        for label in empty:
            typer.echo(f"{label}: no row has the sample that it asks for, so that nothing was graded.", err=True)
        raise typer.Exit(exits.EXIT_UNGRADED)
    if tally.rows and any(counts.graded == 0 for counts in tally.graders.values()):
        raise typer.Exit(exits.EXIT_UNGRADED)
    if fail_under is None:
        return
    low = {label: counts.quality for label, counts in tally.graders.items() if counts.quality < fail_under}
    for label, quality in low.items():
        typer.echo(f"{label}: {quality:.4f} is below {fail_under:g}", err=True)
    if low:
        raise typer.Exit(exits.EXIT_BELOW)
