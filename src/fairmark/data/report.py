"""The summary table of a run, for a terminal."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fairmark.data.tally import GraderTally, Tally
from fairmark.spec import GraderSpec

MUCH = 0.05
"""Where a greater share of rows could not be graded, the report begins with it."""
MOST_SHOWN = 10
_BARS = " ▁▂▃▄▅▆▇█"


def histogram(bins: list[int]) -> str:
    """Bars from reward 0 (left) to 1 (right). A bin that holds anything shows at least the lowest bar."""
    most = max(bins)
    return "".join(_BARS[-(-8 * count // most)] if count else " " for count in bins)


def table(tally: Tally) -> Table:
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column("grader", overflow="fold")
    skipping = any(counts.skipped for counts in tally.graders.values())
    for heading in ("mean", "pass rate", "passed", "failed", "errors", *(["skipped"] if skipping else [])):
        shown.add_column(heading, justify="right", no_wrap=True)
    shown.add_column("rewards 0 to 1", no_wrap=True)
    for label, counts in tally.graders.items():
        shown.add_row(Text(label), *_cells(counts, skipping))
    return shown


def _cells(counts: GraderTally, skipping: bool) -> list[str | Text]:
    def number(value: float | None, form: str) -> str:
        return "–" if value is None else format(value, form)

    judged = counts.judged > 0
    return [
        number(counts.mean, ".4f"),
        number(counts.pass_rate, ".1%"),
        str(counts.passed) if judged else "–",
        str(counts.judged - counts.passed) if judged else "–",
        Text(str(counts.errors), style="red" if counts.errors else ""),
        *([Text(str(counts.skipped), style="yellow" if counts.skipped else "")] if skipping else []),
        f"|{histogram(counts.bins)}|" if counts.graded else "",
    ]


def many_errors(tally: Tally) -> str | None:
    """What stands before all figures, where so many rows could not be graded that they say little; None else."""
    if tally.errored <= MUCH * tally.rows:
        return None
    share = f"{tally.errored:,} of {tally.rows:,} rows could not be graded ({tally.errored / tally.rows:.1%})."
    return f"{share} What follows is of the others alone."


def show(tally: Tally, console: Console) -> None:
    if many := many_errors(tally):
        console.print(Text(f"{many}\n", style="red"))
    console.print(table(tally))
    for label, counts in tally.graders.items():
        if counts.reasons:
            console.print(Text(f"\n{label}: {counts.errors} of {tally.rows} rows could not be graded:"))
            for text, count in sorted(counts.reasons.items(), key=lambda pair: (not pair[0], -pair[1]))[:MOST_SHOWN]:
                console.print(Text(f"  {count:,} × {text or 'other reasons'}"))
            if len(counts.reasons) > MOST_SHOWN:
                console.print(Text(f"  … and {len(counts.reasons) - MOST_SHOWN} more reasons"))
        if counts.split:
            console.print(Text(f"\n{label}: {split(counts)}"))
        if counts.first_skipped is not None:
            console.print(Text(f"\n{label}: {counts.skipped} of {tally.rows} rows were skipped. The first:"))
            console.print(Text(f"  {counts.first_skipped}"))


def warnings(tally: Tally, graders: Mapping[str, GraderSpec]) -> list[str]:
    """What is to be told of graders and rows, each once: of a grader, then how many rows had what."""
    lines = []
    for label, counts in tally.graders.items():
        lines += [f"{label}: {text}" for text in graders[label].all_warnings]
        lines += [f"{label}: {text}" for text in counts.warnings.told(tally.rows)]
    return lines


def summary(tally: Tally, graders: Mapping[str, GraderSpec], seconds: float) -> dict[str, Any]:
    """What the table shows, for programs."""
    return {
        "rows": tally.rows,
        "seconds": seconds,
        "graders": {
            label: {
                "mean": counts.mean,
                "pass_rate": counts.pass_rate,
                "passed": counts.passed,
                "failed": counts.judged - counts.passed,
                "errors": counts.errors,
                "skipped": counts.skipped,
                "error_reasons": dict(counts.reasons),
                "tokens": counts.tokens,
                "cost": counts.cost,
                **_split(counts),
                "warnings": [*graders[label].all_warnings, *counts.warnings.told(tally.rows)],
            }
            for label, counts in tally.graders.items()
        },
    }


def split(counts: GraderTally) -> str:
    """On how many rows judges were not of one mind, and who differed how often, in words."""
    others = sorted(counts.dissent.items(), key=lambda pair: (-pair[1], pair[0]))
    named = ", ".join(f"{model} on {count:,}" for model, count in others[:MOST_SHOWN])
    more = f", and {len(others) - MOST_SHOWN} more" if len(others) > MOST_SHOWN else ""
    return f"its judges split on {counts.split:,} of {counts.asked_several:,} rows. Differed: {named}{more}."


def _split(counts: GraderTally) -> dict[str, Any]:
    """The same for programs; nothing of graders that ask one judge once."""
    return {"split": counts.split, "dissent": dict(counts.dissent)} if counts.asked_several else {}


def spent(tally: Tally) -> str | None:
    """What judges took, in words; None where none was asked."""
    graders = tally.graders.values()
    if not any(counts.asked for counts in graders):
        return None
    text = f"judges: {sum(counts.tokens for counts in graders):,} tokens"
    cost = sum(counts.cost for counts in graders)
    if any(counts.unpriced for counts in graders):
        return f"{text}, at least ${cost:.4f} (not every model has a price)" if cost else text
    return f"{text}, ${cost:.4f}"
