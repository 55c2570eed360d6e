"""What notebooks show: parts of HTML that stand in anybody's page, in light and in dark. Whatever comes from rows is
escaped, and nothing grows with their number."""

import html
from collections.abc import Iterable, Sequence

MOST_ROWS = 20
MOST_COLUMNS = 12
MOST_CHARS = 160
"""Of a cell."""
FRAME_HEIGHT_PX = 640
BINS = 20
"""Of a plot of rewards."""
_STYLE = """
.fairmark table { border-collapse: collapse; margin: .5em 0; font-variant-numeric: tabular-nums; }
.fairmark th, .fairmark td { text-align: left; padding: .2em .8em .2em 0; vertical-align: top; color: inherit;
  background: none; border: 0; border-bottom: 1px solid rgba(128, 128, 128, .35); overflow-wrap: break-word;
  max-width: 40em; }
.fairmark th.number, .fairmark td.number { text-align: right; white-space: nowrap; }
.fairmark .dim { opacity: .75; } .fairmark .wide { overflow-x: auto; }
.fairmark .bad { color: #dc3f36; font-weight: 600; } .fairmark .good { color: #1f8f4e; font-weight: 600; }
.fairmark svg { max-width: 22em; height: auto; display: block; } .fairmark svg rect { fill: #4a80e8; }
.fairmark svg text { fill: currentColor; font: 11px sans-serif; }
.fairmark svg line { stroke: currentColor; opacity: .4; }
"""


def whole(parts: Iterable[str]) -> str:
    """Parts, with their style, which touches nothing else of the page."""
    return f'<div class="fairmark"><style>{_STYLE}</style>{"".join(parts)}</div>'


def frame(page: str, title: str) -> str:
    """A page that stands alone, inside of another: its style stays its own, and nothing in it runs."""
    inside = html.escape(page, quote=True)
    return (
        f'<iframe sandbox="" title="{html.escape(title, quote=True)}" srcdoc="{inside}" '
        f'style="width: 100%; height: {FRAME_HEIGHT_PX}px; border: 0"></iframe>'
    )


def line(text: str, style: str = "dim") -> str:
    return f'<p class="{style}">{html.escape(text)}</p>'


_NUMBER = ' class="number"'
_CLASSES = {"ALARM": "alarm", "NOT TRUSTED": "alarm", "ok": "ok", "passed": "good", "failed": "bad", "error": "bad"}
"""Words that stand out where they are all that is in a cell."""


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], numbers: set[int]) -> str:
    """Columns of numbers stand to the right."""
    head = "".join(
        f'<th scope="col"{_NUMBER if place in numbers else ""}>{html.escape(heading)}</th>'
        for place, heading in enumerate(headings)
    )
    lines = []
    for row in rows:
        cells = []
        for place, cell in enumerate(row):
            style = _NUMBER if place in numbers else f' class="{_CLASSES[cell]}"' if cell in _CLASSES else ""
            cells.append(f"<td{style}>{html.escape(cell)}</td>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>{"".join(lines)}</tbody></table></div>'


def histogram(counts: Sequence[int], low: float, high: float, label: str) -> str:
    """How often values lie in equal parts of a range, as bars."""
    most, width, height = max(counts, default=0) or 1, 240, 60
    step = width / max(1, len(counts))
    bars = []
    for place, count in enumerate(counts):
        tall = max(1.0, count / most * height) if count else 0.0
        start, end = (low + (high - low) * edge / len(counts) for edge in (place, place + 1))
        bars.append(
            f'<rect x="{place * step + 1:.1f}" y="{height - tall:.1f}" width="{step - 2:.1f}" height="{tall:.1f}">'
            f"<title>{start:g} to {end:g}: {count:,}</title></rect>"
        )
    described = html.escape(label, quote=True)
    return (
        f'<svg viewBox="0 0 {width} {height + 16}" role="img" aria-label="{described}">{"".join(bars)}'
        f'<line x1="0" x2="{width}" y1="{height}" y2="{height}"/><text x="0" y="{height + 13}">{low:g}</text>'
        f'<text x="{width}" y="{height + 13}" text-anchor="end">{high:g}</text></svg>'
    )


def rewards_plot(rewards: Sequence[float], label: str = "how often which reward") -> str:
    """Their mean, and how they are spread over 0 to 1, or as far as they go."""
    low, high = min(0.0, min(rewards)), max(1.0, max(rewards))
    bins = [0] * BINS
    for reward in rewards:
        bins[min(BINS - 1, int((reward - low) / (high - low) * BINS))] += 1
    return line(f"Mean reward {sum(rewards) / len(rewards):.4g}.", "") + histogram(bins, low, high, label)


def cell(value: object) -> str:
    """A value as the text of a cell, on one line and not too long."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}"
    text = " ".join(str(value)[: 4 * MOST_CHARS].split())
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= MOST_CHARS else text[: MOST_CHARS - 1] + "…"
