"""What a benchmark hands back: lines that compare a number of ours with a peer's and with what is required."""

import datetime
import hashlib
import json
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Required:
    """A bound on our number, or on its ratio to the peer's."""

    bound: Literal["at least", "at most"]
    value: float
    of: Literal["ours", "ratio"] = "ours"

    def met(self, number: float) -> bool:
        return number >= self.value if self.bound == "at least" else number <= self.value


@dataclass(frozen=True, slots=True)
class Line:
    """One measurement. `ratio` is always ours / peer: above 1 is better for rows/s, below 1 for seconds and MB."""

    work: str
    ours: float
    unit: str
    peer: float | None = None
    peer_name: str = ""
    required: Required | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return self.ours / self.peer if self.peer else None

    @property
    def verdict(self) -> str:
        if self.required is None:
            return ""
        number = self.ours if self.required.of == "ours" else self.ratio
        if number is None:
            return "not measured"
        return "ok" if self.required.met(number) else "short"

    def cells(self) -> list[str]:
        """The line as the table shows it."""
        peer = self.peer_name if self.peer is None else f"{number_text(self.peer)} {self.unit} ({self.peer_name})"
        ratio = "" if self.ratio is None else number_text(self.ratio)
        required = ""
        if self.required is not None:
            sign = "≥" if self.required.bound == "at least" else "≤"
            unit = self.unit if self.required.of == "ours" else "× peer"
            required = f"{sign} {number_text(self.required.value)} {unit}"
        return [self.work, f"{number_text(self.ours)} {self.unit}", peer, ratio, required, self.verdict]


@dataclass(frozen=True, slots=True)
class Report:
    """One benchmark: what it measures, its lines, and every raw number behind them."""

    name: str
    about: str
    lines: list[Line]
    raw: Mapping[str, Any] = field(default_factory=dict)


ABOUT = (
    "Made by `make bench`; docs/speed.md tells what is measured and how. The ratio is ours / peer: above 1 is better"
    " for rows/s, below 1 for seconds and MB."
)
SOURCE = Path(__file__).parents[1] / "src" / "fairmark"
BUSY = 1.0
"""Load a core above which others were at work too: no benchmark here runs more processes than cores."""
HEADER = ["work", "ours", "peer", "ratio", "required", ""]


def number_text(value: float) -> str:
    """Three digits or so, which is what a benchmark can promise."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def machine() -> dict[str, Any]:
    """What one has to know of the machine, and of the code on it, to read the numbers."""
    return {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "source": source_mark(),
        "load": [round(os.getloadavg()[0], 2)],
    }


def source_mark() -> str:
    """A mark of exactly the package's files as they are now: numbers of different code do not belong together."""
    digest = hashlib.sha256()
    for path in sorted(SOURCE.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            digest.update(str(path.relative_to(SOURCE)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def after(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts with what the end of the measurement adds: the load then, and whether the code is still the same."""
    load = [*facts["load"], round(os.getloadavg()[0], 2)]
    return {**facts, "load": load, "source_changed": source_mark() != facts["source"]}


def show(report: Report) -> None:
    """Print the report as a table for the terminal."""
    rows = [HEADER, *(line.cells() for line in report.lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    print(f"\n{report.name}: {report.about}")
    for row in rows:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    for note in dict.fromkeys(line.note for line in report.lines if line.note):
        print(f"  {note}")


def save(report: Report, facts: Mapping[str, Any], folder: Path) -> None:
    """Write the report as NAME.json, and the summary of all reports in the folder anew."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        {
            "work": line.work,
            "ours": line.ours,
            "unit": line.unit,
            "peer": line.peer,
            "peer_name": line.peer_name,
            "ratio": line.ratio,
            "required": None
            if line.required is None
            else {"bound": line.required.bound, "value": line.required.value, "of": line.required.of},
            "verdict": line.verdict,
            "note": line.note,
            "cells": line.cells(),
        }
        for line in report.lines
    ]
    content = {"name": report.name, "about": report.about, "machine": facts, "lines": lines, "raw": report.raw}
    (folder / f"{report.name}.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    (folder / "README.md").write_text(_summary(folder))


def _summary(folder: Path) -> str:
    parts = ["# Benchmark results", ABOUT]
    for path in sorted(folder.glob("*.json")):
        report = json.loads(path.read_text())
        facts = report["machine"]
        where = f"{facts['system']}, {facts['cores']} cores, Python {facts['python']}"
        when = f"{facts['date']}, load {' to '.join(map(str, facts['load']))}, source {facts['source']}"
        if facts.get("source_changed"):
            when += ", **the source changed meanwhile: measure again**"
        if max(facts["load"]) > BUSY * facts["cores"]:
            when += ", **others kept the machine busy**"
        if facts.get("quick"):
            when += ", **small inputs: a smoke test, not a measurement**"
        table = [HEADER, ["---"] * len(HEADER), *(line["cells"] for line in report["lines"])]
        parts += [
            f"## {report['name']}",
            f"{report['about']} {where}; {when}.",
            "\n".join(map(_markdown_row, table)),
        ]
        notes = dict.fromkeys(line["note"] for line in report["lines"] if line["note"])
        if notes:
            parts.append("\n".join(f"- {note}" for note in notes))
    return "\n\n".join(parts) + "\n"


def _markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
