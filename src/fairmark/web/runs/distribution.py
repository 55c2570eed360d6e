"""Small pictures of a criterion, as SVG: how its rewards are spread, and how sure its pass rate is."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from fairmark.data.intervals import Interval, wilson
from fairmark.store.evals.scores import Bin, Histogram
from fairmark.web.frame import show

WIDTH, HEIGHT = 320.0, 84.0
SMALL_WIDTH, SMALL_HEIGHT = 96, 24
_TOP, _FLOOR = 14.0, 68.0
_LEAST = 2.0
"""How high a bar is at least: one row among 200,000 must be seen."""


def distribution(histogram: Histogram, threshold: float | None) -> Markup:
    """Bars of how many rewards lie where, what failed below what passed, and a line where passing begins."""
    if not histogram.bins:
        return Markup("")
    low, high = _axis(histogram)
    most = max(bin_.passed + bin_.failed for bin_ in histogram.bins)

    def x(value: float) -> float:
        return WIDTH * min(1.0, max(0.0, (value / 2 - low / 2) / (high / 2 - low / 2)))

    parts = [_bar(bin_, x, most, len(histogram.bins) == 1) for bin_ in histogram.bins if bin_.passed + bin_.failed]
    words = (
        f"{show.plural(histogram.count, 'reward')} from {show.reward(histogram.min)} to {show.reward(histogram.max)}, "
    )
    words += f"{show.reward(histogram.mean)} on average"
    if threshold is not None:
        words += f"; {show.reward(threshold)} passes"
        if low <= threshold <= high:
            parts.append(_line(x(threshold), threshold))
    labels = Markup(
        '<text class="dist__label" x="0" y="81">{}</text>'
        '<text class="dist__label dist__label--end" x="320" y="81">{}</text>'
    ).format(show.reward(low), show.reward(high))
    return Markup(
        '<svg class="dist" viewBox="0 0 320 84" role="img" aria-label="How the rewards are spread: {}">'
        '<line class="dist__floor" x1="0" x2="320" y1="68.5" y2="68.5"/>{}{}</svg>'
    ).format(words, Markup("").join(parts), labels)


def _axis(histogram: Histogram) -> tuple[float, float]:
    """From where to where; rewards that are all the same stand on an axis all the same."""
    low, high = histogram.bins[0].low, histogram.bins[-1].high
    if low < high:
        return low, high
    return (0.0, 1.0) if 0 <= low <= 1 else (low - max(1.0, abs(low)) / 2, low + max(1.0, abs(low)) / 2)


def _bar(bin_: Bin, x: Callable[[float], float], most: int, is_only: bool) -> Markup:
    left, right = x(bin_.low), x(bin_.high)
    if is_only:
        middle = min(max(x(bin_.low), 8.0), WIDTH - 8.0)
        left, right = middle - 8.0, middle + 8.0
    gap = min(1.0, (right - left) / 8)
    total = bin_.passed + bin_.failed
    height = max(_LEAST, (_FLOOR - _TOP) * total / most)
    words = Markup("<title>{} to {}: {} passed, {} failed</title>").format(
        show.reward(bin_.low), show.reward(bin_.high), show.number(bin_.passed), show.number(bin_.failed)
    )
    failed = height * bin_.failed / total
    rects = [
        Markup('<rect class="dist__{}" x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}"/>').format(
            tone, left + gap, bottom - high, right - left - 2 * gap, high
        )
        for tone, bottom, high in (("fail", _FLOOR, failed), ("pass", _FLOOR - failed, height - failed))
        if high > 0
    ]
    return Markup("<g>{}{}</g>").format(words, Markup("").join(rects))


def _line(at: float, threshold: float) -> Markup:
    """With its number above, which must not leave the picture."""
    side = "end" if at > WIDTH - 60 else "start" if at < 60 else "middle"
    return Markup(
        '<line class="dist__threshold" x1="{0:.2f}" x2="{0:.2f}" y1="{1}" y2="{2}"/>'
        '<text class="dist__label dist__label--{3}" x="{0:.2f}" y="9">passes from {4}</text>'
    ).format(min(max(at, 0.75), WIDTH - 0.75), _TOP - 1, _FLOOR, side, show.reward(threshold))


class Rate(NamedTuple):
    """A pass rate: of what was graded, for an error is no failure."""

    share: float
    interval: Interval

    @property
    def bar(self) -> Markup:
        """The share as a line, and the range that it may as well be in."""
        return _interval_bar(self.share, self.interval)


def rate(passed: int, failed: int) -> Rate | None:
    graded = passed + failed
    return Rate(passed / graded, wilson(passed, graded)) if graded else None


def _interval_bar(share: float, interval: Interval) -> Markup:
    return Markup(
        '<svg class="interval" viewBox="0 0 200 12" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        '<rect class="interval__all" x="0" y="4" width="200" height="4" rx="2"/>'
        '<rect class="interval__range" x="{:.2f}" y="3" width="{:.2f}" height="6" rx="2"/>'
        '<rect class="interval__rate" x="{:.2f}" y="0" width="2" height="12"/></svg>'
    ).format(200 * interval.low, max(1.0, 200 * (interval.high - interval.low)), min(max(200 * share - 1, 0), 198))


def small(counts: Sequence[int]) -> Markup:
    """How rewards are spread, as wide as a word; nothing where there are none."""
    most = max(counts, default=0)
    if not most:
        return Markup("")
    step = SMALL_WIDTH / len(counts)
    bars = Markup("").join(
        Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>').format(
            at * step, SMALL_HEIGHT - height, step - 1, height
        )
        for at, count in enumerate(counts)
        if (height := count and max(_LEAST, SMALL_HEIGHT * count / most))
    )
    words = f"Rewards from the least to the greatest: {', '.join(map(str, counts))} rows"
    return Markup('<svg class="spread" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        SMALL_WIDTH, SMALL_HEIGHT, words, bars
    )
