"""Signing in with an API key, and out again."""

import re

from starlette.requests import Request
from starlette.responses import Response

from fairmark.errors import ApiError
from fairmark.serving.access import SESSION_COOKIE
from fairmark.serving.wire import state
from fairmark.store.access.sessions import LASTS_S
from fairmark.web.frame import render
from fairmark.web.frame.guard import is_secure
from fairmark.web.frame.visit import field, redirect, visit

# A path of ours: browsers read "//host" and "/\host" as another site, and skip control characters.
_LOCAL = re.compile(r"/(?![/\\])[^\x00-\x20\\\x7f]*")
HOME = "/evals"


async def show(request: Request) -> Response:
    """The form; where there are no keys, there is nothing to sign in to."""
    to = local(request.query_params.get("next", ""))
    if not await state(request).store.keys.any():
        return redirect(to)
    return render.page(request, "frame/sign-in.html", next=to, error="")


async def sign_in(request: Request) -> Response:
    """A session for whoever holds a key. Which of several things is wrong with a key is not told."""
    to, key = local(field(request, "next")), field(request, "key").strip()
    wrong_keys, address = state(request).wrong_keys, request.client.host if request.client else ""
    try:
        wrong_keys.check(address, key, by_hand=True)
    except ApiError as refused:
        shown = render.page(request, "frame/sign-in.html", refused.status, next=to, error=refused.message)
        shown.headers.update(refused.headers)
        return shown
    stored = await state(request).store.keys.find(key) if key else None
    if stored is None:
        if key:
            wrong_keys.wrong(address, key, by_hand=True)
        error = (
            "This key is not valid. It may be mistyped, or revoked." if key else "Paste an API key; it begins with fm-."
        )
        return render.page(request, "frame/sign-in.html", 400, next=to, error=error)
    wrong_keys.right(address, key)
    answer = redirect(to)
    keep_session(request, answer, await state(request).store.sessions.create(stored))
    return answer


def keep_session(request: Request, answer: Response, session: str) -> None:
    """Has the browser keep a session."""
    answer.set_cookie(
        SESSION_COOKIE, session, max_age=LASTS_S, httponly=True, samesite="lax", secure=is_secure(request.scope)
    )


async def sign_out(request: Request) -> Response:
    session = visit(request).session
    if session is not None:
        await state(request).store.sessions.delete(session)
    answer = redirect("/sign-in", "You have signed out.")
    answer.delete_cookie(SESSION_COOKIE, httponly=True, samesite="lax")
    return answer


def local(path: str) -> str:
    """The path, if it leads to one of our pages; the first page otherwise."""
    return path if _LOCAL.fullmatch(path) and not path.startswith("/sign-") else HOME
