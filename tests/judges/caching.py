"""What tests of the cache of judges' answers share: keeping and finding, processes, what is logged."""

import logging
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairmark.judges.cache import Cache, Mode

LARGE = 1_000_000_000


def keep(file: Path, answers: dict[bytes, Any], mode: Mode = "on", most_bytes: int = LARGE) -> None:
    cache = Cache(file, mode, most_bytes)
    cache.keep(answers)
    cache.close()


def found(file: Path, keys: list[bytes], mode: Mode = "on") -> dict[bytes, Any]:
    cache = Cache(file, mode, LARGE)
    try:
        return cache.find(keys)
    finally:
        cache.close()


def python(code: str, *arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(*processes: "subprocess.Popen[str]") -> list[str]:
    """What they printed. Each must end well, and say nothing on stderr."""
    try:
        told = [process.communicate(timeout=120) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [(process.returncode, err) for process, (_, err) in zip(processes, told, strict=True)] == [(0, "")] * len(
        processes
    )
    return [out for out, _ in told]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "home" / "judgements.db"


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """The messages of our logger so far; the list grows."""
    messages: list[str] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(record.getMessage())

    logger, handler = logging.getLogger("fairmark"), Collect()
    logger.addHandler(handler)
    yield messages
    logger.removeHandler(handler)
