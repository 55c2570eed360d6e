"""A line as small as a word: how shares between 0 and 1 went, as SVG."""

from collections.abc import Sequence

from markupsafe import Markup

from fairmark.web.frame import show

WIDTH, HEIGHT, MARGIN = 120, 28, 3


def sparkline(shares: Sequence[float]) -> Markup:
    """The oldest first. The scale is the whole, 0 to 1: a small change looks small. Nothing where there is no share."""
    if not shares:
        return Markup("")
    step = (WIDTH - 2 * MARGIN) / max(1, len(shares) - 1)
    high = HEIGHT - 2 * MARGIN
    points = [(MARGIN + index * step, MARGIN + high * (1 - share)) for index, share in enumerate(shares)]
    if len(points) == 1:  # a single run stands at the end, where the last one always is
        points = [(float(WIDTH - MARGIN), points[0][1])]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    words = ", ".join(show.percent(share) for share in shares)
    last_x, last_y = points[-1]
    area = f"{points[0][0]:.1f},{HEIGHT} {line} {last_x:.1f},{HEIGHT}"
    return Markup(
        '<svg class="spark" viewBox="0 0 {} {}" role="img" aria-label="Pass rate of the last runs, oldest first: {}">'
        '<polygon class="spark__area" points="{}"/><polyline class="spark__line" points="{}"/>'
        '<circle class="spark__last" cx="{:.1f}" cy="{:.1f}" r="2.5"/></svg>'
    ).format(WIDTH, HEIGHT, words, area, line, last_x, last_y)
