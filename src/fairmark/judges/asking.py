"""The judge that asks real models: looks into the cache, asks what is not there, keeps what is good."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fairmark.errors import JudgeFailed, NotAnAnswer, NotGraded
from fairmark.judgement import NO_USAGE, Judgement, Listed
from fairmark.judges.base import Budget, Completion, Embedded, Prompt, Question
from fairmark.judges.cache import Cache, key_of
from fairmark.judges.chat import Chat, Sender
from fairmark.judges.client import Tab
from fairmark.judges.models import LOCAL, Model, ModelRegistry
from fairmark.judges.vectors import Vectors


class AskingJudge:
    """Answers questions by asking models. Lives on one event loop. `owner` is who asks: owners share a model fairly."""

    def __init__(self, registry: ModelRegistry, sender: Sender, cache: Cache) -> None:
        self._registry = registry
        self._chat = Chat(sender)
        self._vectors = Vectors(sender, cache)
        self._cache = cache
        self._models: dict[str, Model] = {}
        self._under_way: dict[bytes, asyncio.Future[Judgement | None]] = {}

    async def ask(
        self, questions: Sequence[Question], budget: Budget | None, owner: str = ""
    ) -> list[Judgement | NotGraded]:
        answers: list[Judgement | NotGraded | None] = [None] * len(questions)
        asked: list[tuple[int, Model, bytes]] = []
        for index, question in enumerate(questions):
            try:
                model = self._model(question.model, budget)
            except JudgeFailed as failure:
                answers[index] = Judgement(question.model, question.messages, question.sampling, failure=failure)
                continue
            asked.append((index, model, _key(model, question)))
        known = self._cache.find([key for _, _, key in asked])
        unknown = []
        for index, model, key in asked:
            answers[index] = _known(model, questions[index], known[key]) if key in known else None
            if answers[index] is None:
                # Now, with the look into the cache: what is under way may have come to its end when the tasks begin.
                unknown.append((index, model, key, self._under_way.get(key)))
        replies = await asyncio.gather(
            *(self._answer(questions[i], model, key, other, budget, owner) for i, model, key, other in unknown)
        )
        for (index, *_), answer in zip(unknown, replies, strict=True):
            answers[index] = answer
        return [answer for answer in answers if answer is not None]

    async def complete(
        self, prompts: Sequence[Prompt], budget: Budget | None, owner: str = ""
    ) -> list[Completion | NotGraded]:
        return await asyncio.gather(*(self._complete(prompt, budget, owner) for prompt in prompts))

    async def _complete(self, prompt: Prompt, budget: Budget | None, owner: str) -> Completion | NotGraded:
        try:
            model = self._model(prompt.model, budget)
            if budget is not None:
                budget.check()
            completion = await self._chat.complete(model, prompt, _tab(budget, owner))
        except JudgeFailed as failure:
            return Completion({}, failure=failure)
        except NotGraded as spent:
            return spent
        if budget is not None:
            budget.spend(completion.usage, completion.cost)
        return completion

    async def embed(self, model: str, texts: Sequence[str], budget: Budget | None, owner: str = "") -> Embedded:
        return await self._vectors.embed(self._model(model, budget), texts, budget, owner)

    def _model(self, name: str, budget: Budget | None) -> Model:
        model = self._models.get(name)
        if model is None:
            model = self._models[name] = self._registry.resolve(name)
        unknown = model.price_in is None and model.price_out is None and model.provider.kind != LOCAL
        if budget is not None and budget.dollars is not None and unknown:
            raise JudgeFailed(
                f"{name}: a budget in dollars is set, and this model has no price. Set price_in and price_out for it "
                "in fairmark.toml, or use a budget in tokens."
            )
        return model

    async def _answer(
        self,
        question: Question,
        model: Model,
        key: bytes,
        other: asyncio.Future[Judgement | None] | None,
        budget: Budget | None,
        owner: str,
    ) -> Judgement | NotGraded:
        # The same question may be on its way already; then its answer serves both, and is paid for once.
        other = other or self._under_way.get(key)
        while other is not None:
            shared = await asyncio.shield(other)
            if shared is not None:
                return _shared(model, question, shared)
            other = self._under_way.get(key)
        future = self._under_way[key] = asyncio.get_running_loop().create_future()
        judgement: Judgement | None = None
        try:
            if budget is not None:
                budget.check()
            judgement = await self._chat.ask(model, question, _tab(budget, owner))
        except NotGraded as spent:
            return spent
        finally:
            # Whoever waits for this answer asks himself where there is none: it was taken back, or not paid for.
            del self._under_way[key]
            future.set_result(judgement)
        if budget is not None:
            budget.spend(judgement.usage, judgement.cost)
        if judgement.failure is None:
            self._cache.keep({key: _kept(judgement)})
        return judgement


def _tab(budget: Budget | None, owner: str) -> Tab:
    return Tab(None if budget is None else budget.check, owner)


def _key(model: Model, question: Question) -> bytes:
    messages = question.messages if question.identity is None else question.identity
    more = ("logprobs",) if question.logprobs else ()
    return key_of("chat", model.key, messages, question.sampling, question.shape.schema, question.repeat, *more)


def _kept(judgement: Judgement) -> list[Any]:
    listed = [] if judgement.listed is None else [list(judgement.listed)]
    return [judgement.sampled_model, judgement.output, judgement.value, judgement.finish_reason, *listed]


def _known(model: Model, question: Question, kept: Any) -> Judgement | None:
    """The judgement out of what was kept; None where that does not fit (any more)."""
    try:
        sampled, output, value, reason, *more = kept
        value = question.shape.read(value)
        listed = Listed(*more[0]) if more else None
    except (TypeError, ValueError, NotAnAnswer):
        return None
    known = Judgement(question.model, question.messages, question.sampling, sampled, output, value, reason)
    return _free(model, replace(known, listed=listed))


def _shared(model: Model, question: Question, judgement: Judgement) -> Judgement:
    """The judgement on an equal question, for this one. A failure is shared too: it has been tried often enough."""
    mine = replace(judgement, model=question.model, messages=question.messages, usage=NO_USAGE, latency_s=0.0)
    if judgement.failure is None:
        # An equal question may be read in another way: which answer stands first is another one's, say.
        mine = replace(mine, value=question.shape.read(judgement.value))
    return _free(model, replace(mine, attempts=0))


def _free(model: Model, judgement: Judgement) -> Judgement:
    unknown = model.price_in is None and model.price_out is None
    return replace(judgement, cost=None if unknown else 0.0, warning=model.warning)
