"""Kept runs as notebooks show them: what each criterion made of the rows, with the plot of its rewards."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairmark import fragments
from fairmark.kept import summary

if TYPE_CHECKING:
    from fairmark.kept.found import KeptRun


def runs_html(runs: Sequence["KeptRun"]) -> str:
    lines = [[fragments.cell(text) for text in summary.list_cells(run)] for run in runs[: fragments.MOST_ROWS]]
    parts = [fragments.line(f"{len(runs):,} runs."), fragments.table(summary.LIST_HEADINGS, lines, {5, 6, 7, 8, 9})]
    if len(runs) > len(lines):
        parts.append(fragments.line(f"… {len(runs) - len(lines):,} more."))
    return fragments.whole(parts)


def run_html(run: "KeptRun") -> str:
    parts = [fragments.line(text, "" if not at else "dim") for at, text in enumerate(summary.about(run))]
    criteria = [[fragments.cell(text) for text in cells] for cells in summary.criteria_cells(run)]
    if criteria:
        parts.append(fragments.table(summary.HEADINGS, criteria[: fragments.MOST_ROWS], set(range(1, 7))))
    for name, column in list(run.columns.items())[: fragments.MOST_ROWS]:
        rewards = [reward for place, reward in enumerate(column.rewards) if column.is_graded(place)]
        if rewards:
            label = fragments.cell(name)
            parts += [fragments.line(label), fragments.rewards_plot(rewards, f"{label}: how often which reward")]
    for title, reasons in (("Could not be graded:", run.reasons), ("Warnings:", run.warnings)):
        if reasons:
            parts.append(fragments.line(title, "bad" if reasons is run.reasons else ""))
            parts += [fragments.line(fragments.cell(text)) for text in summary.counted(reasons)]
    if run.not_passed:
        lines = [[fragments.cell(row[key]) for key in ("row", "results", "item")] for row in run.not_passed]
        parts += [
            fragments.line("Rows that did not pass, the first of them:"),
            fragments.table(("row", "results", "item"), lines, {0}),
        ]
    return fragments.whole(parts)
