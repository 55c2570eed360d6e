"""Pictures as SVG files that stand alone: plain code, no package, readable in light and dark."""

import html
import math
from collections.abc import Mapping, Sequence

WIDTH = 720
STYLE = """<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 15px }
.faint { fill: #59636e }
.grid { stroke: #d1d9e0; stroke-width: 1 }
.band { fill: #d1d9e0; opacity: .5 }
.s0 { stroke: #0969da; fill: #0969da } .s1 { stroke: #1a7f37; fill: #1a7f37 }
.s2 { stroke: #bc4c00; fill: #bc4c00 } .s3 { stroke: #8250df; fill: #8250df }
.line { fill: none; stroke-width: 2 }
text.s0, text.s1, text.s2, text.s3 { stroke: none }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } .faint { fill: #9198a1 } .grid { stroke: #3d444d } .band { fill: #3d444d }
  .s0 { stroke: #4493f8; fill: #4493f8 } .s1 { stroke: #3fb950; fill: #3fb950 }
  .s2 { stroke: #f0883e; fill: #f0883e } .s3 { stroke: #ab7df8; fill: #ab7df8 }
}
</style>"""
SERIES = 4


def ratios(pairs: Sequence[tuple[str, float]], title: str, within: float) -> str:
    """A dot for each ratio around 1, with a band for what is near enough."""
    left, row, top = 330, 28, 44
    height = top + row * len(pairs) + 36
    low, high = 0.7, 1.3

    def x(value: float) -> float:
        return left + (min(high, max(low, value)) - low) / (high - low) * (WIDTH - left - 60)

    bottom = height - 30
    parts = [
        f'<rect class="band" x="{x(1 - within):.1f}" y="{top - 8}" width="{x(1 + within) - x(1 - within):.1f}" '
        f'height="{bottom - top + 8}"/>',
        _line(x(1), top - 8, x(1), bottom),
    ]
    for place, (name, ratio) in enumerate(pairs):
        y = top + 10 + place * row
        parts.append(_text(left - 12, y + 4, name, "end"))
        parts.append(f'<circle class="s0" cx="{x(ratio):.1f}" cy="{y}" r="5"/>')
        parts.append(_text(WIDTH - 50, y + 4, f"{ratio:.2f}"))
    parts += [_text(x(mark), height - 10, f"{mark:g}", "middle", "faint") for mark in (0.7, 0.85, 1, 1.15, 1.3)]
    return _svg(height, title, parts)


def lines(series: Mapping[str, Sequence[tuple[float, float]]], title: str, across: str, upright: str) -> str:
    """Lines on two logarithmic axes."""
    height, left, right, top, bottom = 420, 70, 20, 50, 44
    points = [point for line in series.values() for point in line]
    edges = [(math.log10(min(values)), math.log10(max(values))) for values in zip(*points, strict=True)]
    (x_low, x_high), (y_low, y_high) = edges[0], (math.floor(edges[1][0]), math.ceil(edges[1][1]))

    def spot(point: tuple[float, float]) -> tuple[float, float]:
        along = (math.log10(point[0]) - x_low) / ((x_high - x_low) or 1)
        up = (math.log10(point[1]) - y_low) / ((y_high - y_low) or 1)
        return left + along * (WIDTH - left - right), height - bottom - up * (height - top - bottom)

    parts = []
    for power in range(y_low, y_high + 1):
        y = spot((10**x_low, 10**power))[1]
        parts += [_line(left, y, WIDTH - right, y), _text(left - 8, y + 4, _short(10**power), "end", "faint")]
    for power in range(math.ceil(x_low), math.floor(x_high) + 1):
        x = spot((10**power, 10**y_low))[0]
        parts.append(_text(x, height - bottom + 18, _short(10**power), "middle", "faint"))
    parts += [_text(WIDTH - right, height - 8, across, "end", "faint"), _text(8, top - 12, upright, "start", "faint")]
    taken: list[float] = []
    for place, (name, line) in enumerate(series.items()):
        spots = [spot(point) for point in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        parts.append(f'<polyline class="line s{place % SERIES}" points="{path}"/>')
        y = spots[-1][1] - 7
        while any(abs(y - other) < 16 for other in taken):
            y += 24 if y < top + 20 else -16
        taken.append(y)
        parts.append(_text(WIDTH - right, y, name, "end", f"s{place % SERIES}"))
    return _svg(height, title, parts)


def shares(groups: Mapping[str, Mapping[str, float]], title: str) -> str:
    """Bars from 0 to 1, some for each group."""
    left, row, top = 330, 20, 44
    height = top + sum(row * len(bars) + 14 for bars in groups.values()) + 10
    wide = WIDTH - left - 70
    parts = []
    y = float(top)
    for place, (group, bars) in enumerate(groups.items()):
        for number, (name, share) in enumerate(bars.items()):
            label = f"{group}: {name}" if not number else name
            parts.append(_text(left - 12, y + 13, label, "end"))
            long = max(1.0, share * wide)
            parts.append(f'<rect class="s{place % SERIES}" x="{left}" y="{y + 2:.0f}" width="{long:.1f}" height="14"/>')
            parts.append(_text(left + long + 6, y + 14, f"{share:.1%}", "start", "faint"))
            y += row
        y += 14
    return _svg(height, title, parts)


def _text(x: float, y: float, words: str, anchor: str = "start", style: str = "") -> str:
    known = f' class="{style}"' if style else ""
    return f'<text{known} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(words)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="grid" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _short(value: float) -> str:
    for limit, sign in ((1e9, " bn"), (1e6, " m"), (1e3, " k")):
        if value >= limit:
            return f"{value / limit:g}{sign}"
    return f"{value:g}"


def _svg(height: float, title: str, parts: Sequence[str]) -> str:
    label = html.escape(title, quote=True)
    inside = "\n".join([STYLE, _text(8, 22, title, "start", "title"), *parts])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" role="img" '
        f'aria-label="{label}">\n{inside}\n</svg>\n'
    )
