"""A server as a process: its sockets, connections that may not dawdle, and a graceful end."""

import asyncio
import contextlib
import ipaddress
import signal
import socket
from collections.abc import Callable, Generator
from os import urandom
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from fairmark.errors import ApiError, CannotServe

KEEP_ALIVE_S = 75
"""Longer than clients keep an idle connection: otherwise theirs is closed just when they send."""
FINISH_WITHIN_S = 20
"""How long requests in flight may take after the signal to stop."""
SLOWEST_BYTES_S = 65_536
STALLED_S = 60.0
"""A client that takes nothing of its answer for this long is gone."""
BACKLOG = 2048
DISCARDED_AT_MOST = 256_000_000
"""How much of a body that was refused is read and thrown away."""


def bind(host: str, port: int, *, shared: bool = False) -> list[socket.socket]:
    """Listening sockets for all addresses of the host. Raises CannotServe.

    `shared`: other processes of the same user may listen there too, and the system spreads connections over them.
    """
    sockets = reserve(host, port, shared=shared)
    for listener in sockets:
        listener.listen(BACKLOG)
        listener.setblocking(False)
    return sockets


def reserve(host: str, port: int, *, shared: bool = True) -> list[socket.socket]:
    """The same, but they do not listen: the port is ours, and connections go to those who do."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError, OverflowError) as error:
        raise CannotServe(f"--host {host}: {getattr(error, 'strerror', None) or error}.") from None
    sockets: list[socket.socket] = []
    failure: OSError | None = None
    for family, kind, protocol, _, address in sorted(addresses, key=lambda entry: entry[0] != socket.AF_INET):
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if shared:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            # A host of several addresses gets the same port on each.
            chosen = sockets[0].getsockname()[1] if sockets else address[1]
            listener.bind((address[0], chosen, *address[2:]))
            sockets.append(listener)
        except OSError as error:
            failure = error
            listener.close()
    if not sockets:
        reason = (failure.strerror or str(failure)).lower() if failure else "no address"
        raise CannotServe(f"{host}:{port}: {reason}. Choose another with --port.")
    return sockets


def url_of(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def on_loopback(sockets: list[socket.socket]) -> bool:
    """Whether only this machine can reach them."""
    return all(ipaddress.ip_address(bound.getsockname()[0]).is_loopback for bound in sockets)


def config(app: ASGIApp, request_timeout_s: float) -> uvicorn.Config:
    """How uvicorn serves an application of ours; a client has this long to send a request."""
    return uvicorn.Config(
        app,
        http=_connections(request_timeout_s),
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=FINISH_WITHIN_S,
        backlog=BACKLOG,
    )


class Server(uvicorn.Server):
    """uvicorn's, but a signal to stop is a good end, and connections are looked after."""

    stopping: asyncio.Event | None = None
    """Set before requests in flight are waited for."""
    on_start: Callable[[], None] | None = None
    """Called when it listens and hears signals, not before: whoever reads what it says may stop us at once."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.on_start is not None:
            self.on_start()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        watched = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self._stop) for number in watched}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit  # the second time in earnest
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self.stopping is not None:
            self.stopping.set()
        await super().shutdown(sockets)

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:
            for connection in list(self.server_state.connections):
                if isinstance(connection, Connection):
                    connection.look()
        return await super().on_tick(counter)


class Connection(HttpToolsProtocol):
    """uvicorn's, for clients that send a request in a bounded time and take their answer.

    A body that was refused is still read, up to a point, and thrown away: a client that sends and does not listen would
    otherwise find the connection broken and never see the answer.
    """

    timeout_s = 30.0
    _since: float | None = None
    """When the request that is being received began; None while none is."""
    _in_body = False
    _received = 0
    _discarded = 0
    _stalled = (0, 0.0)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._since = self.loop.time()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._since, self._received = self.loop.time(), 0

    def on_headers_complete(self) -> None:
        self._in_body = True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if self.cycle.response_complete:
            self._discarded += len(body)
            if self._discarded > DISCARDED_AT_MOST:
                self.transport.abort()
        else:
            self._received += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._since, self._in_body, self._discarded = None, False, 0
        super().on_message_complete()

    def look(self) -> None:
        """Once a second: ends the connection of a client that dawdles."""
        now = self.loop.time()
        unsent = self.transport.get_write_buffer_size()
        if not unsent or unsent != self._stalled[0]:
            self._stalled = (unsent, now)
        elif now - self._stalled[1] > STALLED_S:
            self.transport.abort()
        if self._since is None:
            return
        if self.flow.read_paused:  # it is we who do not read
            self._since = now
        elif now - self._since > self.timeout_s + self._received / SLOWEST_BYTES_S:
            cycle: Any = self.cycle  # None before the first request
            if self._in_body and cycle.response_started:
                self.transport.close()
            else:
                message = f"The request did not arrive within {self.timeout_s:g} s and one more for every 64 kB."
                self._refuse(ApiError(408, message, code="request_timeout"))

    def send_400_response(self, msg: str) -> None:
        self._refuse(ApiError(400, "This is not HTTP.", code="invalid_http"))

    def _refuse(self, error: ApiError) -> None:
        """An answer outside of any request; the connection ends with it."""
        body = error.body()
        reason = {400: b"Bad Request", 408: b"Request Timeout"}[error.status]
        self.transport.write(
            b"HTTP/1.1 %d %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n"
            b"x-request-id: req_%b\r\n\r\n%b" % (error.status, reason, len(body), urandom(16).hex().encode(), body)
        )
        self.transport.close()


def _connections(timeout_s: float) -> type[Connection]:
    return type("Connection", (Connection,), {"timeout_s": timeout_s})
