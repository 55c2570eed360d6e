"""The places where graders are kept, as tests see them: this machine's store, or a project of a real server."""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import fairmark
from fairmark.store import Store
from fairmark.work import eventloop
from tests.server.client import Server

_numbers = itertools.count()
_stores: dict[Path, Store] = {}

EXACT = {
    "type": "string_check",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "operation": "eq",
}
OTHER = {**EXACT, "operation": "ilike"}


class Awaited:
    """An AsyncClient whose calls are awaited for the caller, each on an event loop that is not the process's own."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:
        return Awaited(getattr(self._target, name))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        async def call() -> Any:
            return await self._target(*args, **kwargs)

        return asyncio.run(call())

    def __repr__(self) -> str:
        return repr(self._target)


class Place(NamedTuple):
    """`open(…)` is a client as its tests use it; `rewards` grades rows by a reference to what is kept here."""

    name: str
    open: Callable[..., fairmark.Client]
    open_async: Callable[..., fairmark.AsyncClient]
    rewards: Callable[[str, Sequence[dict[str, Any]]], list[float]]
    project: str


def local(asynchronous: bool) -> Place:
    def rewards(key: str, rows: Sequence[dict[str, Any]]) -> list[float]:
        results = fairmark.grade_many({"type": "registered", "key": key}, rows)
        assert [result.error for result in results] == [None] * len(results)
        return [result.reward for result in results]

    def open_async(**given: Any) -> fairmark.AsyncClient:
        return fairmark.AsyncClient(**given)

    def open_it(**given: Any) -> fairmark.Client:
        return cast("fairmark.Client", Awaited(open_async(**given))) if asynchronous else fairmark.Client(**given)

    return Place("local", open_it, open_async, rewards, "default")


def remote(server: Server, asynchronous: bool) -> Place:
    project = f"project-{next(_numbers)}"
    key = eventloop.run(new_key(server.home, project))

    def rewards(grader_key: str, rows: Sequence[dict[str, Any]]) -> list[float]:
        body = {"grader": {"type": "registered", "key": grader_key}, "rows": list(rows)}
        results = server.post("/v1/rewards", body, {"authorization": f"Bearer {key}"}).json()["rewards"]
        assert [result["error"] for result in results] == [None] * len(rows)
        return [result["reward"] for result in results]

    def open_async(**given: Any) -> fairmark.AsyncClient:
        return fairmark.AsyncClient(**{"base_url": server.url, "api_key": key, **given})

    def open_it(**given: Any) -> fairmark.Client:
        if asynchronous:
            return cast("fairmark.Client", Awaited(open_async(**given)))
        return fairmark.Client(**{"base_url": server.url, "api_key": key, **given})

    return Place("remote", open_it, open_async, rewards, project)


async def new_key(home: Path, project: str) -> str:
    """Of the server there. The store stays open for the next one, until all are closed."""
    if home not in _stores:
        _stores[home] = await Store.open(None, home, exclusive=False)
    return await _stores[home].keys.create(project, "tests")


async def close_stores() -> None:
    while _stores:
        await _stores.popitem()[1].close()
