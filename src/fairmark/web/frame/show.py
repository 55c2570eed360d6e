"""How values look on a page: times, numbers, money, JSON. Each is a filter of the templates under its own name."""

import math
import time as clock
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup, escape

from fairmark import jsontext

NOTHING = "–"
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


def time(seconds: float | None) -> str:
    """How long ago, with the exact time behind it; the page's script puts it in the reader's time zone."""
    if seconds is None:
        return NOTHING
    moment = datetime.fromtimestamp(seconds, UTC)
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        moment.isoformat(timespec="seconds").replace("+00:00", "Z"), f"{moment:%Y-%m-%d %H:%M:%S} UTC", ago(seconds)
    )


def ago(seconds: float, now: float | None = None) -> str:
    """In words: "just now", "5 minutes ago", and after a month the date."""
    passed = (clock.time() if now is None else now) - seconds
    if passed >= 30 * 86_400:
        moment = datetime.fromtimestamp(seconds, UTC)
        return f"{moment.day} {moment:%b %Y}"
    for size, unit in _UNITS:
        if passed >= size:
            return f"{plural(int(passed // size), unit)} ago"
    return "just now"


def number(value: float | None) -> str:
    """A count, in groups of three digits."""
    return NOTHING if value is None else f"{value:,}"


def reward(value: float | None) -> str:
    """Four digits, as many as people compare."""
    if value is None or not math.isfinite(value):
        return NOTHING
    return f"{value:.4g}"


def percent(share: float | None) -> str:
    """One digit after the point; 100% and 0% only where it is all and nothing."""
    if share is None:
        return NOTHING
    if share in (0, 1):
        return f"{share:.0%}"
    return f"{min(max(share, 0.001), 0.999):.1%}"


def money(dollars: float | None) -> str:
    """Cents, and more digits where it is less than one of them."""
    if dollars is None:
        return NOTHING
    if dollars and abs(dollars) < 0.01:
        return f"${dollars:.2g}" if abs(dollars) >= 0.0001 else "< $0.0001"
    return f"${dollars:,.2f}"


def duration(seconds: float | None) -> str:
    if seconds is None:
        return NOTHING
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"


def size(count: int | None) -> str:
    """Bytes, in decimal units."""
    if count is None:
        return NOTHING
    amount = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            break
        amount /= 1000
    return f"{amount:,.0f} {unit}" if unit == "bytes" or amount >= 100 else f"{amount:.1f} {unit}"


def plural(count: int, one: str, many: str | None = None) -> str:
    """The count and its noun: 1 run, 2 runs."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def short(text: str, length: int = 80) -> str:
    return jsontext.shorten(text, length)


def compact(value: Any, length: int = 200) -> str:
    """A value as JSON in one line, a text as it is, cut to a length."""
    return jsontext.shorten(value if isinstance(value, str) else jsontext.write(value), length)


def json(value: Any) -> Markup:
    """A value as indented JSON, its names and values marked for the style sheet. To be put into a <pre>."""
    return Markup("").join(_json(value, ""))


OPEN_LEVELS = 2
"""How deep a tree is open from the start."""


def tree(value: Any) -> Markup:
    """A value as JSON whose objects and lists can be folded. To be put into an element that keeps blanks."""
    return Markup("").join(_tree(value, Markup(""), 0, ""))


def _tree(value: Any, name: Markup, level: int, comma: str) -> list[Markup]:
    indent = "  " * level
    if not isinstance(value, (dict, list, tuple)) or not value:
        return [Markup("{}{}{}{}\n").format(indent, name, Markup("").join(_json(value, "")), comma)]
    is_object = isinstance(value, dict)
    members = list(value.items()) if isinstance(value, dict) else [(None, member) for member in value]
    opening, closing = ("{", "}") if is_object else ("[", "]")
    count = plural(len(members), "field" if is_object else "element")
    parts = [
        Markup('<details{}><summary>{}{}{}<span class="tree__count"> {}</span></summary>').format(
            Markup(" open") if level < OPEN_LEVELS else "", indent, name, opening, count
        )
    ]
    for number, (key, member) in enumerate(members, 1):
        shown = (
            Markup("") if key is None else Markup('<span class="j-name">{}</span>: ').format(jsontext.write(str(key)))
        )
        parts += _tree(member, shown, level + 1, "," if number < len(members) else "")
    return [*parts, Markup("{}{}{}\n</details>").format(indent, closing, comma)]


def _json(value: Any, indent: str) -> list[Markup]:
    match value:
        case dict() if value:
            inner = [
                Markup('\n{}  <span class="j-name">{}</span>: {}').format(
                    indent, jsontext.write(str(name)), Markup("").join(_json(member, indent + "  "))
                )
                for name, member in value.items()
            ]
            return [Markup("{{{}\n{}}}").format(Markup(",").join(inner), indent)]
        case list() | tuple() if value:
            inner = [
                Markup("\n{}  {}").format(indent, Markup("").join(_json(member, indent + "  "))) for member in value
            ]
            return [Markup("[{}\n{}]").format(Markup(",").join(inner), indent)]
        case str():
            return [Markup('<span class="j-text">{}</span>').format(jsontext.write(value))]
        case bool() | None:
            return [Markup('<span class="j-word">{}</span>').format(jsontext.write(value))]
        case int() | float():
            return [Markup('<span class="j-number">{}</span>').format(jsontext.write(value))]
        case _:
            return [escape(jsontext.write(value))]


FILTERS: Mapping[str, Callable[..., str]] = {
    function.__name__: function
    for function in (time, ago, number, reward, percent, money, duration, size, plural, short, compact, json, tree)
}
