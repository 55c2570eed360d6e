"""What a check or a report is asked for, as it is kept: whoever goes on with it has the same again."""

from collections.abc import Mapping
from typing import Any

import msgspec

from fairmark import jsontext
from fairmark.checks import fields
from fairmark.errors import InvalidData
from fairmark.judges.base import Budget
from fairmark.refusals import check_name, invalid, missing, wrong_type
from fairmark.trust.check import REQUIRED, CheckOptions
from fairmark.trust.gold import ITEMS
from fairmark.trust.places import Places, read_path
from fairmark.trust.plan import CheckLimits
from fairmark.trust.probes import PROBES
from fairmark.trust.sheet import PROBE_ROWS

LONGEST_S = 24 * 3600.0
"""A check that takes longer has failed, whatever it waits for."""
MOST_RUNS = 200
MOST_ITEMS = 10_000
_PLACES = ("answer", "question", "reference")
_COMMON = ("name", "budget", "deadline_s", "seed", "dry_run")
_OF_CHECK = (
    "grader", "rows", "file_id", "probes", "max_calls", "require", "probe_rows", *_PLACES, "pair", "pair_labels",
    *_COMMON,
)  # fmt: skip
_OF_REPORT = ("eval_id", "runs", "criterion", "gold", "items", "series", *_COMMON)
_OF_GOLD = ("grader", "rows", "file_id")


class CheckRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge check is asked for. `grader` has no references left in it."""

    grader: dict[str, Any]
    rows_from: str
    """What the rows are called: a file's name, or just rows."""
    file_id: str | None = None
    name: str | None = None
    probes: list[str] | None = None
    max_calls: int | None = None
    budget: dict[str, float] = msgspec.field(default_factory=dict)
    require: str = "care"
    seed: int = 0
    probe_rows: int = PROBE_ROWS
    places: dict[str, Any] = msgspec.field(default_factory=dict)
    pair_labels: list[str] | None = None
    deadline_s: float | None = None

    def options(self) -> CheckOptions:
        return CheckOptions(
            self.probes,
            CheckLimits(self.max_calls, _tokens(self.budget), self.budget.get("dollars")),
            _places(self.places),
            self.pair_labels,
            self.seed,
            self.probe_rows,
        )


class ReportRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a hacking report is asked for: runs of one eval in the order of their steps, and what their reward is held
    against."""

    eval_id: str
    runs: list[str]
    criterion: str
    """Its id."""
    criterion_name: str
    gold: dict[str, Any] | None = None
    """The gold grader, without references."""
    rows_from: str | None = None
    """What the labels are called; None where there are none."""
    file_id: str | None = None
    items: int = ITEMS
    series: dict[str, list[float]] = msgspec.field(default_factory=dict)
    name: str | None = None
    budget: dict[str, float] = msgspec.field(default_factory=dict)
    seed: int = 0
    deadline_s: float | None = None


def stored(request: CheckRequest | ReportRequest) -> dict[str, Any]:
    dumped: dict[str, Any] = msgspec.to_builtins(request)
    return dumped


def budget_of(request: CheckRequest | ReportRequest) -> Budget:
    """Nothing of it spent yet."""
    return Budget(_tokens(request.budget), request.budget.get("dollars"))


def _tokens(budget: Mapping[str, float]) -> int | None:
    tokens = budget.get("tokens")
    return None if tokens is None else int(tokens)


def _places(body: Mapping[str, Any]) -> Places:
    """Raises InvalidData."""
    paths = {name: read_path(name, body[name]) for name in _PLACES if body.get(name) is not None}
    pair = body.get("pair")
    return Places(**paths, pair=None if pair is None else (read_path("pair", pair[0]), read_path("pair", pair[1])))


def read_check(body: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a CheckRequest, but for its grader and its rows. Raises ApiError."""
    fields.check_known(body, _OF_CHECK)
    if body.get("grader") is None:
        raise missing("grader", 'It takes a grader, or {"type": "registered", "key": "…"}.')
    if not isinstance(body["grader"], dict):
        raise wrong_type("grader", "an object", body["grader"])
    probes = fields.names(body, "probes")
    for probe in probes or ():
        if probe not in PROBES:
            raise invalid(
                f"probes: there is no probe {jsontext.quote(probe)}.{jsontext.nearest(probe, PROBES)} "
                f"Use: {', '.join(PROBES)}.",
                "probes",
            )
    places = {name: value for name in _PLACES if (value := fields.text(body, name)) is not None}
    pair = fields.names(body, "pair")
    if pair is not None and len(pair) != 2:
        raise invalid(f"pair: found {len(pair)} paths. It takes two, such as item.a and item.b.", "pair")
    read: dict[str, Any] = {
        **_common(body),
        "probes": probes,
        "max_calls": fields.whole(body, "max_calls", 1),
        "require": fields.choice(body, "require", REQUIRED, "care"),
        "probe_rows": fields.whole(body, "probe_rows", 30, 10_000) or PROBE_ROWS,
        "places": {**places, **({} if pair is None else {"pair": pair})},
        "pair_labels": fields.names(body, "pair_labels"),
    }
    try:
        _places(read["places"])
    except InvalidData as error:
        raise invalid(str(error), str(error).partition(":")[0]) from None
    return read


def read_report(body: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a ReportRequest as they are sent: its runs, criterion and gold are looked up by others. Raises
    ApiError."""
    fields.check_known(body, _OF_REPORT)
    eval_id, runs = fields.text(body, "eval_id"), fields.names(body, "runs")
    if eval_id is None:
        raise missing("eval_id", "It takes the id of the eval whose runs are the steps.")
    if runs is not None and not 2 <= len(runs) <= MOST_RUNS:
        raise invalid(
            f"runs: found {len(runs)}. A series takes 2 to {MOST_RUNS} runs of the eval, in the order of their steps.",
            "runs",
        )
    if runs is not None and len(set(runs)) < len(runs):
        raise invalid("runs: one of them stands there twice.", "runs")
    gold = body.get("gold")
    if gold is not None:
        if not isinstance(gold, dict):
            raise wrong_type("gold", 'an object: {"grader": …}, {"rows": […]} or {"file_id": "…"}', gold)
        fields.check_known(gold, _OF_GOLD)
        if len([name for name in _OF_GOLD if gold.get(name) is not None]) != 1:
            raise invalid("gold: it takes one of grader, rows and file_id.", "gold")
        if gold.get("grader") is not None and not isinstance(gold["grader"], dict):
            raise wrong_type("gold.grader", "an object", gold["grader"])
    return {
        **_common(body),
        "eval_id": eval_id,
        "runs": runs,
        "criterion": fields.text(body, "criterion"),
        "gold": gold,
        "items": fields.whole(body, "items", 2, MOST_ITEMS) or ITEMS,
        "series": _series(body.get("series")),
    }


def _common(body: Mapping[str, Any]) -> dict[str, Any]:
    name, deadline = fields.text(body, "name"), body.get("deadline_s")
    check_name(name)
    if deadline is not None and fields.above_zero("deadline_s", deadline) > LONGEST_S:
        raise invalid(f"deadline_s: found {deadline:g}. It takes at most {LONGEST_S:g}, a day.", "deadline_s")
    return {
        "name": name,
        "budget": fields.budget(body),
        "deadline_s": deadline,
        "seed": fields.whole(body, "seed", 0) or 0,
    }


def _series(series: Any) -> dict[str, list[float]]:
    """Numbers by step, under the names of what was measured."""
    if series is None:
        return {}
    wanted = 'an object of numbers by step, such as {"kl": [0.0, 0.1]}'
    if not isinstance(series, dict) or len(series) > 20:
        raise wrong_type("series", wanted, series)
    for name, values in series.items():
        where = f"series.{jsontext.shorten(name)}"
        if not isinstance(values, list):
            raise wrong_type(where, "a list of numbers", values)
        for value in values:
            if not isinstance(value, (int, float)) or isinstance(value, bool):
                raise wrong_type(where, "a list of numbers", value)
    return series
