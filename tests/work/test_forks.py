"""Locks that a forked child finds free."""

import multiprocessing
import threading
from collections.abc import Callable

from fairmark.work.forks import ProcessLock

lock = ProcessLock()


def in_a_child(work: Callable[[], object]) -> int | None:
    """Its exit code, of a child that is forked now."""
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join(60)
    try:
        return child.exitcode
    finally:
        child.kill()
        child.join()


def enter() -> None:
    with lock:
        pass


def test_a_forked_child_need_not_wait_for_threads_that_it_does_not_have() -> None:
    with lock:
        assert in_a_child(enter) == 0
    enter()


def test_threads_wait_for_each_other() -> None:
    entered: list[str] = []

    def other() -> None:
        with lock:
            entered.append("other")

    with lock:
        thread = threading.Thread(target=other)
        thread.start()
        entered.append("first")
    thread.join(60)
    assert entered == ["first", "other"]
