"""The whole server as one ASGI application: the gate, and behind it the routes of the API and the web page."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from fairmark.server import openapi
from fairmark.server.gate import Gate
from fairmark.server.routes import HOT, OPERATIONS, Handler
from fairmark.serving.access import Access
from fairmark.serving.wire import State
from fairmark.web.site import Site


class RoutedPath:
    """What answers on one path, whatever the method. `path` is the pattern, for the metrics."""

    def __init__(self, path: str, handlers: Mapping[str, Handler]) -> None:
        self.path = path
        self.handlers = handlers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self.handlers[scope["method"]](Request(scope, receive, send))
        await response(scope, receive, send)


def build(state: State, on_loopback: bool) -> ASGIApp:
    """`on_loopback`: only this machine can reach us, so that without any key in the store everybody may come in."""
    handlers: dict[str, dict[str, Handler]] = {"/openapi.json": {"GET": openapi.document_page}}
    handlers["/docs"] = {"GET": openapi.docs_page}
    for operation in OPERATIONS:
        handlers.setdefault(operation.path, {})[operation.method] = operation.handler
    hot = {operation.path: operation.handler for operation in HOT}
    # One route a path, so that a wrong method is told all the right ones; a hot one's POST never comes so far.
    routes = [
        Route(path, RoutedPath(path, methods), methods=[*methods, *(["POST"] if path in hot else [])])
        for path, methods in handlers.items()
    ]
    site = Site()
    routes += [
        Route(path, RoutedPath(path, methods), methods=list(methods)) for path, methods in site.handlers().items()
    ]
    per_minute = state.settings.rate_limit_per_minute
    access = Access(state.store.keys, state.store.sessions, on_loopback, per_minute, state.wrong_keys)
    return Gate(Router(routes, redirect_slashes=False), hot, handlers, state, access, site)
