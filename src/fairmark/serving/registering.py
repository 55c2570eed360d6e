"""Graders that clients want to keep: the way into the registry."""

from starlette.requests import Request

from fairmark.errors import LockedGrader
from fairmark.refusals import cannot_keep, not_found
from fairmark.registry.keeping import Registration
from fairmark.serving.wire import project, state
from fairmark.store import Grader


async def delete_named(request: Request) -> Grader:
    """The grader that the path names, deleted. Raises ApiError."""
    key = request.path_params["key"]
    try:
        gone = await registration(request).delete(project(request), key)
    except LockedGrader as error:
        raise cannot_keep(error) from None
    if gone is None:
        raise not_found("grader", key)
    return gone


def registration(request: Request) -> Registration:
    shared = state(request)
    return Registration(shared.store.graders, shared.registry)
