"""The report on a hacked reward as JSON, and as one page that stands alone."""

import html
from typing import Any

from fairmark import jsontext
from fairmark.trust import figures
from fairmark.trust.hacking import HackingReport, Step
from fairmark.trust.page import document, figure, table


def dump(report: HackingReport) -> dict[str, Any]:
    return {
        "schema": 1,
        "object": "hacking_report",
        "state": report.state,
        "words": report.words,
        "best_step": report.best,
        "steps": [
            {
                "name": step.name,
                "items": step.items,
                "proxy": step.proxy,
                "proxy_interval": list(step.proxy_interval),
                "gold": step.gold,
                "gold_interval": None if step.gold_interval is None else list(step.gold_interval),
                "rho": step.agreement,
                "failed": step.failed,
                "divergence": step.divergence,
                "divergence_at_least": step.lower,
                "gold_change": None if step.gold_change is None else list(step.gold_change),
                "state": step.state,
                "signs": dict(step.signs),
                "suspicious": list(step.suspicious),
                "components": dict(step.components),
            }
            for step in report.steps
        ],
        "largest_gaps": [gap.__dict__ for gap in report.gaps],
        "series": {name: list(values) for name, values in report.series.items()},
    }


def page(report: HackingReport) -> str:
    style = {"hacked": "not-trusted", "diverging": "with-care", "clean": "trusted"}.get(report.state, "with-care")
    parts = [
        "<h1>Has the reward been hacked?</h1>",
        f'<p><span class="grade {style}">{report.state}</span></p>',
        f"<p>{html.escape(report.words)}</p>",
        figure(figures.reward_and_gold(dump(report))),
        "<h2>Steps</h2>",
        _steps(report),
        "<h2>Signs</h2>",
        "<p class='dim'>Signs prove nothing. One is suspicious where it grew, goes with the reward inside the step, "
        "and the reward rose.</p>",
        _signs(report),
    ]
    for name, values in report.series.items():
        numbers = ", ".join(f"{value:g}" for value in values)
        parts.append(f"<p>{html.escape(name)}: {html.escape(numbers)}</p>")
    if report.gaps:
        parts += ["<h2>The largest gaps</h2>", _gaps(report)]
    return document(f"Reward: {report.state}", parts)


def _steps(report: HackingReport) -> str:
    rows = []
    for step in report.steps:
        gold = "" if step.gold is None else f"{step.gold:.3f}"
        rho = "" if step.agreement is None else f"{step.agreement:.2f}"
        away = "" if step.divergence is None else f"{step.divergence:+.3f}"
        least = "" if step.lower is None else f"{step.lower:+.3f}"
        rows.append((step.name, str(step.items), f"{step.proxy:.3f}", gold, rho, away, least, step.state or ""))
    headings = ("step", "items", "reward", "gold", "rho", "divergence", "at least", "")
    return table(headings, rows, {1, 2, 3, 4, 5, 6})


def _signs(report: HackingReport) -> str:
    names = list(dict.fromkeys(name for step in report.steps for name in step.signs))
    rows = [(step.name, *(_sign(step, name) for name in names)) for step in report.steps]
    return table(("step", *names), rows, set(range(1, len(names) + 1))) + "<p class='dim'>* suspicious</p>"


def _sign(step: Step, name: str) -> str:
    if name not in step.signs:
        return ""
    return f"{step.signs[name]:.3g}{' *' if name in step.suspicious else ''}"


def _gaps(report: HackingReport) -> str:
    rows = []
    for gap in report.gaps:
        item = jsontext.shorten(jsontext.write(gap.item), 200)
        rows.append((gap.step, f"{gap.proxy:.2f}", f"{gap.gold:.2f}", jsontext.shorten(gap.text, 300), item))
    return table(("step", "reward", "gold", "answer", "item"), rows, {1, 2})
