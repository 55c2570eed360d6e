"""The summary of an evaluation as Markdown, for a pull request."""

from collections.abc import Sequence

from fairmark.data import intervals
from fairmark.data.comparison import Comparison
from fairmark.data.comparison_forms import as_markdown, markdown_row, markdown_text
from fairmark.data.report import many_errors, spent
from fairmark.data.tally import GraderTally, Tally

REASONS_TOLD = 5


def markdown(
    title: str,
    tally: Tally,
    seconds: float,
    comparison: Comparison | None = None,
    failures: Sequence[str] = (),
    unknown: Sequence[str] = (),
) -> str:
    """`failures`: why a build fails; `unknown`: why nobody can tell whether it should."""
    sign, word = ("❌", "failed") if failures else ("⚠️", "could not tell") if unknown else ("✅", "passed")
    lines = [f"### {sign} {markdown_text(title)}: {word}", ""]
    lines += [f"- {markdown_text(line)}" for line in (*failures, *unknown)]
    lines += [""] if failures or unknown else []
    lines += [f"**{markdown_text(many)}**", ""] if (many := many_errors(tally)) else []
    lines.append(markdown_row(["grader", "mean", "pass rate", "95 %", "passed", "failed", "errors", "skipped"]))
    lines.append(markdown_row(["---", *["---:"] * 7]))
    lines += [markdown_row([markdown_text(label), *_cells(counts)]) for label, counts in tally.graders.items()]
    told = f"{tally.rows:,} rows in {seconds:.2f} s"
    if cost := spent(tally):
        told += f"; {cost}"
    lines += ["", markdown_text(told)]
    reasons = [
        f"- {count:,} × {markdown_text(label)}: {markdown_text(text or 'other reasons')}"
        for label, counts in tally.graders.items()
        for text, count in sorted(counts.reasons.items(), key=lambda pair: -pair[1])[:REASONS_TOLD]
    ]
    if reasons:
        lines += ["", "Rows that could not be graded:", "", *reasons]
    if comparison is not None:
        lines += ["", f"#### Against {markdown_text(comparison.sides[0].name)}", "", as_markdown(comparison)]
    return "\n".join(lines)


def _cells(counts: GraderTally) -> list[str]:
    rate, mean = counts.pass_rate, counts.mean
    low, high = intervals.wilson(counts.passed, counts.judged)
    return [
        "–" if mean is None else f"{mean:.4f}",
        "–" if rate is None else f"{rate:.1%}",
        "–" if rate is None else f"{low:.1%} … {high:.1%}",
        str(counts.passed) if counts.judged else "–",
        str(counts.judged - counts.passed) if counts.judged else "–",
        str(counts.errors),
        str(counts.skipped),
    ]
