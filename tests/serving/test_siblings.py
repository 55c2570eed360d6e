"""What processes of one server tell one another. Whoever passes it on is played here; the real one is in
tests/server/test_supervisor.py."""

import asyncio
import json
import socket
from typing import Any

from fairmark.serving import siblings as module
from fairmark.serving.siblings import Siblings


class Line:
    """A process's line, from the other end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer

    def send(self, **message: Any) -> None:
        self.writer.write(json.dumps(message).encode() + b"\n")

    async def hear(self) -> Any:
        async with asyncio.timeout(30):
            return json.loads(await self._reader.readline())


async def connected() -> tuple[Siblings, Line]:
    ours, theirs = socket.socketpair()
    line = Line(*await asyncio.open_connection(sock=ours))
    line.send(number=1)
    made = Siblings(1, 2)
    assert await made.connect(theirs) == {"number": 1}
    return made, line


def test_alone_nobody_is_told_and_nobody_answers() -> None:
    async def scene() -> None:
        alone = Siblings()
        alone.tell("anything", 1)
        assert await alone.ask("anything") == {}

    asyncio.run(scene())


def test_what_another_tells_is_handled_and_what_it_asks_is_answered() -> None:
    async def scene() -> None:
        siblings, line = await connected()
        told: list[Any] = []
        siblings.on("told", told.append)

        async def double(value: int) -> int:
            return 2 * value

        def fail(value: Any) -> None:
            raise ValueError

        siblings.on("double", double)
        siblings.on("fail", fail)
        listening = asyncio.create_task(siblings.listen())
        line.send(what="told", value=7, **{"from": 0})
        for number, what in enumerate(("double", "fail", "unknown")):
            line.send(what=what, value=21, ask=number, **{"from": 0})
        answers = [await line.hear() for _ in range(3)]
        assert [(answer["answer"], answer["to"], answer["value"]) for answer in answers] == [
            (0, 0, 42),
            (1, 0, None),
            (2, 0, None),
        ]
        assert told == [7]
        siblings.tell("news", {"id": "x"})
        assert await line.hear() == {"what": "news", "value": {"id": "x"}}
        line.writer.close()
        async with asyncio.timeout(30):
            await listening  # the line has ended

    asyncio.run(scene())


def test_who_asks_waits_for_as_many_answers_as_there_are_others_and_not_for_the_dead(monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "ANSWER_WITHIN_S", 0.2)

    async def scene() -> None:
        siblings, line = await connected()
        listening = asyncio.create_task(siblings.listen())
        asking = asyncio.create_task(siblings.ask("how many"))
        asked = await line.hear()
        line.send(asked=asked["ask"], of=2)
        line.send(answer=asked["ask"], value="a", **{"from": 0})
        line.send(answer=asked["ask"], value="b", **{"from": 2})
        assert await asking == {0: "a", 2: "b"}
        asking = asyncio.create_task(siblings.ask("how many"))
        asked = await line.hear()
        line.send(asked=asked["ask"], of=2)
        line.send(answer=asked["ask"], value="a", **{"from": 0})
        assert await asking == {0: "a"}
        line.send(answer=asked["ask"], value="late", **{"from": 2})
        assert await asyncio.gather(siblings.ask("nobody"), _nobody(line)) == [{}, None]
        line.writer.close()
        await listening

    asyncio.run(scene())


async def _nobody(line: Line) -> None:
    asked = await line.hear()
    line.send(asked=asked["ask"], of=0)
