"""The bar over questions is silent where nobody sees it."""

import io

from rich.console import Console

from fairmark.cli.shared.counting import CallProgress
from fairmark.cli.shared.progress import SHOW_AFTER_S


def shown(terminal: bool, quiet: bool = False) -> str:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=80)
    with CallProgress(console, quiet) as progress:
        progress.total = 5
        progress._started -= SHOW_AFTER_S
        progress.add(3)
        progress.add(1)
    return stream.getvalue()


def test_answers_are_counted_on_a_terminal_and_nowhere_else() -> None:
    assert "4/5" in shown(terminal=True)
    assert shown(terminal=False) == ""
    assert shown(terminal=True, quiet=True) == ""
