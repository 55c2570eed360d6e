"""The reward server as a process: sockets, and a graceful end."""

from collections.abc import Callable

from fairmark.errors import CannotServe
from fairmark.rewardserver.app import RewardApp, by_path
from fairmark.serving.process import Server, bind, config, on_loopback, url_of
from fairmark.settings import Settings
from fairmark.spec import GraderSpec


def serve(
    graders: list[GraderSpec], host: str, port: int, key: str | None, given: Settings, tell: Callable[[str], None]
) -> None:
    """Serve until a signal says stop. Raises CannotServe, or InvalidData where the graders cannot be told apart."""
    served = by_path(graders)
    sockets = bind(host, port)
    try:
        address = sockets[0].getsockname()[0]
        if not on_loopback(sockets) and not key:
            raise CannotServe(
                f"{address}: others can reach this address, and there is no key. Set FAIRMARK_REWARD_KEY, or serve on "
                "127.0.0.1."
            )
        url = url_of(sockets[0])
        app = RewardApp(served, key, given.max_body_mb * 1_000_000)
        lines = [f"  {url}/{word}  {spec.name} ({spec.type})" for word, spec in served.items()]
        server = Server(config(app, given.request_timeout_s))
        server.on_start = lambda: tell("\n".join([f"Fairmark scores on {url}", *lines]))
        server.run(sockets)
    finally:
        for each in sockets:
            each.close()
