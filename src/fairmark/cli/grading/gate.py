"""Whether a build passes: what `fairmark eval` found, held against what was asked for."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import typer

from fairmark import jsontext
from fairmark.cli.grading.keeping import WhereKept
from fairmark.cli.runs.opening import with_place
from fairmark.cli.shared import exits
from fairmark.data import intervals
from fairmark.data.comparing import SIGNIFICANT, in_words, p_words
from fairmark.data.comparison import Comparison, Side, compare_sides
from fairmark.data.outfile import write_whole
from fairmark.data.report_markdown import markdown
from fairmark.data.results_side import read_side
from fairmark.data.tally import Tally
from fairmark.errors import InvalidData
from fairmark.kept.found import KeptRun, RunSource, find, side_of
from fairmark.kept.sides import is_file
from fairmark.spec import GraderSpec

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""Where a workflow of GitHub takes Markdown for its page; several steps write there."""


@dataclass(frozen=True)
class GateLimits:
    """What was asked for."""

    fail_under: float | None = None
    baseline: str | None = None
    max_cost: float | None = None
    max_seconds_per_row: float | None = None


@dataclass
class BuildGate:
    limits: GateLimits
    baseline: Side | None = None
    """What this run may not be worse than; None where nothing is there to compare with."""
    now: Side | None = None
    """This run's rows, where they are to be compared."""
    comparison: Comparison | None = None
    failures: list[str] = field(default_factory=list)
    """Why a build fails, a line each."""
    unknown: list[str] = field(default_factory=list)
    """Why nobody can tell whether it should."""

    def judge(self, tally: Tally, seconds: float, new_rows: int) -> None:
        self.unknown = _ungraded(tally)
        if self.unknown:  # no other figure says anything then
            return
        limits = self.limits
        if limits.fail_under is not None:
            for label, counts in tally.graders.items():
                if counts.quality < limits.fail_under:
                    self.failures.append(f"{label}: {counts.quality:.4f} is below {limits.fail_under:g}")
        if limits.max_cost is not None:
            self._judge_cost(tally, limits.max_cost)
        if limits.max_seconds_per_row is not None and new_rows:
            took = seconds / new_rows
            if took > limits.max_seconds_per_row:
                self.failures.append(f"{took:.4g} s a row are more than {limits.max_seconds_per_row:g}")
        if self.baseline is not None and self.now is not None and self.now.columns:
            self._judge_regression(self.baseline, self.now)

    def _judge_cost(self, tally: Tally, most: float) -> None:
        cost = sum(counts.cost for counts in tally.graders.values())
        if cost > most:
            self.failures.append(f"judges cost ${cost:.4f}, more than ${most:g}")
        elif any(counts.unpriced for counts in tally.graders.values()):
            self.unknown.append("--max-cost: not every model has a price, so that nobody knows what they cost")

    def _judge_regression(self, baseline: Side, now: Side) -> None:
        self.comparison = comparison = compare_sides([baseline, now])
        for _, criterion, compared in comparison.worse:
            flips = f"{compared.lost:,} rows lost, {compared.gained:,} gained"
            self.failures.append(f"{criterion.name}: {in_words(compared)} than {baseline.name}: {flips}")
        for criterion in comparison.criteria:
            before, after = criterion.outcomes
            if before is None or after is None:
                continue
            broken, whole = ((counts.errors + counts.skipped, sum(counts)) for counts in (before, after))
            more = intervals.two_proportions(*broken, *whole)
            if more.mean > 0 and more.p < SIGNIFICANT:
                self.unknown.append(
                    f"{criterion.name}: {whole[0]:,} of {whole[1]:,} rows were not graded, {broken[0]:,} of "
                    f"{broken[1]:,} in {baseline.name} ({p_words(more.p)}): nobody knows how those compare"
                )

    def exit(self) -> None:
        """Ends the command where it does not pass."""
        for line in (*self.failures, *self.unknown):
            typer.echo(line, err=True)
        if self.failures:
            raise typer.Exit(exits.EXIT_BELOW)
        if self.unknown:
            raise typer.Exit(exits.EXIT_UNGRADED)


def prepare(limits: GateLimits, wanted: WhereKept, eval_name: str, graders: Mapping[str, GraderSpec]) -> BuildGate:
    """Everything that can be known to be wrong before a row is graded. Raises InvalidData."""
    _check_fail_under(limits.fail_under, graders)
    for option, number in (("--max-cost", limits.max_cost), ("--max-seconds-per-row", limits.max_seconds_per_row)):
        if number is not None and not 0 <= number < math.inf:
            raise InvalidData(f"{option}: found {number:g}. It takes a number, 0 or more.")
    if limits.baseline is None:
        return BuildGate(limits)
    if is_file(limits.baseline):
        baseline: Side | None = read_side(limits.baseline)
    else:
        baseline = _stored(limits.baseline, wanted, eval_name, graders)
    if baseline is not None and not baseline.columns.keys() & graders.keys():
        raise InvalidData(
            f"--fail-on-regression: {baseline.name} has no grader of this run: it has {', '.join(baseline.columns)}, "
            f"and this run {', '.join(graders)}."
        )
    return BuildGate(limits, baseline, Side("this run") if baseline is not None else None)


def _ungraded(tally: Tally) -> list[str]:
    """Graders that graded nothing at all, a line each."""
    lines = []
    for label, counts in tally.graders.items():
        if tally.rows and counts.warnings.without_sample == tally.rows:
            lines.append(f"{label}: no row has the sample that it asks for, so that nothing was graded.")
        elif tally.rows and counts.graded == 0:
            lines.append(f"{label}: not one row could be graded.")
    return lines


def _stored(text: str, wanted: WhereKept, eval_name: str, graders: Mapping[str, GraderSpec]) -> Side | None:
    """The run that is meant, of this eval where it is meant by its name. None where there can be none yet: no run of
    the eval, or none of this run's own name."""

    async def found(place: RunSource) -> Side | KeptRun | None:
        from fairmark.evals.journals import eval_id_of

        eval_id = eval_id_of(wanted.project, eval_name, list(graders))
        try:
            return await side_of(place, await find(place, text, eval_id))
        except InvalidData:
            if text == wanted.name or not await place.runs(1, eval_id):
                return None
            raise

    side = with_place("", wanted.project, wanted.db, found)
    if isinstance(side, Side):
        return side
    typer.echo(
        f"--fail-on-regression: there is no run {jsontext.quote(text)} of {eval_name} yet: nothing is compared.",
        err=True,
    )
    return None


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


def write_summary(path: str | None, title: str, tally: Tally, seconds: float, gate: BuildGate) -> None:
    """As Markdown: into the file that was named, and behind what other steps of a workflow wrote."""
    step = os.environ.get(STEP_SUMMARY)
    text = f"{markdown(title, tally, seconds, gate.comparison, gate.failures, gate.unknown)}\n".encode()
    for name in dict.fromkeys(name for name in (path, step) if name):
        try:
            if name == step:
                with Path(name).open("ab") as file:
                    file.write(text)
            else:
                write_whole(name, text)
        except OSError as error:
            if name == path:
                raise InvalidData.unusable(name, error) from None
