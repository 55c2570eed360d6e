"""The other end of a pool: a process that answers orders until its pipe ends, and nothing comes between its answers."""

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from fairmark.parse import parse
from fairmark.work.frames import UNKNOWN_GRADER, WORKER, pack_order, read_results, receive, send

CHECK = parse({"type": "string_check", "input": "{{sample.output_text}}", "reference": "b", "operation": "eq"})


@pytest.fixture
def worker() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen([sys.executable, *WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process
        process.kill()


def answer(worker: "subprocess.Popen[bytes]", rows: list[dict[str, object]], first: bool = False) -> list[float]:
    send(worker.stdin, pack_order(CHECK if first else None, rows))
    return [result.reward for result in read_results(CHECK, receive(worker.stdout))]


def test_it_keeps_its_grader_survives_an_interrupt_and_ends_with_its_pipe(worker: "subprocess.Popen[bytes]") -> None:
    assert answer(worker, [{"item": {}, "sample": "b"}, {"item": {}, "sample": "c"}], first=True) == [1.0, 0.0]
    worker.send_signal(signal.SIGINT)
    assert answer(worker, [{"item": {}, "sample": "b"}]) == [1.0]
    assert worker.stdin is not None
    worker.stdin.close()
    assert worker.wait(60) == 0


def test_it_tells_by_its_end_that_it_cannot_read_the_grader(worker: "subprocess.Popen[bytes]") -> None:
    unknown = CHECK.model_copy(update={"type": "nobody_knows_this"})
    send(worker.stdin, pack_order(unknown, [{"item": {}}]))
    assert worker.wait(60) == UNKNOWN_GRADER
