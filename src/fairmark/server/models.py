"""The models that graders may name: those that the settings of this server configure."""

import time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from fairmark.judges.local import LocalModels
from fairmark.judges.models import LOCAL, Registry, UnknownModel, read_registry
from fairmark.serving.wire import answer, not_found, state

_PATTERN = frozenset("*?[")
_started = int(time.time())


async def list_(request: Request) -> Response:
    models = configured(request)
    data = [_wire(name, owner) for name, owner in models.items()]
    return answer({"object": "list", "data": data})


async def retrieve(request: Request) -> Response:
    name = request.path_params["model"]
    registry = read_registry()
    # A provider that takes every name proves nothing about this one.
    named = Registry(registry.providers, registry.entries, registry.aliases, None)
    owner = configured(request).get(name) or _owner(named, name)
    if owner is None:
        raise not_found("model", name)
    return answer(_wire(name, owner))


def configured(request: Request) -> dict[str, str]:
    """Name -> provider, of all that have a name; patterns have none."""
    registry = read_registry()
    found = {name: entry.provider.name for name, entry in registry.entries.items() if not _PATTERN & set(name)}
    for alias in registry.aliases:
        owner = None if _PATTERN & set(alias) else _owner(registry, alias)
        if owner is not None:
            found[alias] = owner
    for name in LocalModels(state(request).settings.data_folder).available():
        found[f"{LOCAL}/{name}"] = LOCAL
    return found


def _owner(registry: Registry, name: str) -> str | None:
    try:
        return registry.resolve(name).provider.name
    except UnknownModel:
        return None


def _wire(name: str, owner: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": _started, "owned_by": owner}
