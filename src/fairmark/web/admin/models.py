"""Models: which names graders may use here and where they lead, whether one answers, what runs have spent on them."""

import asyncio
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from fairmark.errors import FairmarkError, InvalidSettings, UnknownModel
from fairmark.judges import trial
from fairmark.judges.local import LocalModels
from fairmark.judges.models import ALIASES_VARIABLE, LOCAL, Model, ModelRegistry, read_registry
from fairmark.result import Result
from fairmark.run import agrade
from fairmark.serving.wire import project, state
from fairmark.settings import FILE
from fairmark.store import ModelSpending, SpentTotals
from fairmark.web.frame import render
from fairmark.web.frame.visit import field, is_partial

ASK_WITHIN_S = 60.0
DAYS = 30
_VARIABLES = {
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "azure": ("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"),
}
_PATTERN = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Name:
    """A name that graders may use. Nothing here is secret."""

    name: str
    leads_to: str
    source: str
    model: Model | None = None
    """None for a pattern, which is many, and for an alias that leads nowhere."""
    problem: str = ""

    @property
    def is_pattern(self) -> bool:
        return bool(_PATTERN & set(self.name))


@dataclass(frozen=True, slots=True)
class ConfiguredServer:
    """A server that models are asked at."""

    name: str
    address: str
    source: str
    has_key: bool
    is_default: bool
    """Whether every name goes there that nothing else explains."""


@dataclass(frozen=True, slots=True)
class Trial:
    """How a test went."""

    name: str
    result: Result | None = None
    problem: str = ""

    @property
    def answer(self) -> str:
        return "" if self.result is None else str(self.result.judgements[0].value["result"])


@dataclass(frozen=True, slots=True)
class SpendingShown:
    """One model's, lately and ever."""

    lately: ModelSpending
    ever: ModelSpending


async def show(request: Request) -> Response:
    return await _page(request)


async def test(request: Request) -> Response:
    """Asks a model, and tells in its place how that went."""
    name = field(request, "name").strip()
    tried = await ask(name, ASK_WITHIN_S) if name else Trial("", problem="Type the name of a model.")
    if is_partial(request):
        return render.part(request, "admin/models.html", "trial", trial=tried)
    return await _page(request, trial=tried)


async def ask(name: str, within_s: float) -> Trial:
    """Never raises: whatever went wrong is the answer."""
    try:
        read_registry().resolve(name)
        async with asyncio.timeout(within_s):
            result = await agrade(trial.question(name))
    except TimeoutError:
        return Trial(name, problem=f"{name} did not answer within {within_s:g} s.")
    except FairmarkError as error:
        return Trial(name, problem=str(error))
    return Trial(name, result) if result.error is None else Trial(name, problem=result.error)


async def _page(request: Request, **more: Any) -> Response:
    names: list[Name] = []
    endpoints: list[ConfiguredServer] = []
    problem = ""
    try:
        registry = read_registry()
        names, endpoints = _names(registry, state(request).settings.data_folder), _endpoints(registry)
    except InvalidSettings as error:
        problem = str(error)
    lately, ever = await state(request).store.spending.of(project(request), int(time.time()) - DAYS * 86_400)
    context = {
        "names": names,
        "endpoints": endpoints,
        "problem": problem,
        "trial": None,
        "days": DAYS,
        "lately": lately,
        "ever": ever,
        "spending": _spending(lately, ever),
    }
    return render.page(request, "admin/models.html", **{**context, **more})


def _names(registry: ModelRegistry, home: Path) -> list[Name]:
    by_variable = read_registry(Path(os.devnull)).aliases
    names = [
        Name(name, f"{entry.provider.name}/{entry.real_name or '…'}", FILE, entry if entry.real_name else None)
        for name, entry in registry.entries.items()
    ]
    for alias, target in registry.aliases.items():
        model, problem = _resolved(registry, target)
        names.append(Name(alias, target, ALIASES_VARIABLE if alias in by_variable else FILE, model, problem))
    for local in LocalModels(home).available():
        model, _ = _resolved(registry, f"{LOCAL}/{local}")
        names.append(Name(f"{LOCAL}/{local}", "this machine", "always there", model))
    return names


def _resolved(registry: ModelRegistry, name: str) -> tuple[Model | None, str]:
    try:
        return registry.resolve(name), ""
    except UnknownModel as error:
        return None, str(error)


def _endpoints(registry: ModelRegistry) -> list[ConfiguredServer]:
    in_file = read_registry(environment={}).providers
    return [
        ConfiguredServer(
            name,
            provider.base_url,
            FILE if name in in_file else _set_variables(name, os.environ),
            bool(provider.secrets),
            provider is registry.default,
        )
        for name, provider in registry.providers.items()
        if name != LOCAL
    ]


def _set_variables(name: str, environment: Mapping[str, str]) -> str:
    return ", ".join(variable for variable in _VARIABLES[name] if environment.get(variable))


def _spending(lately: SpentTotals, ever: SpentTotals) -> list[SpendingShown]:
    """The one with the most tokens first."""
    pairs = [SpendingShown(lately.models.get(name, ModelSpending(name)), total) for name, total in ever.models.items()]
    return sorted(pairs, key=lambda pair: (-pair.lately.total_tokens, -pair.ever.total_tokens, pair.ever.model))
