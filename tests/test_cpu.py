"""Whose processor time is counted: a process's, its children's while they run, and those that have ended."""

import os
import subprocess
import sys

from tests.cpu import used

BURN = """
import os, sys, time
def burn():
    while time.process_time() < float(sys.argv[1]):
        pass
if os.fork() == 0:
    burn()
    print("one", flush=True)
    sys.stdin.read()
    os._exit(0)
burn()
print("two", flush=True)
sys.stdin.read()
"""


def test_the_time_of_descendants_counts_while_they_run_and_once_they_have_ended() -> None:
    before = used(os.getpid())
    with subprocess.Popen(
        [sys.executable, "-c", BURN, "0.2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert sorted(process.stdout.readline() for _ in range(2)) == [b"one\n", b"two\n"]
        assert used(process.pid) >= 0.35  # as the kernel counts, in hundredths
        assert used(os.getpid()) - before >= 0.35
    assert used(os.getpid()) - before >= 0.15  # a grandchild that nobody waited for is lost


def test_what_is_not_there_has_taken_nothing() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert used(process.pid) == 0.0
