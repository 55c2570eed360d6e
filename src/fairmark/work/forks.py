"""Locks of modules, in processes that are forked while other threads hold them."""

import os
import threading
from types import TracebackType


class ProcessLock:
    """A lock that is free in a forked child, whoever held it in the parent: those threads are not in the child, and
    nobody there would ever release it. It lives as long as the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        os.register_at_fork(after_in_child=self._begin_anew)

    def _begin_anew(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._lock.release()
