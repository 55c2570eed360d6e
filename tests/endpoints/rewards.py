"""A reward server for tests: the fault server with answers of this contract, and a client that may reach it."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

import fairmark
from fairmark.endpoints.addresses import read_allowed
from fairmark.endpoints.client import EndpointClient
from fairmark.parse import parse
from fairmark.run import CONTEXT, grade_parts
from fairmark.work import eventloop
from tests.judges.faults import FaultServer, Raw, Request, Wire

Rule = Callable[[dict[str, Any]], dict[str, Any]]


def by_length(request: dict[str, Any]) -> dict[str, Any]:
    """The length of the last turn, and why."""
    text = request["turns"][-1]["content"]
    return {"reward": float(len(text)), "metadata": {"reason": f"{len(text)} letters"}}


@dataclass(frozen=True, slots=True)
class Rewards:
    """Answers /score and /batch_score by a rule, and /info; everything else is 404. `batches`: whether it has them."""

    rule: Rule = by_length
    batches: bool = True
    before_s: float = 0.0

    async def play(self, wire: Wire, request: Request) -> None:
        await asyncio.sleep(self.before_s)
        path = request.path.rpartition("/")[2]
        if path == "info":
            await respond(wire, {"name": "tests", "version": "7", "description": "Scores by length."})
        elif path == "score":
            await respond(wire, self.rule(request.body))
        elif path == "batch_score" and self.batches:
            await respond(wire, {"responses": [self.rule(each) for each in request.body["requests"]]})
        else:
            await respond(wire, {"detail": "Not Found"}, 404)


@dataclass(frozen=True, slots=True)
class Refusing:
    """Refuses every request in which one of the texts is wrong, as a server with a schema does, and answers others."""

    wrong: frozenset[str]
    status: int = 422
    rewards: Rewards = field(default_factory=Rewards)

    async def play(self, wire: Wire, request: Request) -> None:
        requests = request.body.get("requests", [request.body])
        if any(each["turns"][-1]["content"] in self.wrong for each in requests):
            await respond(wire, {"detail": [{"msg": "not to be scored"}]}, self.status)
        else:
            await self.rewards.play(wire, request)


async def respond(wire: Wire, value: Any, status: int = 200) -> None:
    body = json.dumps(value).encode()
    head = f"HTTP/1.1 {status} Told\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    await wire.send(head.encode() + body)


def answering(value: Any) -> Raw:
    """The same JSON to whatever is asked; with NaN in it, if it has to be."""
    return Raw(json.dumps(value).encode())


class Setup:
    """A server to misbehave, and grades by endpoint graders that ask it."""

    def __init__(self, server: FaultServer) -> None:
        self.server = server
        self.netloc = urlsplit(server.url).netloc
        self.client = EndpointClient(read_allowed(self.netloc))

    def grader(self, **more: Any) -> dict[str, Any]:
        return {"type": "endpoint", "name": "remote", "url": self.server.url, **more}

    def grade_all(self, samples: Sequence[str], **more: Any) -> list[fairmark.Result]:
        rows = [({"question": "How long?", "number": number}, sample) for number, sample in enumerate(samples)]
        return self.grade_rows(rows, **more)

    def grade_rows(self, rows: Sequence[tuple[Any, Any]], **more: Any) -> list[fairmark.Result]:
        context = replace(CONTEXT, endpoints=self.client)
        return eventloop.run(grade_parts(parse(self.grader(**more)), rows, context))

    def grade(self, sample: str = "four", **more: Any) -> fairmark.Result:
        (result,) = self.grade_all([sample], **more)
        return result

    @property
    def paths(self) -> list[str]:
        return [request.path for request in self.server.requests]


@contextmanager
def reward_server() -> Iterator[Setup]:
    with FaultServer() as server:
        server.always(Rewards())
        setup = Setup(server)
        try:
            yield setup
        finally:
            eventloop.run(setup.client.close())
