"""Graders by key: the newest version is what counts, and the older ones are kept."""

import time
from collections.abc import Collection, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from sqlalchemy import ColumnElement, Select, and_, exc, false, func, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from fairmark import jsontext
from fairmark.errors import DuplicateKey, LockedGrader, VersionConflict
from fairmark.references import KEY, Registered, Wanted
from fairmark.store.base import ids, positions
from fairmark.store.base.database import Database, new_seq, uninterrupted
from fairmark.store.base.pages import Order, Page, bounded_page, read_span
from fairmark.store.base.positions import Deleted
from fairmark.store.base.tables import grader_scores, grader_versions, graders

MOST_KEYS_A_QUERY = 500


class Grader(msgspec.Struct, frozen=True):
    seq: int
    id: str
    project: str
    key: str
    name: str
    description: str | None
    version: int
    locked: bool
    created_at: int
    updated_at: int
    grader: dict[str, Any]
    """Its JSON in this version."""
    info: dict[str, Any] | None = None
    """What an endpoint said of itself when this version was kept."""


class Version(msgspec.Struct, frozen=True):
    version: int
    grader: dict[str, Any]
    created_at: int


class NewGrader(msgspec.Struct, frozen=True):
    """An entry of a pack."""

    key: str
    grader: dict[str, Any]
    name: str
    description: str | None = None
    locked: bool = False


_OF_VERSION = ("version", "grader", "info")
_COLUMNS = [(grader_versions if name in _OF_VERSION else graders).c[name] for name in Grader.__struct_fields__]
_BYTES = func.length(grader_versions.c.grader)


class KeptGraders:
    def __init__(self, database: Database) -> None:
        self._database = database

    @uninterrupted
    async def create(
        self,
        project: str,
        key: str,
        grader: dict[str, Any],
        name: str | None = None,
        description: str | None = None,
        info: dict[str, Any] | None = None,
    ) -> Grader:
        """Raises DuplicateKey: of two who create one key, one is told."""
        new = NewGrader(key, grader, name or key, description)
        try:
            async with self._database.write_in_order() as connection:
                return await _insert(connection, project, new, info)
        except exc.IntegrityError:
            raise _duplicate(key) from None

    @uninterrupted
    async def get(self, project: str, id_or_key: str, version: int | None = None) -> Grader | None:
        """In its newest version, or in the one that is asked for."""
        async with self._database.read() as connection:
            return await _get(connection, _named(project, id_or_key), version)

    @uninterrupted
    async def list(
        self,
        project: str,
        limit: int = 20,
        after: str | None = None,
        order: Order = "asc",
        before: str | None = None,
    ) -> Page[Grader]:
        query = _select().where(graders.c.project == project)
        async with self._database.read() as connection:

            async def find(id_or_key: str) -> int | None:
                there = select(graders.c.seq).where(_named(project, id_or_key))
                return await positions.find(connection, id_or_key, there, "grader", project)

            span = await read_span(after, before, find)
            return await bounded_page(connection, query, graders.c.seq, _BYTES, span, limit, order, Grader)

    @uninterrupted
    async def update(
        self,
        project: str,
        id_or_key: str,
        *,
        grader: dict[str, Any] | UnsetType = UNSET,
        info: dict[str, Any] | None = None,
        name: str | UnsetType | None = UNSET,
        description: str | UnsetType | None = UNSET,
        locked: bool | UnsetType = UNSET,
        expected: int | None = None,
    ) -> Grader | None:
        """What is not given stays as it is; JSON that differs is a new version. None where there is no such grader.

        Without a name, it is called by its key.

        `expected`: the version that the change was made to. Raises VersionConflict where there is a newer one, and
        LockedGrader where it is locked and the change is more than to unlock it.
        """
        async with self._database.write_in_order() as connection:
            current = await _get(connection, _named(project, id_or_key), for_update=True)
            if current is None:
                return None
            if expected is not None and expected != current.version:
                raise _conflict(current.key, expected, current.version)
            changes: dict[str, Any] = {
                field: value
                for field, value in (
                    ("name", UNSET if name is UNSET else name or current.key),
                    ("description", description),
                )
                if value is not UNSET and value != getattr(current, field)
            }
            is_new = grader is not UNSET and grader != current.grader
            if current.locked and (changes or is_new):
                raise _locked(current.key)
            if locked is not UNSET and locked != current.locked:
                changes["locked"] = locked
            if is_new:
                changes["version"] = current.version + 1
                await _insert_version(connection, current.seq, current.version + 1, grader, info)
            if changes:
                changes["updated_at"] = int(time.time())
                await connection.execute(graders.update().where(graders.c.seq == current.seq).values(**changes))
            return await _get(connection, graders.c.seq == current.seq)

    @uninterrupted
    async def delete(self, project: str, id_or_key: str) -> Grader | None:
        """With its versions and scores. None where there is no such grader; raises LockedGrader."""
        async with self._database.write() as connection:
            grader = await _get(connection, _named(project, id_or_key), for_update=True)
            if grader is None:
                return None
            if grader.locked:
                raise _locked(grader.key)
            await connection.execute(graders.delete().where(graders.c.seq == grader.seq))
            await positions.leave(connection, "grader", [Deleted(grader.id, project, grader.seq)])
            for table in (grader_versions, grader_scores):
                await connection.execute(table.delete().where(table.c.grader_seq == grader.seq))
            return grader

    @uninterrupted
    async def versions(
        self,
        grader: Grader,
        limit: int = 20,
        after: str | None = None,
        order: Order = "desc",
        before: str | None = None,
    ) -> Page[Version]:
        """`after` and `before` are versions' numbers."""
        of = grader_versions.c
        query = select(of.version, of.grader, of.created_at).where(of.grader_seq == grader.seq)

        async def find(number: str) -> int | None:
            # None of them is ever deleted alone.
            version = int(number) if number.isascii() and number.isdecimal() and len(number) < 10 else 0
            return version if 1 <= version <= grader.version else None

        span = await read_span(after, before, find)
        async with self._database.read() as connection:
            return await bounded_page(connection, query, of.version, _BYTES, span, limit, order, Version)

    @uninterrupted
    async def find(self, project: str, wanted: Collection[Wanted]) -> dict[Wanted, Registered]:
        """What references stand for, those that lead nowhere left out."""
        registered: dict[Wanted, Registered] = {}
        of = grader_versions.c
        columns = select(graders.c.id, graders.c.key, of.version, of.grader).join_from(
            graders, grader_versions, graders.c.seq == of.grader_seq
        )
        newest = [key for key, version in wanted if version is None]
        exact = [(key, version) for key, version in wanted if version is not None]
        async with self._database.read() as connection:
            for keys in _chunks(newest):
                query = columns.where(graders.c.version == of.version, graders.c.key.in_(keys))
                for row in await connection.execute(query.where(graders.c.project == project)):
                    registered[row.key, None] = Registered(*row)
            for pairs in _chunks(exact):
                query = columns.where(tuple_(graders.c.key, of.version).in_(pairs))
                for row in await connection.execute(query.where(graders.c.project == project)):
                    registered[row.key, row.version] = Registered(*row)
        return registered

    @uninterrupted
    async def bring(self, project: str, pack: Sequence[NewGrader], *, update: bool) -> dict[str, str]:
        """All graders of a pack or none: key -> created, updated or unchanged.

        Raises DuplicateKey for one that is there and differs, unless they may be updated, and LockedGrader.
        """
        done: dict[str, str] = {}
        try:
            async with self._database.write_in_order() as connection:
                for new in pack:
                    done[new.key] = await _bring(connection, project, new, update)
        except exc.IntegrityError:  # somebody else created one meanwhile
            raise _duplicate(next((new.key for new in pack if new.key not in done), "")) from None
        return done

    @uninterrupted
    async def all(self, project: str) -> Sequence[Grader]:
        query = _select().where(graders.c.project == project).order_by(graders.c.key)
        async with self._database.read() as connection:
            return [Grader(*row) for row in await connection.execute(query)]


def _duplicate(key: str) -> DuplicateKey:
    return DuplicateKey(f"key: there is a grader {jsontext.quote(key)} already. Change that one, or use another key.")


def _locked(key: str) -> LockedGrader:
    return LockedGrader(f"the grader {jsontext.quote(key)} is locked. Unlock it first.")


def _conflict(key: str, expected: int, current: int) -> VersionConflict:
    return VersionConflict(
        f"version: the grader {jsontext.quote(key)} has version {current} by now, and the change was made to version "
        f"{expected}. Get it again and make the change to that."
    )


def _chunks(wanted: Sequence[Any]) -> Sequence[Sequence[Any]]:
    """As many as a database takes in one statement."""
    return [wanted[start : start + MOST_KEYS_A_QUERY] for start in range(0, len(wanted), MOST_KEYS_A_QUERY)]


def _named(project: str, id_or_key: str) -> ColumnElement[bool]:
    # No key has the form of an id, so that one of them at most is meant.
    if KEY.fullmatch(id_or_key) is None:
        return false()
    return and_(graders.c.project == project, or_(graders.c.key == id_or_key, graders.c.id == id_or_key))


def _select(version: int | None = None) -> Select[Any]:
    same = grader_versions.c.grader_seq == graders.c.seq
    wanted = grader_versions.c.version == (graders.c.version if version is None else version)
    return select(*_COLUMNS).join_from(graders, grader_versions, and_(same, wanted))


async def _get(
    connection: AsyncConnection, which: ColumnElement[bool], version: int | None = None, *, for_update: bool = False
) -> Grader | None:
    if for_update:  # the grader's own row: who changes or deletes it meanwhile is waited for
        await connection.execute(select(graders.c.seq).where(which).with_for_update())
    row = (await connection.execute(_select(version).where(which))).one_or_none()
    return None if row is None else Grader(*row)


async def _insert(
    connection: AsyncConnection, project: str, new: NewGrader, info: dict[str, Any] | None = None
) -> Grader:
    now = int(time.time())
    values: dict[str, Any] = {
        "id": ids.new("grader_"),
        "project": project,
        "key": new.key,
        "name": new.name,
        "description": new.description,
        "version": 1,
        "locked": new.locked,
        "created_at": now,
        "updated_at": now,
    }
    seq = new_seq(await connection.execute(graders.insert().values(values)))
    await _insert_version(connection, seq, 1, new.grader, info)
    return Grader(seq=seq, grader=new.grader, info=info, **values)


async def _insert_version(connection: AsyncConnection, seq: int, version: int, grader: Any, info: Any = None) -> None:
    values = {"grader_seq": seq, "version": version, "grader": grader, "info": info, "created_at": int(time.time())}
    await connection.execute(grader_versions.insert().values(values))


async def _bring(connection: AsyncConnection, project: str, new: NewGrader, update: bool) -> str:
    grader = await _get(connection, _named(project, new.key), for_update=True)
    if grader is None:
        await _insert(connection, project, new)
        return "created"
    same_json = grader.grader == new.grader
    if same_json and (grader.name, grader.description) == (new.name, new.description):
        return "unchanged"
    if not update:
        raise _duplicate(new.key)
    if grader.locked:
        raise _locked(new.key)
    version = grader.version if same_json else grader.version + 1
    if not same_json:
        await _insert_version(connection, grader.seq, version, new.grader)
    changed = {"name": new.name, "description": new.description, "version": version, "updated_at": int(time.time())}
    await connection.execute(graders.update().where(graders.c.seq == grader.seq).values(**changed))
    return "updated"
