"""Keys, for those who look after the server: who has one, a new one, and an end to one.

The first key closes a server that was open to everybody on its machine. Whoever makes it is signed in with it at once.
"""

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from fairmark.errors import ApiError
from fairmark.refusals import not_found
from fairmark.serving.access import OPEN_PROJECT
from fairmark.serving.wire import state
from fairmark.store import InvalidProject, Key
from fairmark.web.admin import limits
from fairmark.web.frame import render
from fairmark.web.frame.signin import keep_session
from fairmark.web.frame.visit import field, redirect, visit

NAME_LENGTH = 100


async def show(request: Request) -> Response:
    await _check_admin(request)
    return await _page(request)


async def create(request: Request) -> Response:
    """The page with the new key on it: what is not in an address is in no history and no log."""
    await _check_admin(request)
    store = state(request).store
    is_first = not await store.keys.any()
    name = field(request, "name").strip()
    # Keys of other projects look after nothing: with such a first one nobody could make a second one here.
    project = OPEN_PROJECT if is_first else field(request, "project").strip()
    fields = {"name": name, "project": project}
    if problem := _wrong_name(name):
        return await _page(request, 400, name_error=problem, **fields)
    try:
        key = await store.keys.create(project, name)
    except InvalidProject as error:
        return await _page(request, 400, project_error=str(error), **fields)
    stored = await store.keys.find(key) if is_first else None
    if stored is None:
        return await _page(request, made=key)
    session = await store.sessions.create(stored)
    visit(request).session = session  # what the page's forms send from now on is bound to it
    answer = await _page(request, made=key, mine=stored.id, closed=True)
    keep_session(request, answer, session)
    return answer


async def revoke(request: Request) -> Response:
    await _check_admin(request)
    key_id = request.path_params["key_id"]
    if not await state(request).store.keys.revoke(key_id):
        raise not_found("key", key_id)
    if key_id == _own(request):
        return redirect("/sign-in", "Your key is revoked. Sign in with another one.")
    return redirect("/keys", "The key is revoked.")


async def set_limits(request: Request) -> Response:
    await _check_admin(request)
    return await limits.change(request)


async def _check_admin(request: Request) -> None:
    seen = visit(request)
    if not seen.is_admin:
        raise ApiError(
            403,
            f"Keys are looked after with a key of the project {OPEN_PROJECT}. Yours is of the project {seen.project}.",
            code="not_admin",
        )
    # The gate remembers for a moment that the door was open. Here that moment would be too long.
    if _own(request) is None and await state(request).store.keys.any():
        raise ApiError(401, "Somebody has made the first key. Sign in with one.", code="not_signed_in")


def _own(request: Request) -> str | None:
    visitor = visit(request).visitor
    return None if visitor is None else visitor.key_id


def _wrong_name(name: str) -> str:
    if not name:
        return "Give the key a name, so that you know later whose it is."
    return f"A name has at most {NAME_LENGTH} characters; this one has {len(name)}." if len(name) > NAME_LENGTH else ""


async def _page(request: Request, status: int = 200, mine: str | None = None, **more: Any) -> Response:
    keys = await state(request).store.keys.list()
    context: dict[str, Any] = {
        **await limits.shown(request, {key.project for key in keys}),
        "keys": _in_order(keys),
        "mine": mine or _own(request),
        "projects": sorted({OPEN_PROJECT, *(key.project for key in keys)}),
        "admin_project": OPEN_PROJECT,
        "admins": sum(key.project == OPEN_PROJECT and key.revoked_at is None for key in keys),
        "made": "",
        "closed": False,
        "name": "",
        "project": OPEN_PROJECT,
        "name_error": "",
        "project_error": "",
    }
    return render.page(request, "admin/keys.html", status, **{**context, **more})


def _in_order(keys: Sequence[Key]) -> list[Key]:
    """Those that open something first, and of each the newest."""
    newest = list(reversed(keys))
    return [*(key for key in newest if key.revoked_at is None), *(key for key in newest if key.revoked_at is not None)]
