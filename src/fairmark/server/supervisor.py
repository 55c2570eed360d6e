"""Several processes behind one port: started, told from one another, begun anew when one dies, and ended together.

Each binds the port for itself (SO_REUSEPORT): the system spreads connections over those that live, and one that is
killed takes nobody's connections along but its own. This process answers no request and holds no store: it reserves the
port, passes on what the others tell one another, and keeps the lock of a SQLite file, which ends with the last of them.
Where it dies itself, the line to it ends and the others end too.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from fairmark import jsontext
from fairmark.errors import CannotServe
from fairmark.server.serve import prepare, say_all
from fairmark.serving import log
from fairmark.serving.process import FINISH_WITHIN_S, bind, reserve, url_of
from fairmark.serving.siblings import LONGEST_LINE
from fairmark.settings import Settings
from fairmark.work.board import Board

START_WITHIN_S, START_ON_CLUSTER_WITHIN_S = 60.0, 240.0
STOP_WITHIN_S = FINISH_WITHIN_S + 10.0
"""After that, what has not ended is killed."""
STEADY_S = 10.0
"""One that lived for so long is begun anew at once; others after a pause, each time a longer one."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 10.0


def serve_together(
    host: str, port: int, processes: int, settings: Settings, level: log.Level, tell: Callable[[str], None]
) -> None:
    """Serve from so many processes until a signal says stop. Raises as `serve` does."""
    if port:
        for probe in bind(host, port):  # those that share a port would not notice another server there
            probe.close()
    reserved = reserve(host, port)
    log.set_up(level)
    try:
        asyncio.run(_Supervisor(host, reserved, processes, settings, level, tell).run())
    finally:
        for bound in reserved:
            bound.close()


class _Member:
    """One of the processes, and the line to it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.process: subprocess.Popen[bytes] | None = None
        self.writer: asyncio.StreamWriter | None = None
        self.is_ready = False
        self.has_served = False
        """It, or one before it."""
        self.refusal: str | None = None
        """Why it cannot serve."""

    def send(self, message: dict[str, Any]) -> None:
        if self.writer is not None and not self.writer.is_closing():
            self.writer.write(jsontext.encode(message) + b"\n")

    def signal(self, number: int) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)


class _Supervisor:
    def __init__(
        self,
        host: str,
        reserved: list[socket.socket],
        processes: int,
        settings: Settings,
        level: log.Level,
        tell: Callable[[str], None],
    ) -> None:
        self._host = host
        self._reserved = reserved
        self._settings = settings
        self._level = level
        self._tell = tell
        self._members = [_Member(number) for number in range(processes)]
        self._board = Board.make(processes)
        self._lock: int | None = None
        self._stopping = asyncio.Event()
        self._all_ready = asyncio.Event()

    async def run(self) -> None:
        prepared = await prepare(self._reserved, self._settings)
        self._lock = prepared.lock
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop, number)
        keeping = [asyncio.create_task(self._keep(member)) for member in self._members]
        try:
            await self._started(keeping)
            if not self._stopping.is_set():
                url = url_of(self._reserved[0])
                say_all(prepared, url, self._tell)
                log.event(logging.INFO, "started", url=url, keys=prepared.has_keys, processes=len(self._members))
            await asyncio.gather(*keeping)
        finally:
            self._stopping.set()
            for task in keeping:
                task.cancel()
            await asyncio.gather(*keeping, return_exceptions=True)
            await self._end_all()
            self._board.close()
            if self._lock is not None:
                os.close(self._lock)
            log.event(logging.INFO, "stopped")

    async def _started(self, keeping: list["asyncio.Task[None]"]) -> None:
        """Until every process serves. Raises CannotServe where one does not."""
        within_s = START_ON_CLUSTER_WITHIN_S if self._settings.engine == "ray" else START_WITHIN_S
        ready = asyncio.create_task(self._all_ready.wait())
        try:
            await asyncio.wait([ready, *keeping], timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
        for task in keeping:
            if task.done():
                task.result()
        if not self._all_ready.is_set() and not self._stopping.is_set():
            raise CannotServe(f"not all processes were ready within {within_s:g} s.")

    def _stop(self, number: int) -> None:
        """The second time in earnest: what is told the members twice ends them at once."""
        self._stopping.set()
        self._all_ready.set()
        for member in self._members:
            member.signal(signal.SIGTERM)

    async def _keep(self, member: _Member) -> None:
        """One process after the other in this place, until all are to end."""
        pause_s = FIRST_PAUSE_S
        while not self._stopping.is_set():
            began = time.monotonic()
            code = await self._one_life(member)
            if self._stopping.is_set():
                return
            if member.refusal is not None or not self._all_ready.is_set():
                raise CannotServe(member.refusal or f"a process ended with status {code} before it served.")
            log.event(logging.ERROR, "a process of the server ended", process=member.number, status=code)
            self._board.clear(member.number)
            pause_s = 0.0 if time.monotonic() - began > STEADY_S else min(2 * pause_s or FIRST_PAUSE_S, LONGEST_PAUSE_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._stopping.wait()

    async def _one_life(self, member: _Member) -> int:
        """From the start of a process to its end: its exit status."""
        ours, theirs = socket.socketpair()
        passed = [theirs.fileno(), self._board.fileno, *([] if self._lock is None else [self._lock])]
        command = [sys.executable, "-m", "fairmark.server.member", str(theirs.fileno())]
        # In a group of its own: Ctrl-C is for us, who tell them once.
        process = subprocess.Popen(  # noqa: S603  # our own module by our own interpreter
            command, stdin=subprocess.DEVNULL, pass_fds=passed, process_group=0
        )
        theirs.close()
        member.process, member.is_ready = process, False
        reader, member.writer = await asyncio.open_connection(sock=ours, limit=LONGEST_LINE)
        if self._stopping.is_set():
            member.signal(signal.SIGTERM)
        member.send(self._order(member))
        try:
            with contextlib.suppress(OSError):
                while line := await reader.readline():
                    self._pass_on(member, jsontext.decode(line))
        finally:
            member.writer.close()
            member.writer = None
        return await asyncio.to_thread(_ended, process)

    def _order(self, member: _Member) -> dict[str, Any]:
        """What a new process has to know. By the line, because a database's address may hold a password."""
        return {
            "number": member.number,
            "count": len(self._members),
            "host": self._host,
            "port": self._reserved[0].getsockname()[1],
            "db": self._settings.db,
            "engine": self._settings.engine,
            "ray_address": self._settings.ray_address,
            "ray_actors": self._settings.ray_actors,
            "level": self._level,
            "again": member.has_served,
            "board": self._board.fileno,
        }

    def _pass_on(self, member: _Member, message: dict[str, Any]) -> None:
        if "ready" in message:
            member.is_ready = member.has_served = True
            if all(other.is_ready for other in self._members):
                self._all_ready.set()
        elif "refusal" in message:
            member.refusal = message["refusal"]
        elif "to" in message:
            self._members[message["to"]].send({**message, "from": member.number})
        else:
            others = [other for other in self._members if other is not member and other.is_ready]
            for other in others:
                other.send({**message, "from": member.number})
            if "ask" in message:
                member.send({"asked": message["ask"], "of": len(others)})

    async def _end_all(self) -> None:
        """Nothing that we started is left."""
        processes = [member.process for member in self._members if member.process is not None]
        for process in processes:
            if process.poll() is None:
                process.terminate()
        await asyncio.gather(*(asyncio.to_thread(_ended, process) for process in processes))


def _ended(process: "subprocess.Popen[bytes]") -> int:
    """Its exit status; it is killed where it does not end."""
    try:
        return process.wait(STOP_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
