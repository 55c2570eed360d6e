"""What is told of a kept run, for programs and for people: its criteria, and the first rows that did not pass."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fairmark import jsontext
from fairmark.data import intervals
from fairmark.kept.ids import short_id
from fairmark.text.moment import time_text

if TYPE_CHECKING:
    from fairmark.kept.found import KeptRun, RunSource

HEADINGS = ("criterion", "pass rate", "95 %", "passed", "failed", "errors", "skipped")
"""Of what `criteria_cells` gives."""
LIST_HEADINGS = ("run", "name", "eval", "begun", "status", "rows", "passed", "errors", "warnings", "cost")
"""Of what `list_cells` gives."""
MOST_REASONS = 10
SHOWN_CHARS = 160


def summary(run: "KeptRun") -> dict[str, Any]:
    return {
        "id": run.id,
        "name": run.name,
        "eval_id": run.eval_id,
        "eval": run.eval_name,
        "status": run.status,
        "created_at": run.created_at,
        "rows": run.rows,
        **run.outcomes._asdict(),
        "cost": run.cost,
        "seconds": run.seconds,
        "error": run.error,
        "data": dict(run.data),
        "criteria": {
            str(criterion["name"]): run.counts[criterion["id"]]._asdict()
            for criterion in run.criteria
            if criterion.get("id") in run.counts
        },
        "error_reasons": dict(run.reasons),
        "warnings": dict(run.warnings),
    }


def list_cells(run: "KeptRun") -> list[str]:
    return [
        short_id(run.id),
        run.name or "-",
        run.eval_name or "-",
        time_text(run.created_at),
        run.status,
        f"{run.rows:,}",
        rate(run.outcomes.pass_rate),
        str(run.outcomes.errors),
        f"{sum(run.warnings.values()):,}",
        "-" if run.cost is None else f"${run.cost:.4f}",
    ]


def about(run: "KeptRun") -> Iterator[str]:
    yield f"{run.shown}: {run.status}, {run.rows:,} rows of {run.eval_name or run.eval_id}"
    yield f"id {run.id}, eval {run.eval_id}"
    told = [f"begun {time_text(run.created_at)}"]
    if run.seconds is not None:
        told.append(f"took {run.seconds:.1f} s")
    if run.cost is not None:
        told.append(f"cost ${run.cost:.4f}")
    yield ", ".join(told)
    if run.data:
        digest = f", sha256 {str(run.data['sha256'])[:12]}" if run.data.get("sha256") else ""
        yield f"data {run.data.get('path') or run.data.get('name')}{digest}"
    if run.error:
        yield run.error


def criteria_cells(run: "KeptRun") -> Iterator[list[str]]:
    for criterion in run.criteria:
        counts = run.counts.get(criterion["id"])
        if counts is None:
            continue
        low, high = intervals.wilson(counts.passed, counts.graded)
        yield [
            str(criterion["name"]),
            rate(counts.pass_rate),
            f"{low:.1%} … {high:.1%}" if counts.graded else "-",
            str(counts.passed),
            str(counts.failed),
            str(counts.errors),
            str(counts.skipped),
        ]


def counted(reasons: Mapping[str, int]) -> list[str]:
    """The most frequent first."""
    ordered = sorted(reasons.items(), key=lambda pair: -pair[1])
    return [f"{count:,} × {text or 'other reasons'}" for text, count in ordered[:MOST_REASONS]]


def rate(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


async def not_passed(place: "RunSource", run: "KeptRun", most: int) -> list[dict[str, Any]]:
    """The first rows that did not pass, with what each criterion made of them."""
    rows: list[dict[str, Any]] = []
    names = {str(criterion["id"]): str(criterion["name"]) for criterion in run.criteria}
    if not most:
        return rows
    async for bodies in place.items(run):
        for body in bodies:
            item = jsontext.decode(body)
            if item.get("status") not in ("pass", "passed"):
                rows.append(
                    {
                        "row": row_number(item),
                        "status": item.get("status"),
                        "results": "; ".join(_told(names, result) for result in item.get("results") or []),
                        "item": jsontext.shorten(jsontext.write(item.get("datasource_item")), SHOWN_CHARS),
                    }
                )
            if len(rows) == most:
                return rows
    return rows


def _told(names: Mapping[str, str], result: Mapping[str, Any]) -> str:
    label = names.get(str(result.get("name")), str(result.get("name")))
    if result.get("error"):
        return f"{label} {result.get('status')}: {jsontext.shorten(str(result['error']), 120)}"
    return f"{label} {result.get('score')} {'passed' if result.get('passed') else 'failed'}"


def row_number(item: Mapping[str, Any]) -> int:
    """From 1, as people count."""
    number = item.get("datasource_item_id")
    return number + 1 if isinstance(number, int) else 0
