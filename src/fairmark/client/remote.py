"""The registry of a Fairmark server, over HTTP."""

import asyncio
import atexit
import json
import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import aiohttp
from yarl import URL

from fairmark import jsontext
from fairmark.client.answers import understood
from fairmark.client.backend import Json
from fairmark.endpoints import Offline, Online
from fairmark.errors import ServerAway, ServerFailed
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


class RemoteBackend:
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

    async def regrade(self, eval_id: str, run_id: str, body: Json) -> Json:
        """The new run. Its rows are copied before the server answers."""
        path = f"evals/{quote(eval_id, safe='')}/runs/{quote(run_id, safe='')}/regrade"
        made = await self._find("POST", path, body, deadline_s=PACK_DEADLINE_S)
        if made is None:
            raise ServerFailed(
                f"{self._place} has no run {jsontext.quote(run_id)} of the eval {jsontext.quote(eval_id)}."
            )
        return made

    # Evals and their runs, for those who read them.

    async def eval(self, eval_id: str) -> Json:
        return await self._named(f"evals/{quote(eval_id, safe='')}", f"no eval {jsontext.quote(eval_id)}")

    async def run(self, eval_id: str, run_id: str) -> Json:
        path = f"evals/{quote(eval_id, safe='')}/runs/{quote(run_id, safe='')}"
        return await self._named(path, f"no run {jsontext.quote(run_id)} of the eval {jsontext.quote(eval_id)}")

    async def runs(self, eval_id: str) -> Sequence[Json]:
        """The oldest first."""
        listed = await self._pages(f"evals/{quote(eval_id, safe='')}/runs", None)
        if listed is None:
            raise ServerFailed(f"{self._place} has no eval {jsontext.quote(eval_id)}.")
        return listed

    async def output_items(self, eval_id: str, run_id: str) -> AsyncIterator[Json]:
        """All of a run, in their order."""
        path = f"evals/{quote(eval_id, safe='')}/runs/{quote(run_id, safe='')}/output_items"
        after: str | None = None
        while True:
            page = await self._ask("GET", path, query={"limit": "100", "after": after})
            entries = self._entries(page)
            for entry in entries:
                yield entry
            if not page.get("has_more") or not entries:
                return
            after = entries[-1]["id"]

    async def _named(self, path: str, missing: str) -> Json:
        answer = await self._find("GET", path)
        if answer is None:
            raise ServerFailed(f"{self._place} has {missing}.")
        return answer

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
        answer = await self._ask("POST", "endpoint_test", {"url": url})
        if answer.get("status") == "online":
            return Online(*(str(answer.get(field)) for field in Online._fields))
        return Offline(str(answer.get("error")))

    async def pages(self, path: str, query: Json) -> AsyncIterator[Sequence[Json]]:
        """The entries of a list, page after page. Raises ServerFailed, also where there is no such list."""
        async for page in self._each_page(path, query):
            yield self._there(path, page)

    async def remove(self, path: str) -> None:
        await self._ask("DELETE", path)

    async def _pages(self, path: str, project: str | None) -> Sequence[Json] | None:
        """All entries of a list; None where there is no such grader."""
        entries: list[Json] = []
        async for page in self._each_page(path, {"project": project}):
            if page is None:
                return None
            entries += page
        return entries

    async def _each_page(self, path: str, query: Json) -> AsyncIterator[Sequence[Json] | None]:
        after: str | None = None
        while True:
            page = await self._find("GET", path, query={**query, "limit": PAGE, "after": after})
            if page is None:
                yield None
                return
            yield self._entries(page)
            if page.get("has_more") is not True:
                return
            if not isinstance(page.get("last_id"), str) or page["last_id"] == after:  # it would never end
                raise self._strange("last_id")
            after = page["last_id"]

    def _entries(self, answer: Json) -> Sequence[Json]:
        data = answer.get("data")
        if not isinstance(data, list):
            raise self._strange("data")
        return data

    def _strange(self, field: str) -> ServerFailed:
        return ServerFailed(f"{self._place} gave an answer without a valid {jsontext.quote(field)}. Check base_url.")

    async def rewards(self, grader: Json, rows: Sequence[Json], deadline_s: float) -> Sequence[Json]:
        """The server's answers for rows, in their order."""
        body = {"grader": grader, "rows": list(rows), "deadline_s": deadline_s}
        rewards = (await self._ask("POST", "rewards", body, deadline_s=deadline_s + DEADLINE_S)).get("rewards")
        if not isinstance(rewards, list) or len(rewards) != len(rows):
            raise self._strange("rewards")
        return rewards

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

    def _there(self, path: str, answer: Answer | None) -> Answer:
        if answer is None:
            raise ServerFailed(f"{self._place} knows no {self._base}/v1/{path}. Check base_url.")
        return answer

    async def _find(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        query: Json | None = None,
        deadline_s: float | None = None,
    ) -> Json | None:
        """The JSON that the server answers; None where it knows no such grader. Raises FairmarkError."""
        sent = None if body is None else json.dumps({k: v for k, v in body.items() if k != "project" or v is not None})
        status, data = await self._exchange(method, path, sent, query, deadline_s)
        return self._understood(status, data)

    def _understood(self, status: int, data: bytes) -> Json | None:
        if 300 <= status < 400:
            raise ServerFailed(f"{self._place} answered {status} and points elsewhere. Give that address as base_url.")
        try:
            return understood(self._place, status, data)
        except ServerFailed as error:
            raise type(error)(self._hide(str(error))) from None

    async def export_labels(self, run_id: str, query: Json) -> bytes:
        """A run's labels as lines."""
        status, data = await self._exchange("GET", "labels/export", query={**query, "run_id": run_id})
        if status != 200:
            self._of_run(run_id, self._understood(status, data))
        return data

    async def import_labels(self, run_id: str, lines: bytes, query: Json) -> Json:
        query = {**query, "run_id": run_id}
        status, data = await self._exchange("POST", "labels/import", lines, query, PACK_DEADLINE_S)
        return self._of_run(run_id, self._understood(status, data))

    def _of_run(self, run_id: str, answer: Json | None) -> Json:
        if answer is None:
            raise ServerFailed(f"{self._place} has no run {jsontext.quote(run_id)}.")
        return answer

    async def _exchange(
        self,
        method: str,
        path: str,
        sent: str | bytes | None = None,
        query: Json | None = None,
        deadline_s: float | None = None,
    ) -> tuple[int, bytes]:
        """The status and the body of an answer. Raises ServerFailed where there is none."""
        url = URL(f"{self._base}/v1/{path}").with_query({k: v for k, v in (query or {}).items() if v is not None})
        # Only what changes nothing is asked again: a server may have done what it could not tell of any more.
        attempts = ATTEMPTS if method == "GET" else 1
        deadline_s = deadline_s or DEADLINE_S
        try:
            async with asyncio.timeout(deadline_s):
                while True:
                    attempts -= 1
                    try:
                        return await self._send(method, url, sent)
                    except (aiohttp.ClientConnectionError, OSError) as error:
                        if isinstance(error, TimeoutError) or not attempts:
                            raise
                    await asyncio.sleep(PAUSE_S)
        except aiohttp.ServerTimeoutError:
            raise ServerAway(f"{self._place}: cannot connect within {CONNECT_S:g} s.") from None
        except TimeoutError:
            raise ServerAway(f"{self._place} gave no answer within {deadline_s:g} s.") from None
        except (aiohttp.ClientConnectionError, OSError) as error:
            raise ServerAway(self._hide(f"{self._place}: {why_it_failed(error)}.")) from None
        except (aiohttp.ClientError, ValueError) as error:
            raise ServerFailed(self._hide(f"{self._place}: {why_it_failed(error)}.")) from None

    async def _send(self, method: str, url: URL, body: str | bytes | None) -> tuple[int, bytes]:
        headers = {} if self._key is None else {"Authorization": f"Bearer {self._key}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        async with opened_session().request(
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


def opened_session() -> aiohttp.ClientSession:
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


def _address(url: Any) -> str:
    """The server's address, without /v1."""
    wanted = "It takes the address of a Fairmark server, such as http://127.0.0.1:8000."
    if not isinstance(url, str):
        raise ValueError(f"base_url: found {jsontext.describe(url)}. {wanted}")
    try:
        parts = urlsplit(url.strip())
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        URL(url)
    except ValueError:
        good = False
    if not good or parts.query or parts.fragment:
        raise ValueError(f"base_url: found {jsontext.quote(url)}. {wanted}")
    if parts.username is not None or parts.password is not None:
        raise ValueError("base_url: it holds a user or a password. A key is given as api_key.")
    path = parts.path.rstrip("/").removesuffix("/v1")
    return f"{parts.scheme}://{parts.netloc}{path}"


def _checked_key(key: Any) -> str | None:
    if key is None:
        return None
    if not isinstance(key, str) or not re.fullmatch(r"[!-~]+", key):
        raise ValueError("api_key: it takes printable ASCII characters without spaces.")
    return key
