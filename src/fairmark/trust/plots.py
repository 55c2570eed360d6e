"""Plots as SVG texts for a page that stands alone: colours come from the page's own variables, by class."""

import html
import math
from collections.abc import Sequence
from typing import NamedTuple

WIDTH = 640
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 14, 12, 34


class Whisker(NamedTuple):
    """A figure with its interval on a line of its own."""

    name: str
    value: float
    low: float | None
    high: float | None
    style: str = ""
    note: str = ""


def whiskers(lines: Sequence[Whisker], label: str, low: float, high: float, marks: Sequence[float] = (0.0,)) -> str:
    """Figures below one another on a shared axis, with upright lines at the marks."""
    left, row = 190, 26
    height = len(lines) * row + 40

    def x(value: float) -> float:
        return left + (min(high, max(low, value)) - low) / (high - low) * (WIDTH - left - 70)

    parts = [f'<line class="grid" x1="{x(mark):.1f}" x2="{x(mark):.1f}" y1="4" y2="{height - 30}"/>' for mark in marks]
    for place, line in enumerate(lines):
        y = 16 + place * row
        parts.append(
            f'<text class="name" x="{left - 10}" y="{y + 4}" text-anchor="end">{html.escape(line.name)}</text>'
        )
        style = f"mark {line.style}".strip()
        if line.low is not None and line.high is not None:
            parts.append(f'<line class="{style}" x1="{x(line.low):.1f}" x2="{x(line.high):.1f}" y1="{y}" y2="{y}"/>')
        parts.append(f'<circle class="{style}" cx="{x(line.value):.1f}" cy="{y}" r="4.5"/>')
        parts.append(f'<text class="value" x="{WIDTH - 62}" y="{y + 4}">{html.escape(line.note)}</text>')
    parts += [
        f'<text class="axis" x="{x(value):.1f}" y="{height - 12}" text-anchor="middle">{_short(value)}</text>'
        for value in _ticks(low, high)
    ]
    return _svg(height, label, parts)


def histogram(values: Sequence[float], label: str, line: float) -> str:
    """Shares of the range from 0 to 1 in twenty bars; `line` is where passing begins."""
    bars = 20
    counts = [0] * bars
    for value in values:
        counts[min(bars - 1, max(0, math.floor(value * bars)))] += 1
    most, height = max(counts, default=1) or 1, 220
    width = (WIDTH - _LEFT - _RIGHT) / bars
    bottom = height - _BOTTOM
    parts = []
    for place, count in enumerate(counts):
        tall = count / most * (bottom - _TOP)
        parts.append(
            f'<rect class="bar" x="{_LEFT + place * width + 1:.1f}" y="{bottom - tall:.1f}" width="{width - 2:.1f}" '
            f'height="{tall:.1f}"><title>{place / bars:.2f} to {(place + 1) / bars:.2f}: {count} rows</title></rect>'
        )
    at = _LEFT + line * (WIDTH - _LEFT - _RIGHT)
    parts.append(f'<line class="line" x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP}" y2="{bottom}"/>')
    return _svg(height, label, [*_frame(height), f'<text class="axis" x="4" y="{_TOP + 8}">{most}</text>', *parts])


def calibration(points: Sequence[tuple[float, float]], label: str) -> str:
    """What people say (upright) by what the judge says, in up to ten bins; a good judge lies on the diagonal."""
    height = 320
    bins: dict[int, list[tuple[float, float]]] = {}
    for human, judge in points:
        bins.setdefault(min(9, max(0, math.floor(judge * 10))), []).append((human, judge))

    def spot(judge: float, human: float) -> tuple[float, float]:
        wide, tall = WIDTH - _LEFT - _RIGHT, height - _TOP - _BOTTOM
        return _LEFT + judge * wide, height - _BOTTOM - human * tall

    (x1, y1), (x2, y2) = spot(0, 0), spot(1, 1)
    parts = [f'<line class="grid" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>']
    parts += [
        '<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="2.5"/>'.format(*spot(judge, human)) for human, judge in points
    ]
    means = []
    for members in (bins[place] for place in sorted(bins)):
        judge = math.fsum(point[1] for point in members) / len(members)
        human = math.fsum(point[0] for point in members) / len(members)
        x, y = spot(judge, human)
        means.append((x, y, len(members)))
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in means)
    parts.append(f'<polyline class="curve" points="{path}"/>')
    parts += [
        f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="{3 + min(5, math.sqrt(n) / 2):.1f}"><title>{n} rows</title>'
        "</circle>"
        for x, y, n in means
    ]
    parts.append(f'<text class="axis" x="{_LEFT + 6}" y="{_TOP + 10}">people</text>')
    parts.append(f'<text class="axis" x="{WIDTH - _RIGHT}" y="{height - _BOTTOM - 6}" text-anchor="end">judge</text>')
    return _svg(height, label, [*_frame(height), *parts])


def curves(series: Sequence[tuple[str, Sequence[tuple[float, float, float, float]]]], label: str) -> str:
    """Lines over steps with their bands: of each (step, value, low, high), all from 0 to 1."""
    height = 300
    steps = [point[0] for _, points in series for point in points]
    first, last = min(steps, default=0), max(steps, default=1)

    def spot(step: float, value: float) -> tuple[float, float]:
        across = (step - first) / ((last - first) or 1)
        wide, tall = WIDTH - _LEFT - _RIGHT, height - _TOP - _BOTTOM
        return _LEFT + across * wide, height - _BOTTOM - min(1, max(0, value)) * tall

    parts = []
    for place, (name, points) in enumerate(series):
        edge = [spot(step, high) for step, _, _, high in points] + [spot(step, low) for step, _, low, _ in points[::-1]]
        band = " ".join(f"{x:.1f},{y:.1f}" for x, y in edge)
        path = " ".join("{:.1f},{:.1f}".format(*spot(step, value)) for step, value, _, _ in points)
        style = f"series-{place}"
        parts += [
            f'<polygon class="band {style}" points="{band}"/>',
            f'<polyline class="curve {style}" points="{path}"/>',
        ]
        if points:
            x, y = spot(points[-1][0], points[-1][1])
            parts.append(
                f'<text class="value" x="{x - 6:.1f}" y="{max(_TOP + 4, y - 8):.1f}" text-anchor="end">'
                f"{html.escape(name)}</text>"
            )
    ticks = [
        f'<text class="axis" x="{spot(step, 0)[0]:.1f}" y="{height - 12}" text-anchor="middle">{_short(step)}</text>'
        for step in sorted(set(steps))[:: max(1, len(set(steps)) // 10)]
    ]
    ends = [
        f'<text class="axis" x="{_LEFT - 8}" y="{spot(first, value)[1] + 4:.1f}" text-anchor="end">{value}</text>'
        for value in (0, 1)
    ]
    return _svg(height, label, [*_frame(height, across=False), *parts, *ticks, *ends])


def _frame(height: int, across: bool = True) -> list[str]:
    bottom = height - _BOTTOM
    parts = [
        f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{bottom}" y2="{bottom}"/>',
        f'<line class="grid" x1="{_LEFT}" x2="{_LEFT}" y1="{_TOP}" y2="{bottom}"/>',
    ]
    if across:
        parts += [
            f'<text class="axis" x="{_LEFT + value * (WIDTH - _LEFT - _RIGHT):.1f}" y="{height - 14}" '
            f'text-anchor="middle">{_short(value)}</text>'
            for value in (0, 0.25, 0.5, 0.75, 1)
        ]
    return parts


def _ticks(low: float, high: float) -> list[float]:
    step = 0.25 if high - low in (1.0, 1.5, 2.0) else (high - low) / 4
    return [low + place * step for place in range(round((high - low) / step) + 1)]


def _short(value: float) -> str:
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def _svg(height: int, label: str, parts: Sequence[str]) -> str:
    described = html.escape(label, quote=True)
    inside = "\n".join(parts)
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{described}">\n{inside}\n</svg>'
