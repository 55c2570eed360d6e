"""What is still to be told of a job: kept until the server has it, told once, and never lost while the worker lives."""

import time
from collections import deque
from typing import Any

from fairmark.errors import InvalidData, LeaseLost, ServerFailed
from fairmark.training.door import JobDoor

AT_ONCE = 20
"""Events that are told together."""
MOST_WAITING = 20_000


class Outbox:
    """Of one lease. An event's key holds the lease and its number, so that whatever is sent twice is kept once."""

    def __init__(self, door: JobDoor, job_id: str, lease: str, lease_s: int) -> None:
        self._door = door
        self._job_id = job_id
        self._lease = lease
        self._lease_s = lease_s
        self._events: deque[dict[str, Any]] = deque()
        self._checkpoints: deque[dict[str, Any]] = deque()
        self._changes: dict[str, Any] = {}
        self._number = 0
        self._told_at = time.monotonic()
        self.refused: str | None = None
        """What the server said to what it did not take, of which nothing is sent again."""

    @property
    def silent_s(self) -> float:
        """How long ago the server last heard us."""
        return time.monotonic() - self._told_at

    def add(self, message: str, level: str = "info", data: dict[str, Any] | None = None) -> None:
        self._number += 1
        event = {"key": f"{self._lease}:{self._number}", "level": level, "message": message[:20_000]}
        self._events.append(event if data is None else {**event, "data": data})
        if len(self._events) > MOST_WAITING:  # the server is away for days
            self._events.popleft()

    def add_checkpoint(self, model: str, step: int, metrics: dict[str, Any]) -> None:
        self._checkpoints.append({"model": model, "step": step, "metrics": metrics})

    def untold(self) -> dict[str, Any]:
        """What the server has not heard, for whoever has the job next."""
        events = [{name: event.get(name) for name in ("message", "level", "data")} for event in self._events]
        return {"events": events, "checkpoints": list(self._checkpoints)}

    def take_over(self, untold: dict[str, Any]) -> None:
        """What a former lease could not tell any more."""
        for event in untold["events"]:
            self.add(**event)
        self._checkpoints.extend(untold["checkpoints"])

    def change(self, **changes: Any) -> None:
        self._changes.update(changes)

    @property
    def is_empty(self) -> bool:
        return not (self._events or self._checkpoints or self._changes)

    def send(self) -> bool:
        """Tells all that waits, or only that we are alive. False where the server is away. Raises LeaseLost."""
        while True:
            events = [self._events[index] for index in range(min(AT_ONCE, len(self._events)))]
            checkpoints = [self._checkpoints[index] for index in range(min(AT_ONCE, len(self._checkpoints)))]
            is_last = len(events) == len(self._events) and len(checkpoints) == len(self._checkpoints)
            told = {"lease": self._lease, "lease_s": self._lease_s, "events": events, "checkpoints": checkpoints}
            try:
                self._door.tell(self._job_id, {**told, **(self._changes if is_last else {})})
            except ServerFailed:
                return False
            except InvalidData as error:
                self.refused = str(error)
                if is_last and "status" in self._changes:
                    raise
            self._told_at = time.monotonic()
            for _ in events:
                self._events.popleft()
            for _ in checkpoints:
                self._checkpoints.popleft()
            if is_last:
                self._changes.clear()
                return True

    def end(self, within_s: float, **changes: Any) -> bool:
        """Tells how the job ended, again and again until the server has it; False where it is away for too long.

        Raises LeaseLost, but not where that is because an earlier attempt was heard.
        """
        self.change(**changes)
        until, pause_s, lost_before = time.monotonic() + within_s, 0.5, False
        while True:
            try:
                if self.send():
                    return True
            except LeaseLost:
                if lost_before and self._is_so(changes):
                    return True
                raise
            lost_before = True
            if time.monotonic() + pause_s > until:
                return False
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, 15.0)

    def _is_so(self, changes: dict[str, Any]) -> bool:
        try:
            job = self._door.job(self._job_id) or {}
        except ServerFailed:
            return False
        return all(job.get(name) == changes.get(name) for name in ("status", "fine_tuned_model") if name in changes)
