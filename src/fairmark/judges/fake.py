"""A judge with scripted answers, for tests of graders and of what uses them. No model, no network."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fairmark import jsontext
from fairmark.errors import JudgeFailed, JudgeTimedOut, NotGraded
from fairmark.judgement import Judgement
from fairmark.judges.asking import AskingJudge
from fairmark.judges.base import Budget, Completion, Embedded, Prompt, Question
from fairmark.judges.cache import Cache
from fairmark.judges.client import Tab
from fairmark.judges.models import Model, ModelRegistry, Provider

Fault = Literal["timeout", "server_error", "refusal", "cut_off", "empty"]


@dataclass(frozen=True, slots=True)
class FakeAnswer:
    """What the fake says, where a plain value does not do: a text as it stands, a fault, a delay."""

    text: str = ""
    fault: Fault | None = None
    latency_s: float = 0.0
    prompt_tokens: int = 100
    completion_tokens: int = 20


Scripted = FakeAnswer | float | str | Mapping[str, Any]
Script = Scripted | Iterable[Scripted] | Callable[[Sequence[Mapping[str, Any]]], Scripted]


class FakeJudge:
    """Answers what it was told to: one thing for ever, a list in its order, or what a function makes of the messages.

    A number or a string is a result, a mapping a whole structured answer; FakeAnswer gives a raw text or a fault. The
    answers go the way that a real model's go, so that graders read them, clamp them and fail on them just the same.
    `asked` holds the messages of every question so far. A judge that is at the end of its list fails.
    """

    def __init__(self, script: Script) -> None:
        self.asked: list[Sequence[Mapping[str, Any]]] = []
        self.texts: list[str] = []
        """What was to be embedded: equal texts get equal vectors, words in common bring texts together."""
        self._script = (
            script if callable(script) or isinstance(script, (FakeAnswer, float, int, str, Mapping)) else None
        )
        self._rest = None if self._script is not None else iter(script)  # type: ignore[arg-type]  # the iterable one
        provider = Provider("fake", "http://fake")
        everything = {"*": Model("*", provider, "", price_in=1.0, price_out=1.0)}
        registry = ModelRegistry({"fake": provider}, everything, {}, None)
        self._judge = AskingJudge(registry, self, Cache(Path(), "off", 0))

    async def ask(self, questions: Sequence[Question], budget: Budget | None) -> list[Judgement | NotGraded]:
        return await self._judge.ask(questions, budget)

    async def complete(self, prompts: Sequence[Prompt], budget: Budget | None) -> list[Completion | NotGraded]:
        return await self._judge.complete(prompts, budget)

    async def embed(self, model: str, texts: Sequence[str], budget: Budget | None) -> Embedded:
        return await self._judge.embed(model, texts, budget)

    async def post(self, model: Model, path: str, body: dict[str, Any], tab: Tab) -> dict[str, Any]:
        """Stands in for the server of a model."""
        tab.attempts += 1
        if tab.started is None:
            tab.started = time.perf_counter()
        if path == "embeddings":
            self.texts += body["input"]
            return {"data": [{"embedding": _vector(text)} for text in body["input"]], "model": model.real_name}
        self.asked.append(body["messages"])
        answer = self._next(body["messages"])
        if not isinstance(answer, FakeAnswer):
            value = answer if isinstance(answer, Mapping) else {"steps": [], "result": answer}
            answer = FakeAnswer(jsontext.write(dict(value)))
        if answer.latency_s:
            await asyncio.sleep(answer.latency_s)
        return _reply(model.real_name, answer)

    def _next(self, messages: Sequence[Mapping[str, Any]]) -> Scripted:
        if self._rest is not None:
            try:
                return next(self._rest)
            except StopIteration:
                raise JudgeFailed(f"the fake judge has no answer to question {len(self.asked)}.") from None
        script: Any = self._script
        answer: Scripted = script(messages) if callable(script) else script
        return answer


def _reply(model: str, answer: FakeAnswer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    reason = "stop"
    match answer.fault:
        case "timeout":
            raise JudgeTimedOut(f"{model}: no answer in time (a scripted fault).")
        case "server_error":
            raise JudgeFailed(f"{model}: the server answered 500 (a scripted fault).")
        case "refusal":
            message = {"role": "assistant", "content": None, "refusal": answer.text or "I cannot help with that."}
        case "cut_off":
            reason = "length"
        case "empty":
            message["content"] = ""
        case None:
            pass
    tokens = answer.prompt_tokens, answer.completion_tokens
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    return {"model": model, "choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage}


def _vector(text: str) -> list[float]:
    """Counts words by their letters: the same in every process, and alike for texts that share words."""
    vector = [0.0] * 64
    for word in text.lower().split():
        vector[sum(ord(char) * pow(31, index, 1009) for index, char in enumerate(word)) % 64] += 1.0
    return vector
