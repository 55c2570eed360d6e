"""The protocol with a runner, against a peer that does as it likes."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from fairmark.sandbox.base import MB, Limits, Outcome, Program
from fairmark.sandbox.runners import MAX_KEPT_BYTES, MAX_REPLY_BYTES, ForeignProcess, Runner, RunnerGone
from tests.sandbox.pools import until

LIMITS = Limits(wall_s=0.3, memory_bytes=MB, disk_bytes=MB, cpus=1)
PROGRAM = Program("source", "python", LIMITS, strict=False)


class FakeProcess:
    """Counts its ends; has as many threads as a test wants."""

    def __init__(self) -> None:
        self.killed = 0
        self.count = 1
        self.memory = 0

    def kill(self) -> None:
        self.killed += 1

    def threads(self) -> int:
        return self.count

    def memory_bytes(self) -> int:
        return self.memory


class Peer:
    """The other end of a runner's channel."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def hear(self) -> Any:
        return json.loads(await self._reader.readexactly(int.from_bytes(await self._reader.readexactly(4))))

    async def hear_ids(self) -> list[str]:
        return [token for token, _ in await self.hear()]

    def say(self, reply: Any, length: int | None = None) -> None:
        text = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        self.say_bytes((len(text) if length is None else length).to_bytes(4) + text)

    def say_bytes(self, data: bytes) -> None:
        self._writer.write(data)

    def hang_up(self) -> None:
        self._writer.close()


Scene = Callable[[Runner, Peer, FakeProcess], Awaitable[None]]


def play(scene: Scene) -> None:
    """Play a scene with a runner that has loaded its program."""

    async def run() -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        peer = Peer(*await asyncio.open_connection(sock=theirs))
        process = FakeProcess()
        starting = asyncio.create_task(Runner.start(PROGRAM, ours, process))
        order = await peer.hear()
        peer.say({"id": order["id"], "reward": 0.0})
        runner = await starting
        try:
            await scene(runner, peer, process)
        finally:
            runner.end()
            peer.hang_up()
            await asyncio.sleep(0)

    asyncio.run(run())


def test_replies_in_turn_become_the_outcomes_of_their_rows() -> None:
    async def scene(runner: Runner, peer: Peer, process: FakeProcess) -> None:
        grading = asyncio.create_task(runner.grade([b"[1]", b"[2]", b"[3]"]))
        first, second, third = await peer.hear_ids()
        peer.say({"id": first, "reward": 0.25, "printed": "p"})
        peer.say({"id": second, "failed": "error", "details": "d"})
        peer.say({"id": third, "failed": "oom"})
        assert await grading == [
            Outcome(0.25, printed="p"),
            Outcome(failure="error", details="d"),
            Outcome(failure="oom"),
        ]
        assert (runner.is_reusable, process.killed) == (True, 0)

    play(scene)


def test_ids_are_new_for_every_row_and_call() -> None:
    async def scene(runner: Runner, peer: Peer, process: FakeProcess) -> None:
        seen = []
        for _ in range(3):
            grading = asyncio.create_task(runner.grade([b"[]", b"[]"]))
            ids = await peer.hear_ids()
            for token in ids:
                peer.say({"id": token, "reward": 1})
            await grading
            seen += ids
        assert len(set(seen)) == 6
        assert {len(token) for token in seen} == {16}

    play(scene)


def test_a_reply_in_pieces_is_put_together() -> None:
    async def scene(runner: Runner, peer: Peer, process: FakeProcess) -> None:
        grading = asyncio.create_task(runner.grade([b"[]"]))
        (token,) = await peer.hear_ids()
        text = json.dumps({"id": token, "reward": 0.5}).encode()
        for byte in len(text).to_bytes(4) + text:
            peer.say_bytes(bytes([byte]))
            await asyncio.sleep(0)
        assert await grading == [Outcome(0.5)]

    play(scene)


def _too_long(token: str) -> bytes:
    return (MAX_REPLY_BYTES + 1).to_bytes(4)


def _framed(text: bytes) -> bytes:
    return len(text).to_bytes(4) + text


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (_too_long, "its reply is too long"),
        (lambda token: b"\xff\xff\xff\xff" + b"x" * 100, "its reply is too long"),
        (lambda token: _framed(b"not JSON"), "not one that was asked for"),
        (lambda token: _framed(b"\xff\xfe"), "not one that was asked for"),
        (lambda token: _framed(b""), "not one that was asked for"),
        (lambda token: _framed(b"null"), "not one that was asked for"),
        (lambda token: _framed(b"[" * 100_000 + b"]" * 100_000), "not one that was asked for"),
        (lambda token: _framed(b'{"id": "%s"}' % token.encode()), "not one that was asked for"),
        (lambda token: _framed(b'{"reward": 1}'), "not one that was asked for"),
        (lambda token: _framed(b'{"id": "%s", "reward": 1}' % token[::-1].encode()), "not one that was asked for"),
        (lambda token: _framed(b'{"id": ["%s"], "reward": 1}' % token.encode()), "not one that was asked for"),
        (lambda token: _framed(b'{"id": "%s", "reward": NaN}' % token.encode()), "not one that was asked for"),
        (lambda token: _framed(b'{"id": "%s", "reward": Infinity}' % token.encode()), "not one that was asked for"),
        (lambda token: _framed(b'{"id": "%s", "reward": 1e999}' % token.encode()), "not one that was asked for"),
        (lambda token: _framed(b'{"id": "%s", "reward": true}' % token.encode()), "not one that was asked for"),
        (lambda token: _framed(b'{"id": "%s", "reward": "1"}' % token.encode()), "not one that was asked for"),
        (lambda token: _framed(b'{"id": "%s", "reward": null}' % token.encode()), "not one that was asked for"),
        (lambda token: _framed(b'{"id": "%s", "reward": [1]}' % token.encode()), "not one that was asked for"),
        (lambda token: _framed(b'{"id": "%s", "reward": 1%s}' % (token.encode(), b"0" * 400)), "not one that was"),
        (lambda token: _framed(b'{"id": "%s", "reward": 1%s}' % (token.encode(), b"0" * 9000)), "not one that was"),
        (lambda token: _framed(b'{"id": "%s", "reward": 1, "printed": 5}' % token.encode()), "not one that was"),
        (lambda token: _framed(b'{"id": "%s", "failed": "error", "details": {}}' % token.encode()), "not one that"),
        (lambda token: _framed(b'{"id": "%s", "failed": true}' % token.encode()), "not one that was asked for"),
        (lambda token: (4).to_bytes(4) + b'{"id": "%s", "reward": 1}' % token.encode(), "not one that was asked for"),
    ],
)
def test_anything_but_a_reply_to_the_row_ends_the_runner_and_fails_the_row(
    said: Callable[[str], bytes], why: str
) -> None:
    async def scene(runner: Runner, peer: Peer, process: FakeProcess) -> None:
        grading = asyncio.create_task(runner.grade([b"[]"]))
        (token,) = await peer.hear_ids()
        peer.say_bytes(said(token))
        (outcome,) = await grading
        assert (outcome.reward, outcome.failure) == (0.0, "died")
        assert why in outcome.details
        assert (runner.is_reusable, process.killed) == (False, 1)

    play(scene)


def test_a_reply_to_the_second_row_is_none_to_the_first() -> None:
    async def scene(runner: Runner, peer: Peer, process: FakeProcess) -> None:
        grading = asyncio.create_task(runner.grade([b"[]", b"[]"]))
        _, second = await peer.hear_ids()
        peer.say({"id": second, "reward": 1.0})
        (outcome,) = await grading
        assert outcome.failure == "died"

    play(scene)


def test_rows_answered_before_the_runner_breaks_a_rule_keep_their_outcomes() -> None:
    async def scene(runner: Runner, peer: Peer, process: FakeProcess) -> None:
        grading = asyncio.create_task(runner.grade([b"[]", b"[]", b"[]"]))
        first, _, _ = await peer.hear_ids()
        peer.say({"id": first, "reward": 0.25})
        peer.say({"id": first, "reward": 1.0})
        outcomes = await grading
        assert [(outcome.reward, outcome.failure) for outcome in outcomes] == [(0.25, None), (0.0, "died")]

    play(scene)


def test_bytes_after_the_last_reply_make_the_runner_useless() -> None:
    async def scene(runner: Runner, peer: Peer, process: FakeProcess) -> None:
        grading = asyncio.create_task(runner.grade([b"[]"]))
        (token,) = await peer.hear_ids()
        peer.say({"id": token, "reward": 0.5})
        peer.say_bytes(b"\0")
        assert await grading == [Outcome(0.5)]
        await until(lambda: not runner.is_reusable)

    play(scene)


def test_a_reply_sent_before_it_was_asked_for_does_not_answer_the_next_row() -> None:
    async def scene(runner: Runner, peer: Peer, process: FakeProcess) -> None:
        peer.say({"id": "0123456789abcdef", "reward": 1.0})
        await until(lambda: not runner.is_reusable)
        grading = asyncio.create_task(runner.grade([b"[]"]))
        (token,) = await peer.hear_ids()
        peer.say({"id": token, "reward": 0.5})
        (outcome,) = await grading
        assert (outcome.reward, outcome.failure) == (0.0, "died")

    play(scene)


def test_a_flood_that_nobody_asked_for_ends_the_runner() -> None:
    async def scene(runner: Runner, peer: Peer, process: FakeProcess) -> None:
        peer.say_bytes(bytes(MAX_REPLY_BYTES + 100))
        await until(lambda: process.killed == 1)
        assert len(runner._buffer) < 2 * MAX_REPLY_BYTES

    play(scene)


def test_a_thread_left_running_makes_the_runner_useless() -> None:
    async def scene(runner: Runner, peer: Peer, process: FakeProcess) -> None:
        process.count = 2
        assert not runner.is_reusable

    play(scene)


def test_a_runner_that_has_grown_large_is_not_kept() -> None:
    async def scene(runner: Runner, peer: Peer, process: FakeProcess) -> None:
        process.memory = MAX_KEPT_BYTES
        assert runner.is_reusable
        process.memory += 1
        assert not runner.is_reusable

    play(scene)


def test_a_runner_that_hangs_up_fails_its_row() -> None:
    async def scene(runner: Runner, peer: Peer, process: FakeProcess) -> None:
        grading = asyncio.create_task(runner.grade([b"[]"]))
        await peer.hear_ids()
        peer.hang_up()
        assert await grading == [Outcome(failure="died", details="the grader's process ended by itself")]
        assert process.killed == 1

    play(scene)


def test_a_row_that_takes_longer_than_its_limit_fails_and_the_runner_ends() -> None:
    async def scene(runner: Runner, peer: Peer, process: FakeProcess) -> None:
        assert await runner.grade([b"[]"]) == [Outcome(failure="timeout", details="the grader took longer than 0.3 s")]
        assert process.killed == 1

    play(scene)


def test_every_row_has_the_whole_limit_to_itself() -> None:
    async def scene(runner: Runner, peer: Peer, process: FakeProcess) -> None:
        grading = asyncio.create_task(runner.grade([b"[]"] * 4))
        for token in await peer.hear_ids():
            await asyncio.sleep(0.6 * LIMITS.wall_s)
            peer.say({"id": token, "reward": 1})
        assert await grading == [Outcome(1.0)] * 4

    play(scene)


def test_half_a_reply_does_not_move_the_deadline() -> None:
    async def scene(runner: Runner, peer: Peer, process: FakeProcess) -> None:
        grading = asyncio.create_task(runner.grade([b"[]"]))
        await peer.hear_ids()
        started = asyncio.get_running_loop().time()
        peer.say(b"", length=100)
        while not grading.done():
            peer.say_bytes(b" ")
            await asyncio.sleep(0.05)
        assert (await grading)[0].failure == "timeout"
        assert asyncio.get_running_loop().time() - started < 2 * LIMITS.wall_s

    play(scene)


def test_a_grade_that_is_given_up_ends_the_runner() -> None:
    async def scene(runner: Runner, peer: Peer, process: FakeProcess) -> None:
        grading = asyncio.create_task(runner.grade([b"[]"]))
        await peer.hear_ids()
        grading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await grading
        assert process.killed == 1

    play(scene)


def test_an_ended_runner_says_so_when_asked_again() -> None:
    async def scene(runner: Runner, peer: Peer, process: FakeProcess) -> None:
        runner.end()
        runner.end()
        assert await runner.grade([b"[]"]) == [Outcome(failure="died", details="the grader's process was ended")]
        assert process.killed == 1

    play(scene)


@pytest.mark.parametrize("reply", [{"failed": "error", "details": "SyntaxError"}, {}, {"reward": "x"}])
def test_a_program_that_does_not_load_gives_no_runner(reply: dict[str, Any]) -> None:
    async def run() -> tuple[str | None, int]:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        peer = Peer(*await asyncio.open_connection(sock=theirs))
        process = FakeProcess()
        starting = asyncio.create_task(Runner.start(PROGRAM, ours, process))
        peer.say({"id": (await peer.hear())["id"], **reply})
        with pytest.raises(RunnerGone) as gone:
            await starting
        peer.hang_up()
        await asyncio.sleep(0)
        return gone.value.outcome.failure, process.killed

    assert asyncio.run(run()) == ("error" if "failed" in reply else "died", 1)


def test_a_foreign_process_tells_of_its_threads_and_memory_until_it_is_killed_and_leaves_nothing_open() -> None:
    before = open_descriptors()
    with subprocess.Popen(
        [sys.executable, "-c", TWO_THREADS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as program:
        assert program.stdout is not None
        program.stdout.readline()
        process = ForeignProcess(os.pidfd_open(program.pid))
        assert process.threads() == 2
        assert MB < process.memory_bytes() < 100 * MB
        process.kill()
        assert program.wait() == -signal.SIGKILL
    assert open_descriptors() == before


def test_of_a_process_that_is_gone_nothing_is_told() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as program:
        handle = os.pidfd_open(program.pid)
    before = open_descriptors()
    process = ForeignProcess(handle)
    assert (process.threads(), process.memory_bytes()) == (1, 0)
    process.kill()
    assert open_descriptors() == before - {handle}


TWO_THREADS = """
import sys, threading
threading.Thread(target=sys.stdin.read, daemon=True).start()
print("begun", flush=True)
threading.Event().wait()
"""


def open_descriptors() -> set[int]:
    return {int(each.name) for each in Path("/proc/self/fd").iterdir() if each.exists()}
