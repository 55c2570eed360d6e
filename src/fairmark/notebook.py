"""How far a long call is, where somebody watches: in a notebook by a widget or a line of text, else on a terminal."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

SHOW_AFTER_S = 1.0
UPDATE_EVERY_S = 0.2


def is_here() -> bool:
    """Whether this process is the kernel of a notebook. Costs nothing elsewhere: no package is imported."""
    if "ipykernel" not in sys.modules or "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def watched(values: Iterator[T], source: object, progress: bool | None) -> Iterator[T]:
    """The values, counted for whoever watches. `progress`: None shows it in notebooks alone, True on terminals too.

    Nothing is shown of what takes less than a second. How many there will be is known where `source` knows it.
    """
    if progress is False or (progress is None and not is_here()):
        return values
    screen = _screen()
    if screen is None:
        return values
    total = len(source) if hasattr(source, "__len__") else None
    return _counted(values, total, screen)


class Screen(Protocol):
    """Where a line about the progress is shown, and replaced by the next one."""

    def show(self, done: int, total: int | None, text: str) -> None: ...

    def close(self) -> None: ...


def _counted(values: Iterable[T], total: int | None, screen: Screen) -> Iterator[T]:
    started = shown = time.monotonic()
    done = 0
    is_shown = False
    try:
        for value in values:
            yield value
            done += 1
            now = time.monotonic()
            if now - started >= SHOW_AFTER_S and now - shown >= UPDATE_EVERY_S:
                shown, is_shown = now, True
                screen.show(done, total, words(done, total, now - started))
    finally:
        if is_shown:
            screen.show(done, total, words(done, total, time.monotonic() - started))
            screen.close()


def words(done: int, total: int | None, seconds: float) -> str:
    """`120 of 500 rows, 60 rows/s, 6 s left`."""
    rate = done / max(seconds, 1e-9)
    text = f"{done:,}{'' if total is None else f' of {total:,}'} rows, {rate:,.0f} rows/s"
    return text if total is None or done >= total else f"{text}, {(total - done) / max(rate, 1e-9):,.0f} s left"


def _screen() -> Screen | None:
    if not is_here():
        return Terminal() if sys.stderr is not None and sys.stderr.isatty() else None
    try:
        import ipywidgets
    except ImportError:
        return Text()
    return Widget(ipywidgets)


class Terminal:
    """One line of stderr, written over."""

    def show(self, done: int, total: int | None, text: str) -> None:
        sys.stderr.write(f"\r\x1b[2K{text}")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\n")


class Text:
    """A line below the cell, in notebooks without widgets."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, done: int, total: int | None, text: str) -> None:
        from IPython.display import display

        bundle = {"text/plain": text}
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)

    def close(self) -> None:
        """What was said last stays."""


class Widget:
    """A bar with a line beside it."""

    def __init__(self, ipywidgets: Any) -> None:
        self._widgets = ipywidgets
        self._bar: Any = None
        self._label: Any = None

    def show(self, done: int, total: int | None, text: str) -> None:
        if self._bar is None:
            from IPython.display import display

            self._bar = self._widgets.IntProgress(min=0, max=max(1, total or 1))
            self._label = self._widgets.Label()
            display(self._widgets.HBox([self._bar, self._label]))
        self._bar.value = min(done, self._bar.max) if total else 0
        self._label.value = text

    def close(self) -> None:
        self._bar.value = self._bar.max
        self._bar.bar_style = "success"
