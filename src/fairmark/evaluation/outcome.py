"""What `evaluate` returns: a dict as Azure's is, which notebooks show and which can be had as a data frame."""

from typing import Any

from fairmark import fragments, frames


class Evaluated(dict[str, Any]):
    """`rows`, `metrics`, `studio_url`, and with graders `oai_eval_run_ids`."""

    def to_pandas(self) -> Any:
        """The rows, with all columns, as a pandas.DataFrame."""
        return frames.to_pandas(self["rows"])

    def to_polars(self) -> Any:
        """The same as a polars.DataFrame."""
        return frames.to_polars(self["rows"])

    def _repr_html_(self) -> str:
        rows = self["rows"]
        metrics = [(name, fragments.cell(value)) for name, value in self["metrics"].items()]
        parts = [fragments.line(f"{len(rows):,} rows.")]
        if metrics:
            parts.append(fragments.table(("metric", "value"), metrics[: fragments.MOST_COLUMNS * 2], {1}))
        names = list(rows[0]) if rows else []
        # What was found out is worth more room than what was given.
        names.sort(key=lambda name: not name.startswith("outputs."))
        chosen = names[: fragments.MOST_COLUMNS]
        lines = [[fragments.cell(row[name]) for name in chosen] for row in rows[: fragments.MOST_ROWS]]
        parts.append(fragments.table([name.removeprefix("outputs.") for name in chosen], lines, set()))
        left_out = [
            f"{number:,} more {what}"
            for number, what in ((len(rows) - len(lines), "rows"), (len(names) - len(chosen), "columns"))
            if number > 0
        ]
        if left_out:
            parts.append(fragments.line(f"… {' and '.join(left_out)}; .to_pandas() and .to_polars() have all."))
        return fragments.whole(parts)
