"""The models that graders may name: those that the settings of this server configure, and those that its providers
say they have."""

import time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from fairmark.judges.chosen import offered
from fairmark.judges.configured import configured, owner_of
from fairmark.judges.models import ModelRegistry, read_registry
from fairmark.refusals import not_found
from fairmark.serving.wire import answer, state

_started = int(time.time())


async def list_(request: Request) -> Response:
    models = await offered() | configured(state(request).settings.data_folder)
    data = [_wire(name, owner) for name, owner in models.items()]
    return answer({"object": "list", "data": data})


async def retrieve(request: Request) -> Response:
    name = request.path_params["model"]
    registry = read_registry()
    # A provider that takes every name proves nothing about this one.
    named = ModelRegistry(registry.providers, registry.entries, registry.aliases, None)
    owner = configured(state(request).settings.data_folder).get(name) or owner_of(named, name)
    if owner is None:
        owner = (await offered()).get(name)
    if owner is None:
        raise not_found("model", name)
    return answer(_wire(name, owner))


def _wire(name: str, owner: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": _started, "owned_by": owner}
