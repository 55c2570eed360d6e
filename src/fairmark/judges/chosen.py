"""The judge of this process: the models that the settings configure. It is opened when the first question comes."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from fairmark.errors import NotGraded
from fairmark.judgement import Judgement
from fairmark.judges.base import Budget, Completion, Embedded, Prompt, Question

if TYPE_CHECKING:  # read when they are needed: every import of fairmark comes by here
    from fairmark.judges.asking import AskingJudge
    from fairmark.judges.client import JudgeClient
    from fairmark.judges.local import LocalModels
    from fairmark.judges.models import Provider
    from fairmark.judges.offers import Offers
    from fairmark.settings import Settings


_opened: "tuple[int, AskingJudge] | None" = None


class ChosenJudge:
    """Opens the real one on first use and hands everything on to it. It may be used from any event loop."""

    def __init__(self, owner: str = "") -> None:
        """`owner`: who asks. Owners share the places of each model fairly."""
        self._owner = owner

    async def ask(self, questions: Sequence[Question], budget: Budget | None) -> list[Judgement | NotGraded]:
        from fairmark.work import eventloop

        return await eventloop.on_own_loop(self._ask(questions, budget))

    async def complete(self, prompts: Sequence[Prompt], budget: Budget | None) -> list[Completion | NotGraded]:
        from fairmark.work import eventloop

        return await eventloop.on_own_loop(self._complete(prompts, budget))

    async def embed(self, model: str, texts: Sequence[str], budget: Budget | None) -> Embedded:
        from fairmark.work import eventloop

        return await eventloop.on_own_loop(self._embed(model, texts, budget))

    async def _ask(self, questions: Sequence[Question], budget: Budget | None) -> list[Judgement | NotGraded]:
        return await opened().ask(questions, budget, self._owner)

    async def _complete(self, prompts: Sequence[Prompt], budget: Budget | None) -> list[Completion | NotGraded]:
        return await opened().complete(prompts, budget, self._owner)

    async def _embed(self, model: str, texts: Sequence[str], budget: Budget | None) -> Embedded:
        return await opened().embed(model, texts, budget, self._owner)


def opened() -> "AskingJudge":
    """The judge of this process. To be called on the process's own event loop. Raises InvalidSettings."""
    global _opened
    # A forked child must not use its parent's connections.
    if _opened is None or _opened[0] != os.getpid():
        from fairmark.settings import settings

        _opened = (os.getpid(), open_judge(settings()))
    return _opened[1]


async def offered() -> dict[str, str]:
    """Name -> provider, of all models that the configured providers offer. Raises InvalidSettings."""
    from fairmark.work import eventloop

    return await eventloop.on_own_loop(_offered())


async def unlisted(names: Iterable[str]) -> dict[str, str]:
    """Name -> what is wrong, of models that are not in the list of their provider. Raises InvalidSettings."""
    from fairmark.work import eventloop

    return await eventloop.on_own_loop(_unlisted(names))


async def embedded(name: str) -> "Provider":
    """Where a model on this machine answers, started where it does not run. Raises LocalModelUnavailable."""
    from fairmark.work import eventloop

    return await eventloop.on_own_loop(_started(name))


async def _started(name: str) -> "Provider":
    from fairmark.settings import settings

    return await _models_here(settings()).endpoint(name)


_offers: "tuple[int, Offers] | None" = None


async def _offered() -> dict[str, str]:
    from fairmark.judges.models import read_registry

    return await _opened_offers().names(read_registry())


async def _unlisted(names: Iterable[str]) -> dict[str, str]:
    from fairmark.judges.models import read_registry

    return await _opened_offers().unlisted(read_registry(), names)


def _opened_offers() -> "Offers":
    global _offers
    from fairmark.judges.offers import Offers

    if _offers is None or _offers[0] != os.getpid():
        _offers = (os.getpid(), Offers())
        _close_at_exit(_offers[1])
    return _offers[1]


class _Embedded:
    """The embedded models, started when one is asked for."""

    def __init__(self, settings: "Settings") -> None:
        self._settings = settings
        self._models: LocalModels | None = None

    async def endpoint(self, name: str) -> "Provider":
        from fairmark.judges.local import LocalModels
        from fairmark.judges.models import LOCAL, Provider

        if self._models is None:
            self._models = LocalModels(self._settings.data_folder)
        base_url, key = await self._models.endpoint(name)
        return Provider(LOCAL, base_url, headers={"Authorization": f"Bearer {key}"}, secrets=(key,))


_here: tuple[int, _Embedded] | None = None


def _models_here(settings: "Settings") -> _Embedded:
    """Those of this process: a model that judges and one that is asked through the server are the same."""
    global _here
    if _here is None or _here[0] != os.getpid():
        _here = (os.getpid(), _Embedded(settings))
    return _here[1]


def open_judge(settings: "Settings") -> "AskingJudge":
    """The judge that the settings describe. Must be called on the event loop that it is to live on."""
    from fairmark.judges.asking import AskingJudge
    from fairmark.judges.cache import Cache
    from fairmark.judges.client import JudgeClient
    from fairmark.judges.models import read_registry

    registry = read_registry()
    cache = Cache(settings.data_folder / "judgements.db", settings.judge_cache, settings.judge_cache_mb * 1_000_000)
    client = JudgeClient(settings, _models_here(settings).endpoint)
    _close_at_exit(client, cache.close)
    return AskingJudge(registry, client, cache)


def _close_at_exit(opened: "JudgeClient | Offers", then: Callable[[], object] = lambda: None) -> None:
    """On the loop that it lives on, where that is this process's own. Connections that nobody closes are complained of
    when it is too late to log."""
    import atexit

    from fairmark.work import eventloop

    opener = os.getpid()

    def close() -> None:
        if os.getpid() == opener:
            eventloop.run(opened.close())
            then()
        else:
            _keep_forever(opened)

    atexit.register(close)


def _keep_forever(opened: object) -> None:
    """Keeps what a parent opened from the garbage collector at the end of its forked child.

    It would close what is the parent's: sockets would be taken off an epoll that both share.
    """
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(opened))
