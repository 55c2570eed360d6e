"""The reward server as a process: sockets, and a graceful end."""

import ipaddress
import socket
from collections.abc import Callable

import uvicorn

from fairmark.rewardserver.app import RewardApp, by_path
from fairmark.server.serve import BACKLOG, FINISH_WITHIN_S, KEEP_ALIVE_S, CannotServe, Connection, Server, bind
from fairmark.settings import Settings
from fairmark.spec import GraderSpec


def serve(
    graders: list[GraderSpec], host: str, port: int, key: str | None, given: Settings, tell: Callable[[str], None]
) -> None:
    """Serve until a signal says stop. Raises CannotServe, or InvalidData where the graders cannot be told apart."""
    served = by_path(graders)
    sockets = bind(host, port)
    try:
        address, chosen = sockets[0].getsockname()[:2]
        on_loopback = all(ipaddress.ip_address(each.getsockname()[0]).is_loopback for each in sockets)
        if not on_loopback and not key:
            raise CannotServe(
                f"{address}: others can reach this address, and there is no key. Set FAIRMARK_REWARD_KEY, or serve on "
                "127.0.0.1."
            )
        url = f"http://[{address}]:{chosen}" if ":" in address else f"http://{address}:{chosen}"
        app = RewardApp(served, key, given.max_body_mb * 1_000_000)
        lines = [f"  {url}/{word}  {spec.name} ({spec.type})" for word, spec in served.items()]
        server = _Server(_config(app, given.request_timeout_s))
        server.on_start = lambda: tell("\n".join([f"Fairmark scores on {url}", *lines]))
        server.run(sockets)
    finally:
        for each in sockets:
            each.close()


def _config(app: RewardApp, request_timeout_s: float) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=type("Connection", (Connection,), {"timeout_s": request_timeout_s}),
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


class _Server(Server):
    """The server's, which says when it listens."""

    on_start: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.on_start()  # not before: whoever reads it may stop us at once
