"""Stands in for the network: answers what a test wants, when it wants it, and writes down what it was asked."""

import asyncio
from collections.abc import Callable
from typing import Any

from fairmark.graders.score_model import ScoreShape
from fairmark.judges.base import Question
from fairmark.judges.client import Tab
from fairmark.judges.models import Model, ModelRegistry, Provider

PROVIDER = Provider("house", "http://house.example/v1")
SHAPE = ScoreShape.between(0.0, 1.0)
Reply = dict[str, Any]


def registry(**models: dict[str, Any]) -> ModelRegistry:
    """Models of these names with these fields; `house/…` is any other."""
    entries = {name: Model(name, PROVIDER, name, **given) for name, given in models.items()}
    return ModelRegistry({"house": PROVIDER}, entries, {}, None)


def question(text: str = "How good is it?", model: str = "house/m", **more: Any) -> Question:
    return Question(model, [{"role": "user", "content": text}], SHAPE, **more)


def chat_reply(result: Any = 0.5, tokens: tuple[int, int] = (100, 20)) -> Reply:
    message = {"role": "assistant", "content": f'{{"steps": [], "result": {result}}}'}
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    return {"model": "m-2026", "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}


class Sender:
    """`answer` makes a reply of a request's body, or raises. With `at_once`, no more are under way, and each
    waits to be released; like the real one, it looks at the budget when a question's turn has come."""

    def __init__(self, answer: Callable[[dict[str, Any]], Reply] = lambda body: chat_reply(), at_once: int = 0) -> None:
        self._answer = answer
        self._turns = asyncio.Semaphore(at_once) if at_once else None
        self._releases: list[asyncio.Future[None]] = []
        self.bodies: list[dict[str, Any]] = []

    async def post(self, model: Model, path: str, body: dict[str, Any], tab: Tab) -> Reply:
        if self._turns is None:
            self._note(body, tab)
            return self._answer(body)
        async with self._turns:
            tab.begin()
            self._note(body, tab)
            released = asyncio.get_running_loop().create_future()
            self._releases.append(released)
            await released
            return self._answer(body)

    def _note(self, body: dict[str, Any], tab: Tab) -> None:
        self.bodies.append(body)
        tab.attempts += 1

    @property
    def waiting(self) -> int:
        """How many questions are under way."""
        return sum(not each.done() for each in self._releases)

    def release(self, count: int = 1) -> None:
        for each in [each for each in self._releases if not each.done()][:count]:
            each.set_result(None)


async def settle() -> None:
    """Until everybody on the loop who can go on has done so."""
    for _ in range(50):
        await asyncio.sleep(0)
