"""What a pull has done so far, for whoever watches it."""

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS = (
    "evals", "runs", "items", "files", "contents", "jobs", "events", "checkpoints",
    "completions", "messages", "responses", "input_items",
)  # fmt: skip


class PullTally:
    """Counts of this pull; `watch` is told after each change."""

    def __init__(self, watch: "Callable[[PullTally], None] | None" = None) -> None:
        self._watch = watch or (lambda tally: None)
        self.read: Counter[str] = Counter()
        """Objects that were received, by kind, also where nothing about them was new."""
        self.unchanged: Counter[str] = Counter()
        """Runs and files that were here already, as they are there."""
        self.bytes = 0
        self.stage = ""
        self.expected_items = 0
        """Output items of all runs seen so far, as the service counts them."""
        self.skipped_items = 0
        self._started = time.monotonic()
        self._waits_until = 0.0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    @property
    def waiting_s(self) -> float:
        """How long the service wants nothing to be asked."""
        return max(0.0, self._waits_until - time.monotonic())

    @property
    def objects(self) -> int:
        return self.read.total()

    @property
    def left_s(self) -> float | None:
        """Until the output items of all runs that are known are here; None where that is not known."""
        done = self.read["items"]
        left = self.expected_items - self.skipped_items - done
        return self.seconds * left / done if done and left > 0 else None

    def count(self, kind: str, number: int = 1, size: int = 0) -> None:
        self.read[kind] += number
        self.bytes += size
        self._watch(self)

    def same(self, kind: str) -> None:
        self.unchanged[kind] += 1
        self._watch(self)

    def at(self, stage: str) -> None:
        self.stage = stage
        self._watch(self)

    def waits(self, seconds: float) -> None:
        self._waits_until = max(self._waits_until, time.monotonic() + seconds)
        self._watch(self)

    def dump(self) -> dict[str, Any]:
        return {
            "stage": self.stage,
            "read": {kind: self.read[kind] for kind in KINDS if self.read[kind]},
            "unchanged": dict(self.unchanged),
            "bytes": self.bytes,
            "seconds": round(self.seconds, 1),
            "waiting_s": round(self.waiting_s, 1),
            "left_s": None if self.left_s is None else round(self.left_s, 1),
        }
