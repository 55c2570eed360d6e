"""The reward server as a process: sockets, and a graceful end."""

from collections.abc import Callable, Mapping

from fairmark.errors import CannotServe, InvalidGrader, Problem
from fairmark.rewardserver.answers import OnError
from fairmark.rewardserver.app import RewardApp, by_path
from fairmark.serving.process import Server, bind, config, on_loopback, url_of
from fairmark.serving.proxies import read_proxies
from fairmark.settings import Settings
from fairmark.spec import GraderSpec
from fairmark.trainers.reward import check
from fairmark.trainers.warming import open_sandbox


def serve(
    graders: list[GraderSpec],
    host: str,
    port: int,
    key: str | None,
    settings: Settings,
    tell: Callable[[str], None],
    on_error: OnError = "zero",
) -> None:
    """Serve until a signal says stop. Raises CannotServe or InvalidSettings, InvalidData where the graders cannot be
    told apart, or InvalidGrader where this machine cannot run one: every row of a training run would be 0."""
    served = by_path(graders)
    _make_ready(served)
    proxies = read_proxies(settings.trusted_proxies)
    sockets = bind(host, port)
    try:
        address = sockets[0].getsockname()[0]
        if not on_loopback(sockets) and not key:
            raise CannotServe(
                f"{address}: others can reach this address, and there is no key. Set FAIRMARK_REWARD_KEY, or serve on "
                "127.0.0.1."
            )
        url = url_of(sockets[0])
        app = RewardApp(served, key, settings.max_body_mb * 1_000_000, proxies, on_error)
        lines = [f"  {url}/{word}  {spec.name} ({spec.type})" for word, spec in served.items()]
        server = Server(config(app, settings.request_timeout_s))
        server.on_start = lambda: tell("\n".join([f"Fairmark scores on {url}", *lines]))
        server.run(sockets)
    finally:
        for listener in sockets:
            listener.close()


def _make_ready(graders: Mapping[str, GraderSpec]) -> None:
    problems = []
    for word, spec in graders.items():
        try:
            open_sandbox(check(spec))
        except InvalidGrader as error:
            problems += [Problem(f"{word}: {problem.path}", *problem[1:]) for problem in error.problems]
    if problems:
        raise InvalidGrader(problems)
