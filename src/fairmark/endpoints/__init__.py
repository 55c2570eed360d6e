"""Reward servers: what is asked of them, and a look whether one is there."""

from collections.abc import Mapping
from typing import NamedTuple

PROBE_TIMEOUT_S = 10.0


class Online(NamedTuple):
    """A reward server that answers, and what it says of itself."""

    name: str
    version: str
    description: str


class Offline(NamedTuple):
    """A reward server that does not answer, or not as one."""

    error: str


def probe(url: str, headers: Mapping[str, str] | None = None, timeout_s: float = PROBE_TIMEOUT_S) -> Online | Offline:
    """Whether a reward server answers at this address. Nothing is scored, and nothing is raised for what it does."""
    from fairmark.work import eventloop

    return eventloop.run(_probe(url, headers, timeout_s))


async def aprobe(
    url: str, headers: Mapping[str, str] | None = None, timeout_s: float = PROBE_TIMEOUT_S
) -> Online | Offline:
    """`probe` for callers that have an event loop."""
    from fairmark.work import eventloop

    return await eventloop.on_own_loop(_probe(url, headers, timeout_s))


async def _probe(url: str, headers: Mapping[str, str] | None, timeout_s: float) -> Online | Offline:
    from fairmark.endpoints import chosen
    from fairmark.endpoints.targets import read_target
    from fairmark.errors import FairmarkError

    try:
        return Online(*await chosen.opened().info(read_target(url, dict(headers or {}), timeout_s)))
    except FairmarkError as error:
        return Offline(str(error))
