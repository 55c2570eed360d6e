"""A worker: asks a server for jobs, one after another, and attends to each until it ends."""

import os
import re
import secrets
import socket
import threading
from collections.abc import Callable

from fairmark.errors import ServerFailed
from fairmark.training.attendance import Attendance, WorkerTerms
from fairmark.training.door import JobDoor
from fairmark.training.modelserver import ModelServer

ASK_EVERY_S = 2.0
LONGEST_PAUSE_S = 30.0


def new_name() -> str:
    host = re.sub(r"[^A-Za-z0-9._-]+", "-", socket.gethostname())[:60] or "worker"
    return f"{host}:{os.getpid()}:{secrets.token_hex(4)}"


class Worker:
    def __init__(
        self,
        door: JobDoor,
        terms: WorkerTerms,
        name: str,
        say: Callable[[str], None],
        models: ModelServer | None = None,
    ) -> None:
        self._door, self._terms, self._name, self._say, self._models = door, terms, name, say, models
        self.stopping = threading.Event()
        """Set it, and the job under way is given back after its step, with a checkpoint."""

    def work(self, *, once: bool = False) -> None:
        """Until it is stopped; `once`: until one job has been attended to. Raises AccessDenied, InvalidData."""
        pause_s, was_away = ASK_EVERY_S, False
        while not self.stopping.is_set():
            try:
                taken = self._door.take(self._name, list(self._terms.offers), self._terms.lease_s)
            except ServerFailed as error:
                if not was_away:
                    self._say(f"{error} Asking again until it answers.")
                was_away, pause_s = True, min(2 * pause_s, LONGEST_PAUSE_S)
                self.stopping.wait(pause_s)
                continue
            if was_away:
                self._say("The server is back.")
            was_away, pause_s = False, ASK_EVERY_S
            if taken is None:
                self.stopping.wait(ASK_EVERY_S)
                continue
            model = Attendance(self._door, self._terms, taken, self._say, self.stopping).attend()
            if model is not None and self._models is not None:
                self._models.add(model)
            if once:
                return
