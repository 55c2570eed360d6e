"""What a kind asks of a reward server and what it gets back. The kinds know this much of endpoints and no more."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from fairmark.errors import GradingFailed, NotGraded
from fairmark.text.thread import Thread


class Target(NamedTuple):
    """A reward server, as a grader names it."""

    url: str
    headers: Mapping[str, str] = {}  # never changed
    """As written: `${NAME}` stands for a variable of the environment."""
    timeout_s: float = 60.0
    """What a batch may take with all its retries, from when it is first sent."""
    batch_size: int = 64


class EndpointScore(NamedTuple):
    """What a reward server made of one conversation."""

    reward: float
    reason: str | None = None
    seconds: float = 0.0
    """This one's share of the request that it came with."""


class Endpoints(Protocol):
    """Asks reward servers. Whatever goes wrong with one conversation leaves the others alone."""

    async def score(self, target: Target, threads: Sequence[Thread]) -> list[EndpointScore | GradingFailed | NotGraded]:
        """In the order of the conversations."""
        ...
