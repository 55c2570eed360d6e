"""Structured logs: one JSON object a line on standard error. Nothing a client sent as a secret is ever in it.

Levels: error for what is our fault (5xx, with its traceback), warning for what needs somebody's eye (the store cannot
be reached), info for starts, stops and refused requests (4xx), debug for every request.
"""

import logging
import sys
import time
import traceback
from typing import Any, Literal, get_args

from fairmark import jsontext
from fairmark.work import marks

Level = Literal["debug", "info", "warning", "error"]
LEVELS: tuple[Level, ...] = get_args(Level)

LOGGER = logging.getLogger("fairmark.server")


class JsonLines(logging.Formatter):
    """A record as one line of JSON, with the request and the run that it is about, whoever writes it. What the caller
    gives as `extra={"fields": {…}}` stands in it as it is.

    `process`: which one of several this is, for every line.
    """

    def __init__(self, process: int | None = None) -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        if record.name != LOGGER.name:
            line["logger"] = record.name
        if self._process is not None:
            line["process"] = self._process
        line.update(marks.now())
        line.update(getattr(record, "fields", {}))
        if record.exc_info and record.exc_info[1] is not None:
            line["traceback"] = "".join(traceback.format_exception(record.exc_info[1]))
        return jsontext.encode(line).decode()


def set_up(level: Level, process: int | None = None) -> None:
    """Send everything that is logged in this process to standard error, as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(process))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("fairmark").setLevel(level.upper())
    # uvicorn tells again, in its own words, what the gate has told already.
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
    logging.captureWarnings(True)


def event(level: int, what: str, error: BaseException | None = None, **fields: Any) -> None:
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, what, extra={"fields": fields}, exc_info=error)
