"""Which Chromium looks at the web page."""

from pathlib import Path

# Without windows it takes a fifth of the time for a page: the whole browser draws its own tabs and buttons for each.
KNOWN = ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium")


def chromium() -> str:
    """Debian's own, without windows where there is that. Where there is none, the path that the error shall name."""
    return next((path for path in KNOWN if Path(path).exists()), KNOWN[-1])
