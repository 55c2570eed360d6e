"""The other processes of one server: a line to each, through the one that started them.

What is told is never needed for anything that was promised: that stands in the store, and whoever missed it finds it
there a moment later. It makes the moment short.
"""

import asyncio
import contextlib
import itertools
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import Any

from fairmark import jsontext

LONGEST_LINE = 32_000_000
ANSWER_WITHIN_S = 1.0
"""How long is waited for others' answers: one that is being killed gives none."""

Handler = Callable[[Any], Awaitable[Any] | Any]

log = logging.getLogger("fairmark.server")


class Siblings:
    """Seen from one of the processes. Without any others, what is told goes nowhere. Lives on one event loop."""

    def __init__(self, number: int = 0, count: int = 1) -> None:
        self.number = number
        """Which one this is, from 0."""
        self.count = count
        self._handlers: dict[str, Handler] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._reader: asyncio.StreamReader | None = None
        self._asked: dict[int, _Asked] = {}
        self._numbers = itertools.count()
        self._tasks: set[asyncio.Future[Any]] = set()

    async def connect(self, line: socket.socket) -> dict[str, Any]:
        """The first thing that is said on the line: what this process is to do."""
        self._reader, self._writer = await asyncio.open_connection(sock=line, limit=LONGEST_LINE)
        first: dict[str, Any] = jsontext.decode(await self._reader.readline())
        return first

    async def listen(self) -> None:
        """Hears the others until the line ends, because who started us did."""
        reader, writer = self._reader, self._writer
        assert reader is not None  # noqa: S101  # only called after `connect`
        assert writer is not None  # noqa: S101
        try:
            with contextlib.suppress(OSError):
                while line := await reader.readline():
                    self._hear(jsontext.decode(line))
        finally:
            writer.close()

    def on(self, what: str, handler: Handler) -> None:
        """What is done when another tells this. Its value goes to those who ask."""
        self._handlers[what] = handler

    def tell(self, what: str, value: Any = None) -> None:
        """To all others; nobody waits for it."""
        self._send({"what": what, "value": value})

    async def ask(self, what: str, value: Any = None, within_s: float = ANSWER_WITHIN_S) -> dict[int, Any]:
        """What each of the others answers, by its number; those that do not answer soon are missing."""
        if self._writer is None:
            return {}
        number = next(self._numbers)
        asked = self._asked[number] = _Asked()
        self._send({"what": what, "value": value, "ask": number})
        try:
            async with asyncio.timeout(within_s):
                await asked.done.wait()
        except TimeoutError:
            pass
        finally:
            del self._asked[number]
        return asked.answers

    def say(self, **fields: Any) -> None:
        """To the one that started us."""
        self._send(fields)

    def _send(self, message: dict[str, Any]) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(jsontext.encode(message) + b"\n")

    def _hear(self, message: dict[str, Any]) -> None:
        if "asked" in message:
            asked = self._asked.get(message["asked"])
            if asked is not None:
                asked.expect(message["of"])
        elif "answer" in message:
            asked = self._asked.get(message["answer"])
            if asked is not None:
                asked.add(message["from"], message["value"])
        else:
            task = asyncio.ensure_future(self._handle(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _handle(self, message: dict[str, Any]) -> None:
        handler = self._handlers.get(message["what"])
        value = None
        try:
            value = None if handler is None else handler(message["value"])
            if asyncio.iscoroutine(value):
                value = await value
        except Exception:  # what another process said must not end what this one does
            log.exception("%s, told by another process, failed", message["what"])
        if "ask" in message:
            self._send({"answer": message["ask"], "to": message["from"], "value": value})


class _Asked:
    """A question under way."""

    def __init__(self) -> None:
        self.answers: dict[int, Any] = {}
        self.done = asyncio.Event()
        self._of: int | None = None

    def expect(self, of: int) -> None:
        self._of = of
        self._look()

    def add(self, number: int, value: Any) -> None:
        self.answers[number] = value
        self._look()

    def _look(self) -> None:
        if self._of is not None and len(self.answers) >= self._of:
            self.done.set()
