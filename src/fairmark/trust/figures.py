"""The figures of reports, drawn from the reports as they are kept: for the page that stands alone, and for others."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fairmark.trust import plots
from fairmark.trust.plots import Whisker


class Figure(NamedTuple):
    caption: str
    svg: str


def agreement(report: Mapping[str, Any]) -> Figure | None:
    """Of a judge check: every statistic with its interval; None where nothing could be compared."""
    ceiling = report["ceiling"]
    lines = [
        Whisker(statistic["name"], statistic["value"], statistic["low"], statistic["high"], "",
                f"{statistic['value']:.2f}")
        for statistic in [*report["statistics"], *([ceiling] if ceiling else [])]
        if statistic["value"] is not None
    ]  # fmt: skip
    if not lines:
        return None
    lowest = min(0.0, *(line.value if line.low is None else line.low for line in lines))
    low = -1.0 if lowest < -0.5 else -0.5 if lowest < 0 else 0.0
    caption = "Each figure with its 95 % interval. The last is how far people agree among themselves."
    if not ceiling:
        caption = "Each figure with its 95 % interval. One rater: how far people agree among themselves is unknown."
    return Figure(caption, plots.whiskers(lines, "agreement with intervals", low, 1.0, (0.0, 0.4, 0.6)))


def scores(report: Mapping[str, Any]) -> Iterator[Figure]:
    """Of a judge that gives scores, whatever people gave: what they mean, and how they are spread."""
    points: Sequence[tuple[float, float]] = report["points"]
    mode = report["rows"]["mode"]
    if not points or (mode != "score" and not (mode == "pass" and len({judge for _, judge in points}) > 2)):
        return
    low, high = report["grader"]["range"]
    line = (report["grader"]["passes_from"] - low) / (high - low)
    yield Figure(
        "What people say, by what the judge says: bins of a tenth of the range. On the diagonal both say the same.",
        plots.calibration(points, "calibration of the judge's scores"),
    )
    yield Figure(
        "How often the judge gives which score. The broken line is where passing begins.",
        plots.histogram([judge for _, judge in points], "histogram of the judge's scores", line),
    )


def probes(report: Mapping[str, Any]) -> Figure | None:
    """The shift or rate of each probe; None where none was measured."""
    lines = [
        Whisker(probe["name"], probe["effect"], probe["low"], probe["high"],
                "bad" if probe["alarm"] or probe.get("against") else "", f"{probe['effect']:+.3f}")
        for probe in report["probes"]
        if probe.get("effect") is not None
    ]  # fmt: skip
    if not lines:
        return None
    ends = [abs(end) for line in lines for end in (line.low, line.high, line.value) if end is not None]
    reach = min(1.0, max(0.2, *ends))
    caption = (
        "Shifts as shares of the range, rates as shares of rows, with 95 % intervals. The lines at 0.05 are what is "
        "worth an alarm, where it is also sure."
    )
    return Figure(caption, plots.whiskers(lines, "effect of each probe", -reach, reach, (-0.05, 0.0, 0.05)))


def reward_and_gold(report: Mapping[str, Any]) -> Figure:
    """Of a hacking report: the curve of both."""
    steps = report["steps"]
    proxy = [(float(place), step["proxy"], *step["proxy_interval"]) for place, step in enumerate(steps)]
    gold = [
        (float(place), step["gold"], *step["gold_interval"])
        for place, step in enumerate(steps)
        if step["gold"] is not None and step["gold_interval"] is not None
    ]
    return Figure(
        "Reward and gold as shares of the range, with 95 % intervals.",
        plots.curves([("reward", proxy), ("gold", gold)], "reward and gold by step"),
    )
