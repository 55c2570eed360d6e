"""A check as JSON: everything that its page and its table show, and the answers' figures behind them."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairmark.trust.outcome import Probed

if TYPE_CHECKING:
    from fairmark.trust.check import JudgeCheck


def dump(check: "JudgeCheck") -> dict[str, Any]:
    from fairmark.trust.check import SCHEMA

    subject, compared = check.subject, check.compared
    return {
        "schema": SCHEMA,
        "object": "judge_check",
        "created_at": check.created_at,
        "grade": check.grade,
        "reasons": check.reasons,
        "alarms": check.alarms,
        "grader": {
            "name": subject.spec.name,
            "type": subject.spec.type,
            "models": subject.models,
            "fingerprint": subject.fingerprint,
            "prompt_hash": subject.prompt_hash,
            "range": [subject.low, subject.high],
            "passes_from": subject.line,
            "guard": subject.has_guard,
            "registered": subject.spec.registered,
        },
        "rows": {
            "total": len(check.labelled.rows),
            "kind": check.labelled.kind,
            "mode": subject.mode,
            "compared": compared.labelled,
            "raters": check.labelled.raters,
            "tied": compared.tied,
            "ungraded": compared.ungraded,
            "groups": len({row.group for row in check.labelled.rows}),
        },
        "main": compared.main.dump(),
        "statistics": [statistic.dump() for statistic in compared.statistics],
        "ceiling": None if compared.ceiling is None else compared.ceiling.dump(),
        "smoothness": None if compared.smoothness is None else compared.smoothness._asdict(),
        "confusion": [
            {"human": human, "judge": judge, "rows": rows}
            for (human, judge), rows in sorted(compared.confusion.items())
        ],
        "points": [[round(human, 6), round(judge, 6)] for human, judge in compared.points],
        "probes": [_probe(probe) for probe in check.probes],
        "asked": {
            "questions": check.asked,
            "failed": check.failed,
            "failures": list(check.failures),
            "not_asked": check.unpaid,
            "from_cache": check.cached,
            "tokens": check.tokens,
            "dollars": check.dollars,
            "planned_calls": check.plan.calls,
            "seconds": round(check.seconds, 3),
        },
        "notes": list(check.plan.notes),
        "seed": check.seed,
    }


def _probe(probe: Probed) -> dict[str, Any]:
    told: dict[str, Any] = {"name": probe.name, "finds": probe.finds, "status": probe.status, "calls": probe.calls}
    if probe.why:
        told["why"] = probe.why
    measured = probe.measured
    if measured is None:
        return told
    low, high = measured.interval or (None, None)
    return {
        **told,
        "rows": measured.rows,
        "effect": _finite(measured.effect),
        "low": _finite(low),
        "high": _finite(high),
        "p": probe.p,
        "alarm": probe.alarm,
        "against": probe.against,
        "words": measured.words,
        "remedy": probe.remedy if probe.is_bad else None,
        "details": dict(_plain(measured.details)),
    }


def _plain(details: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: _finite(value) if isinstance(value, float) else value for name, value in details.items()}


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value
