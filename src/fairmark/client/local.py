"""The registry of this machine: the store that the settings name."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from msgspec import UNSET

from fairmark import jsontext
from fairmark.client.backend import Json
from fairmark.endpoints import Offline, Online, aprobe
from fairmark.errors import InvalidData
from fairmark.registry.keeping import Registration, record
from fairmark.registry.lookup import LOCAL_PROJECT, local
from fairmark.registry.packs import make_pack, read_pack
from fairmark.settings import settings
from fairmark.store import PushedScore, Store, Version
from fairmark.store.access.keys import check_project

PAGE = 1_000


class LocalBackend:
    """Opens the store for each call and closes it again: its connections are threads, which must end with the process,
    and a server may want to bring the file up to date."""

    def __init__(self) -> None:
        # Two that open a new store at once would both make its tables.
        self._opening = asyncio.Lock()

    @asynccontextmanager
    async def _store(self) -> AsyncIterator[Store]:
        configuration = settings()
        async with self._opening:
            store = await Store.open(configuration.db or None, configuration.data_folder, exclusive=False)
        try:
            yield store
        finally:
            await store.close()

    async def create(
        self, project: str | None, key: str, grader: Json, name: str | None, description: str | None
    ) -> Json:
        async with self._store() as store:
            kept = await _registration(store).create(_named(project), key, grader, name, description)
        return record(kept.grader, kept.warnings)

    async def list(self, project: str | None) -> Sequence[Json]:
        async with self._store() as store:
            graders = await store.graders.all(_named(project))
        return [record(grader) for grader in sorted(graders, key=lambda grader: grader.seq)]

    async def get(self, project: str | None, key: str, version: int | None) -> Json | None:
        async with self._store() as store:
            grader = await store.graders.get(_named(project), key, version)
        return None if grader is None else record(grader)

    async def update(self, project: str | None, key: str, changes: Mapping[str, Any]) -> Json | None:
        async with self._store() as store:
            kept = await _registration(store).update(
                _named(project),
                key,
                grader=changes.get("grader", UNSET),
                name=changes.get("name", UNSET),
                description=changes.get("description", UNSET),
                locked=changes.get("locked", UNSET),
                expected=changes.get("version"),
            )
        return None if kept is None else record(kept.grader, kept.warnings)

    async def versions(self, project: str | None, key: str) -> Sequence[Json] | None:
        async with self._store() as store:
            grader = await store.graders.get(_named(project), key)
            if grader is None:
                return None
            versions: list[Version] = []
            more = True
            while more:
                page = await store.graders.versions(grader, PAGE, str(versions[-1].version) if versions else None)
                versions += page.data
                more = page.has_more
        return [msgspec.to_builtins(version) for version in versions]

    async def delete(self, project: str | None, key: str) -> bool:
        async with self._store() as store:
            return await _registration(store).delete(_named(project), key) is not None

    async def push_scores(self, project: str | None, key: str, scores: Sequence[Json]) -> bool:
        async with self._store() as store:
            grader = await store.graders.get(_named(project), key)
            if grader is None:
                return False
            if grader.grader["type"] != "custom":
                name = jsontext.quote(grader.key)
                raise InvalidData(f"the grader {name} computes its scores itself. Only a custom grader takes scores.")
            return await store.grader_scores.push(grader, msgspec.convert(scores, list[PushedScore]))

    async def scores(self, project: str | None, key: str) -> Sequence[Json] | None:
        async with self._store() as store:
            grader = await store.graders.get(_named(project), key)
            if grader is None:
                return None
            scores: list[PushedScore] = []
            more = True
            while more:
                page = await store.grader_scores.list(grader, PAGE, scores[-1].sample_id if scores else None)
                scores += page.data
                more = page.has_more
        return [msgspec.to_builtins(score) for score in scores]

    async def pack(self, project: str | None) -> Json:
        async with self._store() as store:
            return make_pack(await store.graders.all(_named(project)))

    async def bring(self, project: str | None, pack: Json, *, update: bool) -> dict[str, str]:
        async with self._store() as store:
            return await _registration(store).bring(_named(project), read_pack(pack), update=update)

    async def test_endpoint(self, url: str) -> Online | Offline:
        return await aprobe(url)


def _registration(store: Store) -> Registration:
    # With the registry that grades here by reference, so that it forgets what is no longer so.
    return Registration(store.graders, local())


def _named(project: str | None) -> str:
    if project is None:
        return LOCAL_PROJECT
    check_project(project)
    return project
