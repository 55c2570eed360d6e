"""Runs that `fairmark eval` made: local ones, which a store keeps as it keeps imported runs, and which are none."""

from collections.abc import Mapping
from typing import Any

from fairmark.text.moment import time_text

SOURCE = "fairmark eval"
"""In the mark that a store has on a run that it did not work off itself; archives have names of their own."""


def is_local(mark: Mapping[str, Any] | None) -> bool:
    """By the mark of a run, `imported`."""
    return mark is not None and mark.get("source") == SOURCE


def local_wire(mark: Mapping[str, Any] | None) -> dict[str, Any]:
    """Beside a run in the API: who made it, and when; nothing where a server worked it off."""
    if mark is None or not is_local(mark):
        return {}
    return {"local": {"source": SOURCE, "by": mark.get("by"), "at": mark.get("at")}}


def local_words(mark: Mapping[str, Any]) -> str:
    by = f", by {mark['by']}" if mark.get("by") else ""
    return f"From the command line: fairmark eval{by}, {time_text(mark.get('at'))}"
