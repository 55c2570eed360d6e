"""Moments as commands and notebooks show them."""

from datetime import UTC, datetime


def time_text(seconds: int | None) -> str:
    """Unix seconds as ISO 8601 in UTC; "-" where there is none."""
    return "-" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
