"""A runner from outside: the process that runs one program, the channel to it, and its deadlines.

Nothing it says is believed: a reply must come in turn, carry the random id of its row, be small, and hold a finite
number or a failure. Anything else ends the runner.
"""

import asyncio
import json
import math
import os
import resource
import secrets
import signal
import socket
from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

from fairmark import jsontext
from fairmark.sandbox.base import Failure, Outcome, Program
from fairmark.work import counts

TOKEN_BYTES = 8
MAX_REPLY_BYTES = 1024 * 1024
MAX_KEPT_BYTES = 512 * 1024 * 1024
"""A runner that has grown beyond this is not kept for the next grade."""

_FAILURES: dict[str, Failure] = {"error": "error", "oom": "oom"}


STARTS = counts.counter("fairmark_sandbox_starts_total", "Processes of the sandbox that loaded a program.")
KILLS = counts.counter("fairmark_sandbox_kills_total", "Processes of the sandbox that were ended, by why.", "reason")


class RunnerGone(Exception):
    """The runner has ended, by itself or by us."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.details)
        self.outcome = outcome


class Process(Protocol):
    """A runner's process, as far as the service touches it."""

    def kill(self) -> None:
        """End it now, whatever it does. Called once."""

    def threads(self) -> int:
        """How many threads it has."""

    def memory_bytes(self) -> int:
        """How much memory it has to itself."""


class ForeignProcess:
    """A process that is no child of ours, held by a descriptor, so that no other can be hit by mistake."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    @cached_property
    def _told(self) -> tuple[str, str]:
        """Where the system tells of its threads and of its memory. Looked at before and after every message, and so by
        the plainest calls there are."""
        folder = f"/proc/{_pid_behind(self._handle)}"
        return f"{folder}/task", f"{folder}/statm"

    def kill(self) -> None:
        try:
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.close(self._handle)

    def threads(self) -> int:
        """1 where nobody can tell."""
        try:
            return os.stat(self._told[0]).st_nlink - 2  # noqa: PTH116
        except OSError:
            return 1

    def memory_bytes(self) -> int:
        """0 where nobody can tell."""
        try:
            descriptor = os.open(self._told[1], os.O_RDONLY | os.O_CLOEXEC)
            try:
                _, resident, shared, *_ = map(int, os.read(descriptor, 256).split())
            finally:
                os.close(descriptor)
        except (OSError, ValueError):
            return 0
        return (resident - shared) * resource.getpagesize()


def _pid_behind(handle: int) -> int:
    """The number of the process that a descriptor stands for; 0 where nobody can tell."""
    try:
        told = Path(f"/proc/self/fdinfo/{handle}").read_text()
        return next(int(line.split()[1]) for line in told.splitlines() if line.startswith("Pid:"))
    except (OSError, StopIteration, ValueError):
        return 0


def _tokens(count: int) -> list[str]:
    """As many as that, which nobody can guess."""
    text = secrets.token_hex(TOKEN_BYTES * count)
    return [text[start : start + 2 * TOKEN_BYTES] for start in range(0, len(text), 2 * TOKEN_BYTES)]


class Runner(asyncio.Protocol):
    """One runner process. It loads its program, then grades rows until it is ended or breaks a rule."""

    def __init__(self, program: Program, process: Process) -> None:
        self.program = program
        self._process = process
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._expected: list[str] = []
        self._replies: list[Outcome] = []
        self._done: asyncio.Future[None] | None = None
        self._gone: RunnerGone | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._progress = 0.0
        self._is_cut = False
        self._limit_s = program.limits.wall_s
        self.load_s = 0.0
        """What loading its program took."""
        self.row_s = 0.0
        """What a row of the last ones took; 0 before the first."""

    @classmethod
    async def start(cls, program: Program, channel: socket.socket, process: Process) -> "Runner":
        """Take over a runner that waits for its program. Raises RunnerGone where the program does not load."""
        runner = cls(program, process)
        (token,) = _tokens(1)
        order = {"id": token, "source": program.source, "calls": program.calls}
        started = perf_counter()
        try:
            runner._transport, _ = await asyncio.get_running_loop().create_connection(lambda: runner, sock=channel)
            await runner._ask(json.dumps(order).encode(), [token])
        except RunnerGone as gone:
            raise RunnerGone(gone.outcome._replace(at_load=True)) from None
        except BaseException:
            runner.end()
            raise
        (loaded,) = runner._replies
        if loaded.failure is not None:
            runner.end()
            raise RunnerGone(loaded._replace(at_load=True))
        runner.load_s = perf_counter() - started
        STARTS.add()
        return runner

    async def grade(self, rows: list[bytes], limit_s: float | None = None) -> list[Outcome]:
        """The outcomes of the rows, as far as the runner came: fewer than the rows where it ended on one.

        `limit_s`: what a row may take, where that is less than its program's limit.
        """
        self._limit_s = self.program.limits.wall_s if limit_s is None else limit_s
        ids = _tokens(len(rows))
        message = b",".join(b'["%s",%s]' % (token.encode(), row) for token, row in zip(ids, rows, strict=True))
        started = perf_counter()
        try:
            await self._ask(b"[" + message + b"]", ids)
        except RunnerGone as gone:
            return [*self._replies, gone.outcome]
        finally:
            self.row_s = (perf_counter() - started) / max(1, len(self._replies))
        return self._replies

    @property
    def answered(self) -> list[Outcome]:
        """What it has said so far of the rows that it was given last."""
        return self._replies

    def cut(self) -> int:
        """Let it answer the row that it is at and no more: so many of its rows are still its own.

        It cannot be told to leave the others out, so it is not reusable after that.
        """
        begun = len(self._replies) + 1
        if self._gone is None and begun < len(self._expected):
            del self._expected[begun:]
            self._is_cut = True
        return len(self._expected)

    @property
    def is_reusable(self) -> bool:
        """Whether it may grade again: alive, nothing said unasked, no thread left running, and not grown large."""
        if self._gone is not None or self._buffer or self._is_cut:
            return False
        return self._process.threads() == 1 and self._process.memory_bytes() <= MAX_KEPT_BYTES

    @property
    def is_asked(self) -> bool:
        """Whether somebody waits for it."""
        return self._done is not None and not self._done.done()

    @property
    def is_working(self) -> bool:
        return self._gone is None and self._done is not None and not self._done.done()

    def end(self, failure: Failure = "died", details: str = "the grader's process was ended") -> None:
        """Kill it, and tell whoever waits for it why. Ending twice does nothing."""
        if self._gone is not None:
            return
        self._gone = RunnerGone(Outcome(failure=failure, details=details))
        KILLS.add(failure if self.is_asked else "not needed")
        self._process.kill()
        if self._transport is not None:
            self._transport.abort()
        self._finish()

    async def _ask(self, message: bytes, ids: list[str]) -> None:
        self._expected, self._replies = ids, []
        if self._gone is not None:
            raise self._gone
        assert self._transport is not None  # noqa: S101  # set before anybody can ask
        loop = asyncio.get_running_loop()
        self._done = loop.create_future()
        self._transport.write(len(message).to_bytes(4) + message)
        self._progress = loop.time()
        self._timer = loop.call_later(self._limit_s, self._check_deadline)
        try:
            await self._done
        except asyncio.CancelledError:
            self.end()
            raise
        finally:
            self._timer.cancel()
        self._check_answered()

    def _check_answered(self) -> None:
        if self._gone is not None and len(self._replies) < len(self._expected):
            raise self._gone

    def _check_deadline(self) -> None:
        """Every row has the whole limit to itself; a row that is answered moves the deadline on."""
        loop = asyncio.get_running_loop()
        limit = self._limit_s
        left = self._progress + limit - loop.time()
        if left > 0:
            self._timer = loop.call_later(left, self._check_deadline)
        else:
            self.end("timeout", f"the grader took longer than {limit:g} s")

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        start = 0
        while len(self._replies) < len(self._expected) and len(self._buffer) - start >= 4:
            size = int.from_bytes(self._buffer[start : start + 4])
            if size > MAX_REPLY_BYTES:
                return self._break_off("its reply is too long")
            if len(self._buffer) - start - 4 < size:
                break
            outcome = _read(self._expected[len(self._replies)], bytes(self._buffer[start + 4 : start + 4 + size]))
            if outcome is None:
                return self._break_off("its reply is not one that was asked for")
            self._replies.append(outcome)
            start += 4 + size
        del self._buffer[:start]
        if start:
            self._progress = asyncio.get_running_loop().time()
        if len(self._buffer) > MAX_REPLY_BYTES + 4:
            return self._break_off("it said too much")
        if len(self._replies) == len(self._expected):
            self._finish()
        return None

    def connection_lost(self, error: Exception | None) -> None:
        self.end("died", "the grader's process ended by itself")

    def _break_off(self, why: str) -> None:
        self.end("died", f"the grader's process was ended: {why}")

    def _finish(self) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_result(None)


async def run_encoded(
    rows: Sequence[Sequence[Any]], run: Callable[[list[bytes]], Awaitable[list[Outcome]]]
) -> list[Outcome]:
    """Run rows as JSON texts. A row that JSON cannot hold fails alone."""
    encoded: list[bytes] = []
    failed: dict[int, Outcome] = {}
    for index, row in enumerate(rows):
        try:
            encoded.append(jsontext.encode(row))
        except (TypeError, ValueError, RecursionError) as error:
            failed[index] = Outcome(failure="error", details=f"the row cannot be sent to the grader: {error}")
    outcomes = iter(await run(encoded) if encoded else [])
    return [failed[index] if index in failed else next(outcomes) for index in range(len(rows))]


def _read(token: str, text: bytes) -> Outcome | None:
    """A reply, if it is the one to this row and well-formed."""
    try:
        reply = jsontext.decode(text)
    except jsontext.NotJson:
        return None
    match reply:
        case {"id": str() as id_, **said} if id_ == token:
            pass
        case _:
            return None
    printed, details = said.get("printed", ""), said.get("details", "")
    if not isinstance(printed, str) or not isinstance(details, str):
        return None
    match said:
        case {"failed": str() as failed}:
            return Outcome(failure=_FAILURES.get(failed, "error"), details=details, printed=printed)
        case {"reward": bool()}:
            return None
        case {"reward": int() | float() as reward}:
            try:
                number = float(reward)
            except OverflowError:
                return None
            return Outcome(number, printed=printed) if math.isfinite(number) else None
        case _:
            return None
