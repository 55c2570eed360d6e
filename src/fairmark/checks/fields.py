"""What a body asks for, field by field. Whatever is wrong is told with its name, what was found, and what is taken."""

import sys
from collections.abc import Collection, Mapping
from typing import Any

from fairmark import jsontext
from fairmark.refusals import invalid, wrong_type

LARGEST = 2**53


def check_known(body: Mapping[str, Any], known: Collection[str]) -> None:
    """Raises ApiError for a field that nobody knows."""
    for name in body:
        if name not in known:
            near = jsontext.nearest(name, known)
            shown = jsontext.shorten(name)
            raise invalid(f"{shown}: unknown.{near} It takes {', '.join(known)}.", shown, "unknown_parameter")


def text(body: Mapping[str, Any], name: str) -> str | None:
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise wrong_type(name, "a string", value)
    return value or None


def flag(body: Mapping[str, Any], name: str) -> bool:
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        raise wrong_type(name, "true or false", value)
    return bool(value)


def choice(body: Mapping[str, Any], name: str, allowed: Collection[str], otherwise: str) -> str:
    value = body.get(name)
    if value is None:
        return otherwise
    if not isinstance(value, str) or value not in allowed:
        raise invalid(f"{name}: found {jsontext.describe(value)}. Use one of: {', '.join(allowed)}.", name)
    return value


def whole(body: Mapping[str, Any], name: str, least: int, most: int = LARGEST) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong_type(name, "a whole number", value)
    if not least <= value <= most:
        upto = "" if most == LARGEST else f" to {most:,}"
        raise invalid(f"{name}: found {jsontext.describe(value)}. It takes a whole number from {least:,}{upto}.", name)
    return value


def above_zero(name: str, value: Any) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise wrong_type(name, "a number", value)
    if not 0 < value <= sys.float_info.max:
        raise invalid(f"{name}: found {jsontext.describe(value)}. It takes a number above 0.", name)
    return value


def names(body: Mapping[str, Any], name: str) -> list[str] | None:
    """A list of strings; None where there is none."""
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise wrong_type(name, "a list of strings", value)
    return value


def budget(body: Mapping[str, Any]) -> dict[str, float]:
    """`{"tokens": …, "dollars": …}`, or some of it, as runs have it."""
    given = body.get("budget")
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise wrong_type("budget", 'an object such as {"tokens": 100000, "dollars": 5}', given)
    for name, limit in given.items():
        if name not in ("tokens", "dollars"):
            shown = jsontext.shorten(f"budget.{name}")
            raise invalid(f"{shown}: unknown. Use: tokens, dollars.", shown, "unknown_parameter")
        above_zero(f"budget.{name}", limit)
    return given
