"""What an archive holds, what could not be read, what its owner has to decide: for the terminal, report.md, the page.

A report is plain data made from the archive alone. Whoever loads the archive adds its own counts under `loaded`.
"""

import dataclasses
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

from fairmark import jsontext
from fairmark.errors import InvalidArchive, InvalidGrader
from fairmark.judges.retired import Retirement, alias_lines, retirement, told_ends
from fairmark.moving.archive import Archive, part_name
from fairmark.moving.pull.pages import Unreadable, read_head
from fairmark.parse import parse

NO_API = (
    "Datasets, prompts and annotations of the dashboard have no API and are not here: copy by hand what you need, "
    "before 30 November 2026."
)
ENDED = ("completed", "failed", "canceled", "cancelled")
MOST_LISTED = 10_000
"""Of each list: what comes after is only counted."""
_CHUNK = 1 << 20


@dataclasses.dataclass
class MovingReport:
    """All that is told about an archive."""

    archive: str
    source: str = ""
    base_url: str = ""
    counts: dict[str, int] = dataclasses.field(default_factory=dict)
    problems: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    """What could not be read, as in problems.jsonl."""
    not_gradable: list[dict[str, str]] = dataclasses.field(default_factory=list)
    """Runs that cannot be graded again: `run`, `eval`, `why`."""
    decisions: list[dict[str, str]] = dataclasses.field(default_factory=list)
    """Criteria that cannot run here as they are: `eval`, `criterion`, `type`, `why`."""
    judges: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    """Judges that are gone or will go: `model`, `gone`, `replacement`, `criteria` (how many name it)."""
    notes: list[str] = dataclasses.field(default_factory=list)
    stopped: str | None = None
    """Why the pull ended early."""
    go_on: str | None = None
    """The command that goes on with the pull."""
    load: str | None = None
    """The command that loads the archive."""
    loaded: dict[str, Any] = dataclasses.field(default_factory=dict)

    def dump(self) -> dict[str, Any]:
        """The report as JSON values."""
        return dataclasses.asdict(self)

    def aliases(self) -> str:
        """The lines for fairmark.toml that put the makers' replacements in place of judges that are gone; "" for none.
        Nobody follows them unless they are pasted."""
        lines = alias_lines((judge["model"], judge["replacement"]) for judge in self.judges if judge["replacement"])
        return "\n".join(["[aliases]", *lines]) if lines else ""


def report_of(archive: Archive, today: date | None = None) -> MovingReport:
    """What the archive tells of itself. Reads all of it, in the memory of its largest line. Raises InvalidArchive."""
    manifest = archive.manifest()
    report = MovingReport(str(archive.folder), str(manifest.get("source") or ""), str(manifest.get("base_url") or ""))
    report.problems = [problem for problem in _objects(archive, "problems.jsonl") if isinstance(problem, dict)]
    broken = _look_at_evals(archive, report, today or datetime.now(UTC).date())
    _look_at_runs(archive, report, broken)
    for kind in ("files", "completions", "responses", "jobs"):
        report.counts[kind] = sum(1 for _ in archive.lines(f"{kind}.jsonl"))
    report.counts["contents"] = len(archive.ids("files", ""))
    rebuilt = [file for file in _objects(archive, "files.jsonl") if isinstance(file, dict) and "rebuilt" in file]
    if rebuilt:
        report.notes.append(
            f"{len(rebuilt)} files that the service does not give were made of output items; they are marked "
            "`rebuilt`, or `partial` where rows may be missing."
        )
    if report.source == "openai":
        report.notes.append(NO_API)
    return report


def _objects(archive: Archive, name: str) -> Iterator[Any]:
    for number, line in enumerate(archive.lines(name), 1):
        try:
            yield jsontext.decode(line)
        except jsontext.NotJson as error:
            raise InvalidArchive(f"{archive.path(name)}: line {number}: {error}.") from None


# Criteria and judges


def _look_at_evals(archive: Archive, report: MovingReport, today: date) -> dict[str, int]:
    """How many criteria of each eval cannot run here; -1 for all of them."""
    broken: dict[str, int] = {}
    judges: Counter[str] = Counter()
    told_dates = _told_dates(archive)
    for value in _objects(archive, "evals.jsonl"):
        criteria = value.get("testing_criteria") if isinstance(value, dict) else None
        eval_id = str(value.get("id")) if isinstance(value, dict) else "?"
        wrong = 0
        listed = criteria if isinstance(criteria, list) else []
        for criterion in listed:
            judges.update(set(models_of(criterion)))
            why = why_not_runnable(criterion)
            if why is not None:
                wrong += 1
                name, kind = (
                    str(criterion.get(key, "")) if isinstance(criterion, dict) else "" for key in ("name", "type")
                )
                _add(report.decisions, {"eval": eval_id, "criterion": name, "type": kind, "why": why})
        broken[eval_id] = -1 if listed and wrong == len(listed) else wrong
    report.counts["evals"] = len(broken)
    for model, criteria_count in sorted(judges.items()):
        ends = retirement(model) or told_dates.get(model)
        if ends is not None:
            words = {"gone": str(ends.gone), "replacement": ends.replacement, "is_gone": ends.gone <= today}
            report.judges.append({"model": model, "criteria": criteria_count, **words})
    return broken


def _told_dates(archive: Archive) -> dict[str, Retirement]:
    """What the service itself says about the end of its models."""
    content = archive.read("models.json")
    try:
        value = jsontext.decode(content) if content else {}
    except jsontext.NotJson:
        value = {}
    return {name: Retirement(day, None) for name, day in told_ends(value).items()}


def models_of(criterion: Any) -> Iterator[str]:
    """The models that a criterion names, its parts too."""
    if isinstance(criterion, dict):
        model = criterion.get("model")
        if "type" in criterion and isinstance(model, str):
            yield model
        for value in criterion.values():
            yield from models_of(value)
    elif isinstance(criterion, list):
        for value in criterion:
            yield from models_of(value)


def why_not_runnable(criterion: Any) -> str | None:
    """Why a criterion cannot grade here as it is; None where it can."""
    if not isinstance(criterion, dict):
        return f"found {jsontext.describe(criterion)} in place of a grader."
    try:
        parse({key: value for key, value in criterion.items() if key != "id"})
    except InvalidGrader as error:
        return jsontext.shorten(" ".join(str(error).split()), 300)
    if any("{{" in model for model in models_of(criterion)):
        return "its model is a placeholder, not the name of a model."
    return None


# Runs


def _look_at_runs(archive: Archive, report: MovingReport, broken: dict[str, int]) -> None:
    incomplete = {problem.get("id") for problem in report.problems if problem.get("kind") == "list"}
    runs, items = archive.ids("runs", ".json"), 0
    for run_id in runs:
        content = archive.read(part_name("runs", run_id, ".json")) or b""
        try:
            run = read_head(content)  # its rows may be a hundred megabytes
        except Unreadable as error:
            raise InvalidArchive(f"{archive.folder}/{part_name('runs', run_id, '.json')}: {error}.") from None
        count, has_images = _look_at_items(archive, run_id)
        items += count
        eval_id = str(run.eval_id)
        why = None
        if count == 0:
            why = "it has no output items."
        elif f"items/{run_id}" in incomplete:
            why = f"only {count:,} of its output items could be read."
        elif run.status not in ENDED:
            why = f"it was {run.status} when it was read. Pull again when it has ended."
        elif eval_id not in broken:
            why = "its eval is not in the archive."
        elif broken[eval_id] == -1:
            why = "none of its criteria can run here as it is."
        elif has_images:
            why = "its inputs had images, and the service keeps only their addresses: they can be judged as text alone."
        if why is not None:
            _add(report.not_gradable, {"run": run_id, "eval": eval_id, "why": why})
    report.counts.update(runs=len(runs), items=items)


def _look_at_items(archive: Archive, run_id: str) -> tuple[int, bool]:
    """(how many there are, whether images stood in what was asked)"""
    count, has_images, end = 0, False, b""
    try:
        with archive.path(part_name("items", run_id, ".jsonl")).open("rb") as file:
            while chunk := file.read(_CHUNK):
                count += chunk.count(b"\n")
                has_images = has_images or b"<image>" in end + chunk
                end = chunk[-6:]
    except FileNotFoundError:
        return 0, False
    return count, has_images


def _add(lines: list[dict[str, str]], line: dict[str, str]) -> None:
    if len(lines) < MOST_LISTED:
        lines.append(line)


# Words

_KINDS = {
    "evals": "evals",
    "runs": "runs",
    "items": "output items",
    "labels": "labels",
    "files": "files",
    "contents": "contents of files",
    "jobs": "fine-tuning jobs",
    "completions": "stored completions",
    "responses": "responses",
}


def render(report: MovingReport, most: int = 20) -> str:
    """The report for people, in Markdown that reads well in a terminal too; `most` lines of each list."""
    parts = [f"# Moved from {report.base_url or report.source or 'an archive'}", ""]
    parts += [f"- {count:,} {_KINDS.get(kind, kind)}" for kind, count in report.counts.items()]
    if report.loaded:
        parts += ["", "## Loaded", "", *(f"- {key}: {value}" for key, value in report.loaded.items())]
    if report.stopped:
        parts += ["", "## Not finished", "", report.stopped]
    parts += _section("Could not be read", [_problem_words(problem) for problem in report.problems], most)
    runs = [f"{line['run']}: {line['why']}" for line in report.not_gradable]
    parts += _section("Runs that cannot be graded again", runs, most)
    criteria = [f"{line['criterion']} ({line['type']}) of {line['eval']}: {line['why']}" for line in report.decisions]
    parts += _section("Criteria that need a decision", criteria, most)
    parts += _section("Judges that are gone or will go", [_judge_words(judge) for judge in report.judges], most)
    if report.aliases():
        parts += ["", "To use the replacements, put this into fairmark.toml; their scores will differ:", ""]
        parts += [f"    {line}" for line in report.aliases().splitlines()]
    parts += _section("Notes", report.notes, most)
    for heading, command in (("Go on", report.go_on), ("Load it", report.load)):
        if command:
            parts += ["", f"## {heading}", "", f"    {command}"]
    return "\n".join(parts) + "\n"


def _section(heading: str, lines: list[str], most: int) -> list[str]:
    if not lines:
        return []
    more = [f"- … and {len(lines) - most:,} more"] if len(lines) > most else []
    return ["", f"## {heading}", "", *(f"- {' '.join(line.split())}" for line in lines[:most]), *more]


def _problem_words(problem: dict[str, Any]) -> str:
    instead = f" It was made of output items instead: {problem['instead']}." if "instead" in problem else ""
    why = str(problem.get("why"))
    if instead and not why.endswith((".", "!", "?")):
        why += "."
    return f"{problem.get('kind')} {problem.get('id')}: {why}{instead}"


def _judge_words(judge: dict[str, Any]) -> str:
    count = f"{judge['criteria']} {'criterion names' if judge['criteria'] == 1 else 'criteria name'} it"
    when = f"gone since {judge['gone']}" if judge["is_gone"] else f"goes on {judge['gone']}"
    instead = f"; {judge['replacement']} in its place" if judge["replacement"] else ""
    return f"{judge['model']}: {when}{instead}. {count}."
