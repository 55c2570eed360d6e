"""The log: one JSON object a line, whatever is in it."""

import json
import logging
import sys
from typing import Any

from fairmark.serving.log import LOGGER, JsonLines


def line(message: str, name: str = LOGGER.name, **more: Any) -> dict[str, Any]:
    record = logging.LogRecord(name, logging.WARNING, __file__, 1, message, None, more.pop("exc_info", None))
    record.created, record.msecs = 1_794_660_000.25, 250.0
    record.__dict__.update(more)
    written = JsonLines().format(record)
    assert "\n" not in written
    found: dict[str, Any] = json.loads(written)
    return found


def test_a_line_has_its_time_its_level_its_event_and_the_callers_fields() -> None:
    assert line("request", fields={"status": 507, "path": "/v1/files"}) == {
        "time": "2026-11-14T12:40:00.250Z",
        "level": "warning",
        "event": "request",
        "status": 507,
        "path": "/v1/files",
    }


def test_what_breaks_lines_elsewhere_breaks_none_here() -> None:
    assert line("two\nlines", fields={"text": "half \ud83d\r\n"})["event"] == "two\nlines"


def test_a_foreign_logger_is_named_and_an_error_brings_its_traceback() -> None:
    try:
        raise KeyError("lost")
    except KeyError:
        found = line("broke", "asyncio", exc_info=sys.exc_info())
    assert found["logger"] == "asyncio"
    assert found["traceback"].startswith("Traceback")
    assert "KeyError: 'lost'" in found["traceback"]
