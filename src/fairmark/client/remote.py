"""The registry of a Fairmark server, over HTTP."""

import asyncio
import atexit
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from fairmark import jsontext
from fairmark.client.answers import understood
from fairmark.client.backend import Json
from fairmark.endpoints import Offline, Online
from fairmark.errors import ServerFailed
from fairmark.judges.client import proxy_for
from fairmark.outbound.connection import why_it_failed
from fairmark.outbound.secrets import hidden
from fairmark.work import eventloop

DEADLINE_S = 60.0
PACK_DEADLINE_S = 600.0
"""A pack may hold hundreds of functions, each of which is tried."""
CONNECT_S = 10.0
ATTEMPTS = 3
PAUSE_S = 0.2
PAGE = 100
MOST_BYTES = 64_000_000

Answer = TypeVar("Answer")


class Remote:
    def __init__(self, base_url: str, api_key: str | None) -> None:
        """Raises ValueError for what is no address or no key."""
        self._base = _address(base_url)
        self._place = f"the server {urlsplit(self._base).netloc}"
        self._key = _checked_key(api_key)
        self._proxy = proxy_for(self._base)

    async def create(
        self, project: str | None, key: str, grader: Json, name: str | None, description: str | None
    ) -> Json:
        body = {"key": key, "grader": grader, "name": name, "description": description, "project": project}
        return await self._ask("POST", "graders", body)

    async def list(self, project: str | None) -> Sequence[Json]:
        return self._there("graders", await self._pages("graders", project))

    async def get(self, project: str | None, key: str, version: int | None) -> Json | None:
        return await self._find("GET", f"graders/{key}", query={"project": project, "version": version})

    async def update(self, project: str | None, key: str, changes: Mapping[str, Any]) -> Json | None:
        return await self._find("PATCH", f"graders/{key}", {**changes, "project": project})

    async def versions(self, project: str | None, key: str) -> Sequence[Json] | None:
        return await self._pages(f"graders/{key}/versions", project)

    async def delete(self, project: str | None, key: str) -> bool:
        return await self._find("DELETE", f"graders/{key}", query={"project": project}) is not None

    async def push_scores(self, project: str | None, key: str, scores: Sequence[Json]) -> bool:
        body = {"scores": list(scores), "project": project}
        return await self._find("POST", f"graders/{key}/scores", body) is not None

    async def scores(self, project: str | None, key: str) -> Sequence[Json] | None:
        return await self._pages(f"graders/{key}/scores", project)

    async def pack(self, project: str | None) -> Json:
        return await self._ask("GET", "grader_pack", query={"project": project})

    async def bring(self, project: str | None, pack: Json, *, update: bool) -> dict[str, str]:
        body = {**pack, "update": update, "project": project}
        done = (await self._ask("POST", "grader_pack", body, deadline_s=PACK_DEADLINE_S)).get("graders")
        if not isinstance(done, dict):
            raise self._strange("graders")
        return done

    async def test_endpoint(self, url: str) -> Online | Offline:
        found = await self._ask("POST", "endpoint_test", {"url": url})
        if found.get("status") == "online":
            return Online(*(str(found.get(field)) for field in Online._fields))
        return Offline(str(found.get("error")))

    async def _pages(self, path: str, project: str | None) -> Sequence[Json] | None:
        """All entries of a list; None where there is no such grader."""
        entries: list[Json] = []
        after: str | None = None
        while True:
            page = await self._find("GET", path, query={"project": project, "limit": PAGE, "after": after})
            if page is None:
                return None
            entries += self._entries(page)
            if page.get("has_more") is not True:
                return entries
            if not isinstance(page.get("last_id"), str) or page["last_id"] == after:  # it would never end
                raise self._strange("last_id")
            after = page["last_id"]

    def _entries(self, found: Json) -> Sequence[Json]:
        data = found.get("data")
        if not isinstance(data, list):
            raise self._strange("data")
        return data

    def _strange(self, field: str) -> ServerFailed:
        return ServerFailed(f"{self._place} gave an answer without a valid {jsontext.quote(field)}. Check base_url.")

    async def _ask(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        query: Json | None = None,
        deadline_s: float | None = None,
    ) -> Json:
        """For what does not ask for a single grader."""
        return self._there(path, await self._find(method, path, body, query, deadline_s))

    def _there(self, path: str, found: Answer | None) -> Answer:
        if found is None:
            raise ServerFailed(f"{self._place} knows no {self._base}/v1/{path}. Check base_url.")
        return found

    async def _find(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        query: Json | None = None,
        deadline_s: float | None = None,
    ) -> Json | None:
        """The JSON that the server answers; None where it knows no such grader. Raises FairmarkError."""
        url = URL(f"{self._base}/v1/{path}").with_query({k: v for k, v in (query or {}).items() if v is not None})
        sent = None if body is None else json.dumps({k: v for k, v in body.items() if k != "project" or v is not None})
        # Only what changes nothing is asked again: a server may have done what it could not tell of any more.
        attempts = ATTEMPTS if method == "GET" else 1
        deadline_s = deadline_s or DEADLINE_S
        try:
            async with asyncio.timeout(deadline_s):
                while True:
                    attempts -= 1
                    try:
                        status, data = await self._send(method, url, sent)
                        break
                    except (aiohttp.ClientConnectionError, OSError) as error:
                        if isinstance(error, TimeoutError) or not attempts:
                            raise
                    await asyncio.sleep(PAUSE_S)
        except aiohttp.ServerTimeoutError:
            raise ServerFailed(f"{self._place}: cannot connect within {CONNECT_S:g} s.") from None
        except TimeoutError:
            raise ServerFailed(f"{self._place} gave no answer within {deadline_s:g} s.") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise ServerFailed(self._hide(f"{self._place}: {why_it_failed(error)}.")) from None
        if 300 <= status < 400:
            raise ServerFailed(f"{self._place} answered {status} and points elsewhere. Give that address as base_url.")
        try:
            return understood(self._place, status, data)
        except ServerFailed as error:
            raise ServerFailed(self._hide(str(error))) from None

    async def _send(self, method: str, url: URL, body: str | None) -> tuple[int, bytes]:
        headers = {} if self._key is None else {"Authorization": f"Bearer {self._key}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        async with _session().request(
            method,
            url,
            data=body,
            headers=headers,
            allow_redirects=False,
            proxy=self._proxy,
        ) as response:
            return response.status, await self._read(response)

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """The body, but never more than we are willing to hold."""
        data = bytearray()
        async for chunk in response.content.iter_any():
            data += chunk
            if len(data) > MOST_BYTES:
                response.close()
                raise ServerFailed(f"{self._place} answered with more than {MOST_BYTES // 1_000_000} MB.")
        return bytes(data)

    def _hide(self, text: str) -> str:
        """A server may repeat what it was sent."""
        return text if self._key is None else hidden(text, [self._key])


_opened: tuple[int, aiohttp.ClientSession] | None = None


def _session() -> aiohttp.ClientSession:
    """The connections of this process, for all its clients. To be called on the process's own event loop."""
    global _opened
    # A forked child must not use its parent's connections.
    if _opened is None or _opened[0] != os.getpid():
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S)  # the deadline is of the whole call
        connector = aiohttp.TCPConnector(keepalive_timeout=30)
        session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), timeout=timeout)
        opener = os.getpid()
        _opened = (opener, session)

        def close() -> None:
            if os.getpid() == opener:
                eventloop.run(session.close())

        atexit.register(close)
    return _opened[1]


def _address(given: Any) -> str:
    """The server's address, without /v1."""
    wanted = "It takes the address of a Fairmark server, such as http://127.0.0.1:8000."
    if not isinstance(given, str):
        raise ValueError(f"base_url: found {jsontext.describe(given)}. {wanted}")
    try:
        parts = urlsplit(given.strip())
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        URL(given)
    except ValueError:
        good = False
    if not good or parts.query or parts.fragment:
        raise ValueError(f"base_url: found {jsontext.quote(given)}. {wanted}")
    if parts.username is not None or parts.password is not None:
        raise ValueError("base_url: it holds a user or a password. A key is given as api_key.")
    path = parts.path.rstrip("/").removesuffix("/v1")
    return f"{parts.scheme}://{parts.netloc}{path}"


def _checked_key(given: Any) -> str | None:
    if given is None:
        return None
    if not isinstance(given, str) or not re.fullmatch(r"[!-~]+", given):
        raise ValueError("api_key: it takes printable ASCII characters without spaces.")
    return given
