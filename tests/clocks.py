"""Clocks that stand until a test moves them."""

from types import ModuleType

import pytest


class Clock:
    """In the place of a module's `time`."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


def standing(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> Clock:
    """The clock that this module looks at from now on."""
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock
