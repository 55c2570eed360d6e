"""The way to reward servers of this process. It is opened when the first conversation is to be scored."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fairmark.endpoints.base import EndpointScore, Target
from fairmark.errors import GradingFailed, NotGraded
from fairmark.text.thread import Thread

if TYPE_CHECKING:  # read when it is needed: every import of fairmark comes by here
    from fairmark.endpoints.client import EndpointClient

_opened: "tuple[int, EndpointClient] | None" = None


_public = True


def only_listed() -> None:
    """From now on, only what `endpoint_allow` lists is asked: for servers, whose graders come from others."""
    global _public
    _public = False


def lists_only() -> bool:
    """Whether only what is listed is asked."""
    return not _public


class ChosenEndpoints:
    """Opens the real client on first use and hands everything on to it. It may be used from any event loop."""

    def __init__(self, owner: str = "") -> None:
        """`owner`: who asks. Owners share the places of each server fairly."""
        self._owner = owner

    async def score(self, target: Target, threads: Sequence[Thread]) -> list[EndpointScore | GradingFailed | NotGraded]:
        from fairmark.work import eventloop

        return await eventloop.on_own_loop(self._score(target, threads))

    async def _score(
        self, target: Target, threads: Sequence[Thread]
    ) -> list[EndpointScore | GradingFailed | NotGraded]:
        return await opened().score(target, threads, self._owner)


def opened() -> "EndpointClient":
    """The client of this process. To be called on the process's own event loop. Raises InvalidSettings."""
    global _opened
    # A forked child must not use its parent's connections.
    if _opened is None or _opened[0] != os.getpid():
        import atexit

        from fairmark.endpoints.addresses import read_allowed
        from fairmark.endpoints.client import EndpointClient
        from fairmark.settings import settings
        from fairmark.work import eventloop

        client = EndpointClient(replace(read_allowed(settings().endpoint_allow), public=_public))
        opener = os.getpid()
        _opened = (opener, client)

        def close() -> None:
            if os.getpid() == opener:
                eventloop.run(client.close())

        atexit.register(close)
    return _opened[1]
