"""Output items that were made elsewhere: what they say, in the words that items of our own have.

The hosted service has fewer keys in a result than we do, and others than we know may have fewer still. Nothing here
fails on an item that is an object, whatever it holds.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fairmark import jsontext
from fairmark.evals.criteria import Outcome, flat, row_outcome

_STATUSES: dict[Any, Outcome] = {
    "pass": "pass",
    "passed": "pass",
    "fail": "fail",
    "failed": "fail",
    "error": "error",
    "errored": "error",
    "skip": "skip",
    "skipped": "skip",
}
FLATTENED = "messages of its rows had images, of which only the text was stored: graders see no image"
_RESULT_STATUSES: dict[Outcome, str] = {"error": "error", "skip": "skipped"}


def is_flattened(body: bytes) -> bool:
    """Whether an item's messages had images once: the hosted service stores each as its address in a tag."""
    return b"<image>" in body


def item_status(item: Mapping[str, Any]) -> Outcome | None:
    """What it says of itself; None where that is nothing we know."""
    status = item.get("status")
    return _STATUSES.get(status) if isinstance(status, str) else None


def result_outcome(result: Mapping[str, Any], status: Outcome | None) -> Outcome:
    """How one criterion went, in an item of this status. A score without a verdict is neither passed nor failed."""
    told = result.get("status")
    if told in ("error", "errored"):
        return "error"
    if told in ("skip", "skipped"):
        return "skip"
    if status == "error" and (result.get("score") is None or result_error(result) is not None):
        return "error"
    passed = result.get("passed")
    return "pass" if passed is True else "fail" if passed is False else "skip"


def result_error(result: Mapping[str, Any]) -> str | None:
    """Why it could not grade, by itself or by its judge."""
    sample = result.get("sample")
    for error in (result.get("error"), sample.get("error") if isinstance(sample, Mapping) else None):
        if words := error_words(error):
            return words
    return None


def error_words(error: Any) -> str | None:
    if not error:
        return None
    match error:
        case str():
            return error
        case {"message": str() as message} if message:
            return message
        case _:
            return jsontext.shorten(jsontext.write(error), 500)


def result_score(result: Mapping[str, Any]) -> float:
    """0 where it has none that is a number."""
    score = result.get("score")
    if isinstance(score, bool) or not isinstance(score, (int, float)):
        return 0.0
    try:
        return float(score) if math.isfinite(score) else 0.0
    except OverflowError:  # a whole number beyond all floats
        return 0.0


def results_of(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    results = item.get("results")
    return [result for result in results if isinstance(result, Mapping)] if isinstance(results, list) else []


def by_criterion(
    results: Sequence[Mapping[str, Any]], criteria: Sequence[Mapping[str, Any]]
) -> tuple[list[Mapping[str, Any] | None], list[str]]:
    """Of each criterion its result, known by the criterion's id or else its name; and the names of the others."""
    places: dict[str, int] = {}
    for key in ("name", "id"):
        places |= {str(criterion[key]): index for index, criterion in reversed(list(enumerate(criteria)))}
    results_in_order: list[Mapping[str, Any] | None] = [None] * len(criteria)
    others = []
    for result in results:
        name = str(result.get("name"))
        place = places.get(name)
        if place is None:
            others.append(name)
        elif results_in_order[place] is None:
            results_in_order[place] = result
    return results_in_order, others


def whole_status(item: Mapping[str, Any], outcomes: Sequence[Outcome]) -> Outcome:
    """The item's status as far as its results allow it: one that has failed by a criterion has not passed."""
    told, worst = item_status(item), row_outcome(outcomes)
    if told is None:
        return worst if outcomes else "skip"
    order: tuple[Outcome, ...] = ("error", "skip", "fail", "pass")
    return told if not outcomes or order.index(told) <= order.index(worst) else worst


def readable(body: bytes, criteria: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """An item of ours or from elsewhere, in our own form: every key is there, and results go by criteria's ids."""
    item = jsontext.decode(body)
    row, sample = item.get("datasource_item"), item.get("sample")
    status = item_status(item)
    results, _ = by_criterion(results_of(item), criteria)
    return {
        **item,
        "created_at": item["created_at"] if isinstance(item.get("created_at"), int) else 0,
        "datasource_item": row if isinstance(row, dict) else {} if row is None else {"item": row},
        "datasource_item_id": item.get("datasource_item_id"),
        "status": item.get("status"),
        "sample": readable_sample(sample),
        "results": [
            _readable_result(result, criterion, status)
            for result, criterion in zip(results, criteria, strict=True)
            if result is not None
        ],
    }


def readable_sample(sample: Any) -> dict[str, Any]:
    members = sample if isinstance(sample, Mapping) else {}
    sides = {name: _messages(members.get(name)) for name in ("input", "output")}
    if isinstance(sample, str):
        sides["output"] = [{"role": "assistant", "content": sample}]
    usage, words = members.get("usage"), error_words(members.get("error"))
    return {
        **members,
        **sides,
        "model": _text(members.get("model")),
        "finish_reason": _text(members.get("finish_reason")),
        "usage": {"total_tokens": 0, **usage} if isinstance(usage, dict) else {"total_tokens": 0},
        "error": None if words is None else {"message": words},
    }


def _text(given: Any) -> str:
    return given if isinstance(given, str) else ""


def _messages(given: Any) -> list[dict[str, Any]]:
    if isinstance(given, str):
        return [{"role": "assistant", "content": given}]
    if not isinstance(given, list):
        return []
    return [
        {**message, "content": flat(content) if isinstance(content := message.get("content"), (str, list)) else ""}
        for message in given
        if isinstance(message, Mapping)
    ]


def _readable_result(result: Mapping[str, Any], criterion: Mapping[str, Any], status: Outcome | None) -> dict[str, Any]:
    outcome = result_outcome(result, status)
    warnings, parts, printed = result.get("warnings"), result.get("sub_rewards"), result.get("printed")
    judge = result.get("sample")
    return {
        **result,
        "name": criterion["id"],
        "score": result_score(result),
        "passed": result.get("passed") is True,
        "status": _RESULT_STATUSES.get(outcome, "graded"),
        "error": result_error(result) if outcome in ("error", "skip", "fail") else None,
        "warnings": [str(warning) for warning in warnings] if isinstance(warnings, list) else [],
        "sub_rewards": parts if isinstance(parts, dict) else {},
        "printed": printed if isinstance(printed, str) else None,
        "sample": _readable_judge(judge) if isinstance(judge, Mapping) else None,
        "judgements": _readable_judgements(result.get("judgements")),
    }


def _readable_judge(sample: Mapping[str, Any]) -> dict[str, Any]:
    cost, latency = (
        value if isinstance(value := sample.get(name), (int, float)) else None for name in ("cost", "latency")
    )
    return {**readable_sample(sample), "cost": cost, "latency": latency, "cached": sample.get("cached") is True}


def _readable_judgements(given: Any) -> list[dict[str, Any]]:
    """What several judges said, each in the form of `sample`."""
    return [
        _readable_judge(judgement)
        for judgement in (given if isinstance(given, list) else [])
        if isinstance(judgement, Mapping)
    ]
