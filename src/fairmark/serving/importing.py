"""Who asks for an import, for the API and the page."""

import asyncio

from starlette.requests import Request

from fairmark.errors import InvalidSettings
from fairmark.judges.models import read_registry
from fairmark.moving.import_requests import Asking
from fairmark.refusals import invalid
from fairmark.serving.access import OPEN_PROJECT
from fairmark.serving.wire import project, state


async def asking(request: Request) -> Asking:
    """Raises ApiError where fairmark.toml is wrong: then nobody knows which keys there are."""
    owner = project(request)
    try:
        registry = await asyncio.to_thread(read_registry)
    except InvalidSettings as error:
        raise invalid(str(error), code="invalid_settings") from None
    return Asking(owner, owner == OPEN_PROJECT, state(request).settings.import_keys, registry)
