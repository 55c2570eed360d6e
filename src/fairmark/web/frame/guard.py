"""Around every page: what its answer tells the browser to refuse, forged requests, compression."""

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from starlette.datastructures import FormData, MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairmark.errors import ApiError
from fairmark.web.frame.visit import FLASH_COOKIE, SEED_COOKIE, Visit, begin

Handler = Callable[[Request], Awaitable[Response]]

SAFE = frozenset({"GET", "HEAD"})
TOKEN_FIELD = "csrf_token"  # noqa: S105  # a field's name
TOKEN_HEADER = "x-csrf-token"  # noqa: S105
COMPRESSED_FROM = 500
FIELD_BYTES = 16_000_000
"""How long a field of a form may be: people paste items and sources."""
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_REFUSED = {
    "x-content-type-options": "nosniff",
    # Not "no-referrer": browsers would send our own forms without an origin.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "cache-control": "no-store",
}


def guarded(handler: Handler) -> Handler:
    """The same handler, reached only by requests that one of our own pages sent."""

    async def guarding(request: Request) -> Response:
        seen = begin(request.scope)
        form = FormData()
        if request.method not in SAFE:
            form = await _form(request)
            request.scope["form"] = form
            if not seen.by_key:
                _check_forged(request, seen, form)
        return _Guarded(await handler(request), seen, form)

    return guarding


def dressed(answer: ASGIApp, seen: Visit) -> ASGIApp:
    """The answer with what every page's has, compressed where the browser takes that."""

    async def with_headers(scope: Scope, receive: Receive, send: Send) -> None:
        def sending(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                _add_headers(MutableHeaders(raw=message["headers"]), seen, scope)
            return send(message)

        await GZipMiddleware(answer, COMPRESSED_FROM, 6)(scope, receive, sending)

    return with_headers


class _Guarded(Response):
    def __init__(self, answer: Response, seen: Visit, form: FormData) -> None:
        self._answer = dressed(answer, seen)
        self._form = form

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._answer(scope, receive, send)
        finally:
            await self._form.close()


def is_secure(scope: Scope) -> bool:
    """Whether the browser reached us, or a proxy in front of us that we trust, by https."""
    return bool(scope["scheme"] == "https")


async def _form(request: Request) -> FormData:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() not in _FORMS:
        return FormData()
    return await request.form(max_files=16, max_fields=1000, max_part_size=FIELD_BYTES)


def _check_forged(request: Request, seen: Visit, form: FormData) -> None:
    """Raises 403. A page of another site can make a browser send our cookies, but cannot read our token."""
    origin = request.headers.get("origin")
    elsewhere = origin is not None and urlsplit(origin).netloc != request.headers.get("host", "")
    if elsewhere or request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
        raise ApiError(403, "This request came from a page of another site.", code="origin_not_allowed")
    token = request.headers.get(TOKEN_HEADER) or form.get(TOKEN_FIELD)
    if seen.is_new or not isinstance(token, str) or not seen.knows(token):
        raise ApiError(
            403,
            "This page has been open for too long, or you have signed in or out since. Reload it and try again.",
            code="token_not_valid",
        )


def _add_headers(headers: MutableHeaders, seen: Visit, scope: Scope) -> None:
    policy = (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{seen.nonce}'; img-src 'self' data:; "
        "media-src data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    headers.setdefault("content-security-policy", policy)
    for name, value in _REFUSED.items():
        headers.setdefault(name, value)
    secure = "; Secure" if is_secure(scope) else ""
    if seen.is_new:
        headers.append("set-cookie", f"{SEED_COOKIE}={seen.seed}; HttpOnly; Path=/; SameSite=Lax{secure}")
    if seen.flash_shown:
        headers.append("set-cookie", f"{FLASH_COOKIE}=; HttpOnly; Path=/; SameSite=Lax; Max-Age=0")
