"""The web page as a whole, as the gate knows it: its handlers, who may see what, and errors in human words."""

import re
from urllib.parse import quote, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import compile_path
from starlette.types import ASGIApp, Scope

from fairmark.errors import ApiError
from fairmark.serving.wire import JSON
from fairmark.web.frame import assets, render
from fairmark.web.frame.guard import SAFE, Handler, dressed, guarded
from fairmark.web.frame.signin import local
from fairmark.web.frame.visit import begin
from fairmark.web.pages import PAGES

_TITLES = {
    400: "That did not work",
    401: "Please sign in",
    403: "This is not allowed",
    404: "There is nothing here",
    405: "This is not a page",
    413: "That is too much at once",
    429: "Too many requests",
    500: "Something went wrong",
    503: "Not available right now",
    507: "The disk is full",
}


class Site:
    def __init__(self) -> None:
        self._public = frozenset(page.path for page in PAGES if page.public)
        self._files = [_pattern(page.path) for page in PAGES if page.takes_files]

    def handlers(self) -> dict[str, dict[str, Handler]]:
        """Path -> method -> handler."""
        handlers: dict[str, dict[str, Handler]] = {assets.ROUTE: {"GET": assets.serve}}
        for page in PAGES:
            handlers.setdefault(page.path, {})[page.method] = guarded(page.handler)
        return handlers

    def is_public(self, path: str) -> bool:
        return path in self._public or path.startswith(assets.PREFIX)

    def takes_files(self, path: str) -> bool:
        return any(pattern.match(path) for pattern in self._files)

    def refusal(self, error: ApiError, scope: Scope, request_id: str) -> ASGIApp | None:
        """A page for those who look at one, and the way to sign in for those who have to; None for programs."""
        request = Request(scope)
        if request.headers.get("hx-request") == "true" and error.status == 401:
            at = urlsplit(request.headers.get("hx-current-url", ""))
            headers = {"hx-redirect": _sign_in(at.path, at.query)}
            return Response(error.body(), error.status, headers, JSON)
        if "text/html" not in request.headers.get("accept", ""):
            return None
        seen = scope.get("visit") or begin(scope)
        if error.status == 401 and request.method in SAFE:
            return dressed(RedirectResponse(_sign_in(scope["path"], request.url.query), 303), seen)
        shown = render.page(
            request,
            "frame/error.html",
            error.status,
            title=_TITLES.get(error.status, "That did not work"),
            message=_words(error),
            request_id=request_id if error.status >= 500 else "",
            again=_again(request) if error.status >= 500 else "",
        )
        for name, value in error.headers.items():
            shown.headers[name] = value
        return dressed(shown, seen)


def _words(error: ApiError) -> str:
    match error.code:
        case "unknown_url":
            return "The address may be mistyped, or what it led to has been deleted."
        case "internal_error":
            return "The server failed on this request. That is a bug in Fairmark, and nothing you did wrong."
        case "store_unavailable":
            return "The database cannot be reached at the moment. Nothing is lost; try again in a moment."
        case _:
            return error.message


def _again(request: Request) -> str:
    """The page to try once more: this one, or the one with the form that was sent. Empty where that is not known."""
    if request.method in SAFE:
        return request.url.path
    came_from = urlsplit(request.headers.get("referer", ""))
    return local(came_from.path) if came_from.netloc == request.headers.get("host") else ""


def _sign_in(path: str, query: str) -> str:
    """Where to sign in, and then go on to this path."""
    to = f"{path}?{query}" if query else path
    return "/sign-in" if to in ("", "/") else f"/sign-in?next={quote(to, safe='/')}"


def _pattern(path: str) -> re.Pattern[str]:
    return compile_path(path)[0]
