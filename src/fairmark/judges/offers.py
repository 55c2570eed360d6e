"""Which models a provider offers, by asking it. What it said is remembered for a while."""

import asyncio
import re
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import Any, TypeVar

from yarl import URL

from fairmark import jsontext
from fairmark.errors import AnswerTooLarge, Unanswered
from fairmark.judges.client import connector, hint, proxy_for
from fairmark.judges.models import LOCAL, Model, ModelRegistry, Provider
from fairmark.judges.retired import told_ends
from fairmark.outbound.client import Destination, Effort, Http, HttpAnswer, HttpRequest, Retry, Terms
from fairmark.outbound.limits import CallGate
from fairmark.outbound.secrets import hidden
from fairmark.settings import FILE
from fairmark.work.fair import FairSlots

T = TypeVar("T")

REMEMBERED_S = 300.0
FAILURE_REMEMBERED_S = 15.0
TERMS = Terms(attempts=1, attempt_s=5.0, deadline_s=5.0, most_bytes=4_000_000)


class Offers:
    """Asks providers for their lists of models, each once at a time. Lives on one event loop."""

    def __init__(self) -> None:
        self._http = Http(connector, FairSlots(16), unpack=True)
        self._asked: dict[str, tuple[float, asyncio.Task[list[str]]]] = {}

    async def of(self, provider: Provider) -> list[str]:
        """The names, as the provider spells them. Raises Unanswered where it does not tell."""
        until, asking = self._asked.get(provider.base_url, (0.0, None))
        if asking is None or time.monotonic() >= until:
            asking = asyncio.create_task(self._ask(provider))
            asking.add_done_callback(lambda task: self._remember(provider, task))
            self._asked[provider.base_url] = (time.monotonic() + REMEMBERED_S, asking)
        return await asyncio.shield(asking)

    async def names(self, registry: ModelRegistry) -> dict[str, str]:
        """Name -> provider, of all that graders may name because a provider offers them. Providers that do not tell are
        left out, as are Azure's, whose names are those of the user's deployments."""
        providers = [
            provider for provider in registry.providers.values() if provider.kind == "openai" and provider.name != LOCAL
        ]
        answers = await asyncio.gather(*map(self.of, providers), return_exceptions=True)
        offered: dict[str, str] = {}
        for provider, names in zip(providers, answers, strict=True):
            if isinstance(names, Unanswered):
                continue
            if isinstance(names, BaseException):
                raise names
            prefix = "" if provider is registry.default else f"{provider.name}/"
            offered |= {f"{prefix}{name}": provider.name for name in names}
        return offered

    async def unlisted(self, registry: ModelRegistry, names: Iterable[str]) -> dict[str, str]:
        """Name -> what is wrong, of models that are not in the list of their provider. One that has none, or does not
        tell it, is believed to have every model, and so is Azure, whose names are those of the user's deployments."""
        models = {name: model for name in names if (model := registry.by_name_alone(name)) is not None}
        models = {name: model for name, model in models.items() if model.provider.kind == "openai"}
        providers = {model.provider.base_url: model.provider for model in models.values()}
        answers = await asyncio.gather(*map(self.of, providers.values()), return_exceptions=True)
        lists: dict[str, list[str]] = {}
        for base_url, answer in zip(providers, answers, strict=True):
            if isinstance(answer, list):
                lists[base_url] = answer
            elif not isinstance(answer, Unanswered):
                raise answer
        return {
            name: _not_in(listed, model)
            for name, model in models.items()
            if (listed := lists.get(model.provider.base_url)) and not has(listed, model.real_name)
        }

    def _remember(self, provider: Provider, task: "asyncio.Task[list[str]]") -> None:
        if task.cancelled() or task.exception() is not None:
            self._asked[provider.base_url] = (time.monotonic() + FAILURE_REMEMBERED_S, task)

    async def ends(self, provider: Provider) -> dict[str, date]:
        """The day on which each of its models goes, of those it tells one of. Raises Unanswered."""

        def read(data: bytes) -> dict[str, date] | None:
            return None if _names(data) is None else told_ends(jsontext.decode(data))

        return await self._listing(provider, read)

    async def _ask(self, provider: Provider) -> list[str]:
        return await self._listing(provider, _names)

    async def _listing(self, provider: Provider, understand: Callable[[bytes], T | None]) -> T:
        url = provider.models_url

        async def request() -> HttpRequest:
            return HttpRequest(URL(url, encoded=True), None, provider.headers, proxy_for(url), provider.secrets)

        def read(answer: HttpAnswer) -> T:
            listed = understand(answer.data) if answer.status == 200 else None
            if listed is None:
                raise Retry(f"{url} answered {answer.status} without a list of models.{hint(provider, answer.status)}")
            return listed

        try:
            return await self._http.ask(Destination(provider.name, CallGate(1)), TERMS, Effort(), request, read)
        except AnswerTooLarge as failure:
            raise Unanswered(hidden(f"{url}: {failure}", provider.secrets)) from None

    async def close(self) -> None:
        await self._http.close()


_DATE = re.compile(r"[-@](\d{4}-\d\d-\d\d|\d{8}|\d{3,4})$")


def has(listed: Iterable[str], name: str) -> bool:
    """Whether a provider that lists these has a model, as far as a list can tell: fine-tunes, names for the latest
    version and variants of a model (`x:free`) stand in none; `x` may be listed as `models/x`, `x:latest`, `x-0613`.
    """
    wanted = _plain(name)
    if wanted.startswith("ft:") or wanted.endswith("latest"):
        return True
    known = set(map(_plain, listed))
    return (
        wanted in known
        or f"{wanted}:latest" in known
        or wanted.partition(":")[0] in known
        or any(_DATE.sub("", dated) == wanted for dated in known)
    )


def _plain(name: str) -> str:
    return name.casefold().removeprefix("models/")


def _not_in(listed: Sequence[str], model: Model) -> str:
    """What is wrong with a model that its provider does not list, and what to do if it is there all the same."""
    provider, quoted = model.provider, jsontext.quote(model.real_name)
    is_alias = not model.name.endswith(model.real_name)
    via = f" (alias of {jsontext.quote(model.name)})" if is_alias else ""
    prefix = "" if is_alias else model.name.removesuffix(model.real_name)
    near = jsontext.nearest(f"{prefix}{model.real_name}", [f"{prefix}{listed_name}" for listed_name in listed], most=3)
    return provider.hide(
        f"model {quoted}{via}: {provider.name} does not list it at {provider.models_url}.{near} If it is "
        f'there all the same, write into {FILE}: [models.{quoted}] provider = "{provider.name}".'
    )


def _names(data: bytes) -> list[str] | None:
    try:
        reply: Any = jsontext.decode(data)
    except jsontext.NotJson:
        return None
    listed = reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(listed, list):
        return None
    names = [model.get("id") for model in listed if isinstance(model, dict)]
    return [name for name in names if isinstance(name, str) and name]
