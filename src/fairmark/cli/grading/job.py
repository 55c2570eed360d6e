"""One evaluation of `fairmark eval`, from its rows to its exit status."""

import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path

import typer
from rich.console import Console

from fairmark import jsontext
from fairmark.cli.grading import gate as gating
from fairmark.cli.grading import keeping
from fairmark.cli.grading.gate import GateLimits
from fairmark.cli.grading.keeping import Keeping, WhereKept
from fairmark.cli.shared.engines import EngineChoice
from fairmark.cli.shared.progress import RowProgress
from fairmark.data import report
from fairmark.data.comparison import Side
from fairmark.data.dataset import DataFile, DataRow
from fairmark.data.formats import Told
from fairmark.data.results import (
    PARTIAL,
    ResultsFile,
    StoredRow,
    encode_row,
    fingerprint,
    lines_but,
    stopped,
    stored_rows,
)
from fairmark.data.results_side import add_line, add_row
from fairmark.data.runner import run
from fairmark.data.tally import Tally
from fairmark.errors import InvalidData, NotNow
from fairmark.jsontext import encode_pretty
from fairmark.judges.base import Budget
from fairmark.kept.ids import short_id
from fairmark.result import Result
from fairmark.spec import GraderSpec


@dataclass(frozen=True)
class EvalOrder:
    """What is to be evaluated, and how, as the command's options say it."""

    data: str
    told: Told
    graders: Mapping[str, GraderSpec]
    _: KW_ONLY
    limits: GateLimits = field(default_factory=GateLimits)
    where: WhereKept = field(default_factory=WhereKept)
    no_store: bool = False
    output: str | None = None
    resume: bool = False
    overwrite: bool = False
    skip_bad_rows: bool = False
    workers: int | None = None
    machines: EngineChoice = field(default_factory=EngineChoice)
    budget: Budget | None = None
    deadline_s: float | None = None
    summary: str | None = None
    quiet: bool = False
    as_json: bool = False

    @property
    def title(self) -> str:
        return self.where.eval_name or keeping.eval_name_of(self.data, self.told.sql)


def carry_out(order: EvalOrder) -> None:
    """Raises FairmarkError, and typer.Exit for whatever status is not 0."""
    job = EvalJob(DataFile(order.data, told=order.told), order.graders, order.skip_bad_rows, Console(stderr=True))
    gate = gating.prepare(order.limits, order.where, order.title, order.graders)
    results = _open_results(job, order)
    kept = _begin_keeping(job, order)
    _take_over(job, order.output, kept, gate.now)
    graded = run(job.rows(), order.graders, order.workers, order.budget, order.deadline_s, None, *order.machines)
    seconds = _grade_all(job, results, kept, gate.now, graded, order)
    _tell_outcome(job, order, seconds, kept)
    gate.judge(job.tally, seconds, job.tally.rows - job.resumed_rows)
    gating.write_summary(order.summary, order.title, job.tally, seconds, gate)
    gate.exit()


class EvalJob:
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
        self.again: set[int] = set()
        """Rows from before that are to be graded again."""

    def go_on_after(self, stored: Iterable[StoredRow]) -> bool:
        """Takes over what is graded already. True where rows among it were skipped, and are to be graded again."""
        for row in stored:
            if row.is_skipped:
                self.again.add(row.row)
            else:
                self.tally.add(row.results)
            self._last = row
        self.resumed_rows = self.tally.rows
        return bool(self.again)

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
            elif row.number > done or row.number in self.again:
                yield row


def _same(item: object, stored: object) -> bool:
    return jsontext.encode(item) == jsontext.encode(stored)


def _open_results(job: EvalJob, order: EvalOrder) -> ResultsFile | None:
    output = order.output
    if output is None:
        if order.resume:
            raise InvalidData("--resume needs --output: the results file of the run to go on with.")
        return None
    if order.resume and output != "-" and Path(stopped(output)).exists():
        again = job.go_on_after(stored_rows(stopped(output), fingerprint(job.graders)))
        return ResultsFile.go_on(output, again=again)
    return ResultsFile.create(output, stdout=sys.stdout.buffer, overwrite=order.overwrite)


def _begin_keeping(job: EvalJob, order: EvalOrder) -> Keeping | None:
    if order.no_store:
        return None
    is_resumed = bool(job.resumed_rows)
    return keeping.begin(order.where, order.graders, order.data, order.told.sql, order.output, is_resumed)


def _take_over(job: EvalJob, output: str | None, kept: Keeping | None, side: Side | None) -> None:
    """What a stopped run has graded is kept, and compared, with what this one grades."""
    if not job.resumed_rows or (kept is None and side is None):
        return
    for line in lines_but(stopped(str(output)), job.again):
        if kept is not None:
            kept.add_line(line)
        if side is not None:
            add_line(side, line)


def _grade_all(
    job: EvalJob,
    results: ResultsFile | None,
    kept: Keeping | None,
    side: Side | None,
    graded_rows: Iterable[tuple[DataRow, dict[str, Result]]],
    order: EvalOrder,
) -> float:
    """Takes all rows into the tally, the results file and the journal; the seconds that took. What was graded is
    kept, whatever happens."""
    started = time.monotonic()
    mark = fingerprint(job.graders)
    whole = False
    try:
        with RowProgress(Console(stderr=True, quiet=order.quiet)) as progress:
            for row, graded in graded_rows:
                if results or kept:
                    line = encode_row(mark, row, graded)
                    if results:
                        results.write(row.number, line)
                    if kept:
                        kept.add(row, graded, line)
                if side is not None:
                    add_row(side, row.number, row.item, graded)
                job.tally.add(graded)
                if progress.is_on:
                    progress.update(job.tally.rows, job.data.share_read)
        whole = True
    except KeyboardInterrupt:
        typer.echo(f"\nStopped after {job.tally.rows:,} rows.", err=True)
        raise
    finally:
        seconds = time.monotonic() - started
        if kept:
            skipped = any(counts.skipped for counts in job.tally.graders.values())
            kept.end(whole=whole, goes_on=not whole or skipped, rows=job.tally.rows)
        if results:
            results.close(whole=whole)
            if not whole:
                _tell_how_to_go_on(results, order.output, sys.exc_info()[1])
    return seconds


def _tell_how_to_go_on(results: ResultsFile, output: str | None, why: BaseException | None) -> None:
    """Where a run stopped, as its user asked, or for something that is told already."""
    is_partial, asked = results.path.endswith(PARTIAL), isinstance(why, KeyboardInterrupt)
    if results.path == "-" or not (asked or is_partial or isinstance(why, NotNow)):
        return
    where = f"{results.path}, and {output} is as it was" if is_partial else output
    words = [word for word in sys.argv[1:] if word not in {"--overwrite", "--resume"}]
    told = "They are" if asked else "What was graded is"
    typer.echo(f"{told} in {where}. Go on with:\n  fairmark {shlex.join(words)} --resume", err=True)


def _tell_outcome(job: EvalJob, order: EvalOrder, seconds: float, kept: Keeping | None) -> None:
    if order.as_json:
        typer.echo(encode_pretty(report.summary(job.tally, job.graders, seconds)), err=order.output == "-")
    elif not order.quiet:
        _summarise(job, order.output, seconds, kept)
    for warning in report.warnings(job.tally, job.graders):
        typer.echo(f"warning: {warning}", err=True)


def _summarise(job: EvalJob, output: str | None, seconds: float, kept: Keeping | None) -> None:
    console = job.stderr if output == "-" else Console()
    report.show(job.tally, console)
    new_rows = job.tally.rows - job.resumed_rows
    text = f"\n{new_rows:,} rows in {seconds:.2f} s ({new_rows / max(seconds, 1e-9):,.0f} rows/s)"
    if job.resumed_rows:
        text += f", {job.resumed_rows:,} from before"
    if job.bad_rows:
        text += f", {job.bad_rows:,} bad rows left out"
    if kept is not None and kept.id is not None:
        text += f", kept as run {short_id(kept.id)}"
    if output not in {None, "-"}:
        text += f"; results in {output}"
        if any(counts.skipped for counts in job.tally.graders.values()):
            text += "; --resume grades the skipped rows"
    if spent := report.spent(job.tally):
        text += f"\n{spent}"
    console.print(text, markup=False, highlight=False, soft_wrap=True)
