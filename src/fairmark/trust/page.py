"""The report of a check as one page that stands alone: no script, nothing fetched, in light and in dark."""

import html
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from fairmark.fragments import table
from fairmark.trust import figures
from fairmark.trust.figures import Figure

if TYPE_CHECKING:
    from fairmark.trust.check import JudgeCheck
    from fairmark.trust.outcome import Probed


__all__ = ["document", "page", "table"]


@cache
def _style() -> str:
    return resources.files("fairmark.trust").joinpath("page.css").read_text()


def document(title: str, body: Iterable[str]) -> str:
    """A whole page around its parts."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{_style()}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def page(check: "JudgeCheck") -> str:
    spec, report = check.subject.spec, check.model_dump()
    models = ", ".join(check.subject.models) or "no model"
    when = datetime.fromtimestamp(check.created_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    parts = [
        f"<h1>Can {html.escape(spec.name)} be trusted?</h1>",
        f'<p><span class="grade {check.grade.replace(" ", "-")}">{check.grade}</span></p>',
        "<ul>", *(f"<li>{html.escape(reason)}</li>" for reason in check.reasons), "</ul>",
        f'<p class="dim">{html.escape(spec.type)} by {html.escape(models)}, version '
        f"<code>{check.subject.fingerprint}</code>, "
        f"{when}. {_rows(check)} {_asked(check)}</p>",
        "<h2>Agreement with people</h2>", _agreement(report), _statistics(check),
        *_scores(check, report),
        *_confusion(check),
        "<h2>What moves it that should not</h2>", *_probe_figure(report), _probes(check.probes),
        _small_print(check),
    ]  # fmt: skip
    return document(f"{spec.name}: {check.grade}", parts)


def _rows(check: "JudgeCheck") -> str:
    compared = check.compared
    raters = len(check.labelled.raters)
    text = f"{compared.labelled} rows that people have judged"
    text += f" ({raters} raters)" if raters > 1 else ""
    text += f", {compared.tied} on which they are tied" if compared.tied else ""
    text += f", {compared.ungraded} that the judge could not grade" if compared.ungraded else ""
    return f"{text}."


def _asked(check: "JudgeCheck") -> str:
    dollars = "" if check.dollars is None else f", ${check.dollars:.2f}"
    failed = f", {check.failed} of them failed" if check.failed else ""
    return f"{check.asked:,} questions{failed}, {check.tokens:,} tokens{dollars}."


def figure(drawn: Figure) -> str:
    return f"<figure><figcaption>{html.escape(drawn.caption)}</figcaption>\n{drawn.svg}</figure>"


def _agreement(report: Mapping[str, Any]) -> str:
    drawn = figures.agreement(report)
    return '<p class="dim">Nothing could be compared.</p>' if drawn is None else figure(drawn)


def _statistics(check: "JudgeCheck") -> str:
    rows = []
    ceiling = check.compared.ceiling
    for statistic in [*check.compared.statistics, *([ceiling] if ceiling else [])]:
        value = "undefined" if statistic.value is None else f"{statistic.value:.3f}"
        name = f"people among themselves, {statistic.name}" if statistic is ceiling else statistic.name
        rows.append((name, value, _interval(statistic.interval), str(statistic.rows), statistic.why))
    return table(("figure", "value", "95 %", "rows", ""), rows, {1, 2, 3})


def _scores(check: "JudgeCheck", report: Mapping[str, Any]) -> list[str]:
    parts = [figure(drawn) for drawn in figures.scores(report)]
    smooth = check.compared.smoothness
    if parts and smooth is not None:
        told = (
            f"{smooth.values} distinct values, {smooth.commonest:.0%} of rows on the commonest, "
            f"{smooth.at_ends:.0%} at the ends."
        )
        parts.append(f'<p class="dim">{told}{f" {smooth.warning}." if smooth.warning else ""}</p>')
    return ["<h2>Scores</h2>", *parts] if parts else []


def _confusion(check: "JudgeCheck") -> list[str]:
    confusion = check.compared.confusion
    if not confusion:
        return []
    labels = sorted({label for pair in confusion for label in pair})
    rows = [(label, *(str(confusion.get((label, other), 0)) for other in labels)) for label in labels]
    heading = ("people \\ judge", *labels)
    return ["<h2>Who said what</h2>", table(heading, rows, set(range(1, len(heading))))]


def _probe_figure(report: Mapping[str, Any]) -> list[str]:
    drawn = figures.probes(report)
    return [] if drawn is None else [figure(drawn)]


def _probes(probes: Sequence["Probed"]) -> str:
    rows: list[tuple[str, ...]] = []
    for probe in probes:
        measured = probe.measured
        if measured is None:
            rows.append((probe.name, probe.finds, probe.status, "", "", probe.why))
            continue
        p = "" if probe.p is None else "< 0.001" if probe.p < 0.001 else f"{probe.p:.3f}"
        words = f"{measured.words}. {probe.remedy}" if probe.is_bad else f"{measured.words}."
        rows.append((probe.name, probe.finds, probe.says, p, str(measured.rows), words))
    return table(("probe", "looks for", "says", "p, corrected", "rows", ""), rows, {3, 4})


def _small_print(check: "JudgeCheck") -> str:
    notes = [
        "Intervals of proportions are Wilson's, the others percentiles of 2,000 draws of groups of rows.",
        "p-values are corrected by Holm over all probes of this check; an alarm is below 5 % and beyond 0.05.",
        f"Seed {check.seed}.",
        *(f"{note}." for note in check.plan.notes),
    ]
    return f'<p class="dim">{html.escape(" ".join(notes))}</p>'


def _interval(bounds: tuple[float, float] | None) -> str:
    return "" if bounds is None else f"{bounds[0]:.2f} to {bounds[1]:.2f}"
