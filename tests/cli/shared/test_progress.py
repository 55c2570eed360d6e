"""The progress bar."""

import io
import re

import pytest
from rich.console import Console

from fairmark.cli.shared.progress import RowProgress


class Clock:
    """A clock that stands until it is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr("fairmark.cli.shared.progress.time.monotonic", lambda: self.now)


def console(terminal: bool) -> tuple[Console, io.StringIO]:
    written = io.StringIO()
    return Console(file=written, force_terminal=terminal, width=100), written


def test_a_bar_with_rows_and_rate_comes_up_after_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    shown, written = console(terminal=True)
    with RowProgress(shown) as bar:
        clock.now += 0.9
        bar.update(900, 0.2)
        assert written.getvalue() == ""
        clock.now += 1.1
        bar.update(3000, 0.5)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", written.getvalue())
    assert "3,000 rows " in text
    assert "1,500 rows/s" in text


def test_nothing_is_drawn_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    shown, written = console(terminal=False)
    with RowProgress(shown) as bar:
        clock.now += 10
        bar.update(3000, None)
    assert written.getvalue() == ""
