"""Two models behind real HTTP on loopback: a student and a judge. What they are asked can be read afterwards."""

import asyncio
import json
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.judges.faults import Answer, FaultServer, Request, Status, Wire

ENDLESS_S = 600.0


class House:
    """The student says what it is told to: `Say 1`. The judge finds everything good, but for what says BAD, and the
    critic nothing but what says GOOD.

    Whoever is asked of HANG never answers; of BROKEN, with an error. While `speaks` is cleared, nobody answers, nor
    after `most_answers`.
    """

    def __init__(self) -> None:
        self.latency_s = 0.0
        self.speaks = threading.Event()
        self.speaks.set()
        self.answers, self.most_answers = 0, math.inf

    async def play(self, wire: Wire, request: Request) -> None:
        text = prompt(request)
        await asyncio.sleep(ENDLESS_S if "HANG" in text else self.latency_s)
        while not self.speaks.is_set() or self.answers >= self.most_answers:
            await asyncio.sleep(0.05)
        self.answers += 1
        if "BROKEN" in text:
            await Status(400, "this model cannot take that").play(wire, request)
            return
        said = text.removeprefix("Say ")
        if request.body["model"] == "judge":
            said = json.dumps({"steps": [], "result": 0 if "BAD" in text else 1})
        if request.body["model"] == "critic":
            said = json.dumps({"steps": [], "result": 1 if "GOOD" in text else 0})
        await Answer(said).play(wire, request)


class Models(FaultServer):
    """The house's server. `environment` makes a Fairmark server use it for every model."""

    def __init__(self) -> None:
        super().__init__()
        self.house = House()
        self.always(self.house)

    @property
    def environment(self) -> dict[str, str]:
        return {"OPENAI_BASE_URL": self.url, "OPENAI_API_KEY": "sk-house", "FAIRMARK_JUDGE_CACHE": "off"}

    def asked_of(self, model: str, start: int = 0) -> list[str]:
        """The prompts so far, from one on."""
        return [prompt(request) for request in self.requests[start:] if request.body["model"] == model]


def prompt(request: Request) -> str:
    text: str = request.body["messages"][0]["content"]
    return text


@contextmanager
def open_house() -> Iterator[Models]:
    models = Models()
    with models:
        yield models
