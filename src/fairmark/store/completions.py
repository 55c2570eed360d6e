"""Chat completions and responses that were asked to be stored, or were brought from elsewhere.

`body` is the object as the wire has it, metadata included, and is sent as it lies here. `input` is a JSON list of the
messages or items that were sent, each with an id; `request` an object with what was asked besides.
"""

import hashlib
import secrets
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Select, and_, bindparam, func, not_, or_, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from fairmark import jsontext, longjson
from fairmark.errors import UnknownCursor
from fairmark.store.base import ids, positions
from fairmark.store.base.database import Database, new_seq, uninterrupted
from fairmark.store.base.pages import Order, Page
from fairmark.store.base.positions import Deleted
from fairmark.store.base.tables import completion_metadata, completion_totals, completions, deleted

Kind = Literal["chat", "response"]
Fate = Literal["stored", "project_full"]
"""What became of one that was to be kept."""
Put = Literal["added", "replaced", "unchanged"]

MOST_PAGE_BYTES = 32_000_000
"""A page ends early rather than hold more than this; one completion it always holds."""
_PREFIX = {"chat": "chatcmpl-", "response": "resp_"}
_SWEPT_AT_ONCE = 500
_CHOSEN_AT_ONCE = 200


class NewCompletion(msgspec.Struct, frozen=True):
    project: str
    kind: Kind
    id: str
    """As the provider gave it. What no path could hold, and what another of the project has, is given another."""
    model: str
    asked_model: str
    created_at: int
    metadata: dict[str, str]
    input: bytes
    body: bytes
    request: bytes

    @property
    def size(self) -> int:
        return len(self.input) + len(self.body) + len(self.request)


class StoredCompletion(msgspec.Struct, frozen=True):
    """All but its input."""

    seq: int
    project: str
    kind: Kind
    id: str
    model: str
    asked_model: str
    created_at: int
    expires_at: int | None
    metadata: dict[str, Any]
    size: int
    body: bytes
    request: bytes
    imported: dict[str, Any] | None


class CompletionLimits(msgspec.Struct, frozen=True):
    """Of what a project may hold, besides what was made elsewhere."""

    count: int
    size: int
    """In bytes."""
    kept_s: int
    """0 is until it is deleted."""


class Chosen(NamedTuple):
    """Which ones are meant. Both ends of the time belong to it."""

    kind: Kind
    model: str | None = None
    """The one that answered or the one that was asked for."""
    metadata: Mapping[str, str] | None = None
    created_after: int | None = None
    created_before: int | None = None


_COLUMNS = [completions.c[name] for name in StoredCompletion.__struct_fields__]
_PLACE = (completions.c.created_at, completions.c.seq)


class Completions:
    """One that has expired is absent."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @uninterrupted
    async def keep(self, new: Sequence[NewCompletion], limits: CompletionLimits) -> list[Fate]:
        """What became of each, all in one transaction. The same may be kept again, and is there once."""
        async with self._database.write_in_order() as connection:
            return [await self._keep(connection, one, limits) for one in new]

    async def _keep(self, connection: AsyncConnection, new: NewCompletion, limits: CompletionLimits) -> Fate:
        query = select(completion_totals.c["count"], completion_totals.c.size).where(
            completion_totals.c.project == new.project, completion_totals.c.imported.is_(False)
        )
        count, held = (await connection.execute(query)).one_or_none() or (0, 0)
        if count >= limits.count or held + new.size > limits.size:
            return "project_full"
        id_ = new.id if ids.plausible_completion(new.id) else _PREFIX[new.kind] + secrets.token_hex(16)
        named = _named(new.project, new.kind, id_, expired=True)
        await self._remove(connection, and_(named, not_(_unexpired())))
        there = await connection.scalar(select(completions.c.body).where(named))
        if there == new.body:
            return "stored"
        if there is not None:  # some servers count to a thousand, and begin again
            id_ = f"{id_[:200]}-{secrets.token_hex(8)}"
        expires_at = int(time.time()) + limits.kept_s if limits.kept_s else None
        if id_ != new.id:
            new = msgspec.structs.replace(new, id=id_, body=with_fields(new.body, {"id": id_}))
        await self._insert(connection, new, expires_at, None)
        return "stored"

    async def _insert(
        self, connection: AsyncConnection, new: NewCompletion, expires_at: int | None, imported: dict[str, Any] | None
    ) -> None:
        values = {
            **{name: getattr(new, name) for name in NewCompletion.__struct_fields__},
            "size": new.size,
            "expires_at": expires_at,
            "imported": imported,
        }
        seq = new_seq(await connection.execute(completions.insert().values(values)))
        await _index(connection, new.project, seq, new.metadata)
        await self._count(connection, new.project, imported is not None, 1, new.size)

    async def _count(self, connection: AsyncConnection, project: str, imported: bool, count: int, size: int) -> None:
        insert = (sqlite if self._database.is_sqlite else postgresql).insert(completion_totals)
        values = {"project": project, "imported": imported, "count": count, "size": size}
        more = {name: completion_totals.c[name] + insert.excluded[name] for name in ("count", "size")}
        await connection.execute(
            insert.values(values).on_conflict_do_update(index_elements=["project", "imported"], set_=more)
        )

    @uninterrupted
    async def put_imported(
        self,
        project: str,
        kind: Kind,
        id: str,  # noqa: A002 - as in StoredCompletion
        created_at: int,
        metadata: dict[str, Any],
        input: bytes,  # noqa: A002
        body: bytes,
        request: bytes,
        imported: dict[str, Any],
    ) -> Put:
        """One that was made elsewhere, under its own id, until it is deleted. Takes the place of what has this id.

        It is "unchanged" where all but `imported` is the same.
        """
        model = _model_of(body)
        new = NewCompletion(project, kind, id, model, model, created_at, metadata, input, body, request)
        async with self._database.write_in_order() as connection:
            query = select(*_COLUMNS, completions.c.input).where(_named(project, kind, id, expired=True))
            row = (await connection.execute(query)).one_or_none()
            if row is not None:
                there = StoredCompletion(*row[:-1])
                before = (there.created_at, there.metadata, row[-1], there.body, there.request)
                if there.imported is not None and before == (created_at, metadata, input, body, request):
                    return "unchanged"
                await self._remove(connection, completions.c.seq == there.seq)
            await self._insert(connection, new, None, imported)
        return "added" if row is None else "replaced"

    @uninterrupted
    async def get(self, project: str, kind: Kind, id_: str) -> StoredCompletion | None:
        async with self._database.read() as connection:
            return await _get(connection, project, kind, id_)

    @uninterrupted
    async def read_input(self, project: str, kind: Kind, id_: str) -> list[msgspec.Raw] | None:
        """The messages or items that were sent, in their order. None where there is no such completion."""
        query = select(completions.c.input).where(_named(project, kind, id_))
        async with self._database.read() as connection:
            body = await connection.scalar(query)
        return None if body is None else jsontext.elements(body)

    @uninterrupted
    async def list(
        self,
        project: str,
        chosen: Chosen,
        limit: int = 20,
        after: str | None = None,
        order: Order = "asc",
        before: str | None = None,
    ) -> Page[StoredCompletion]:
        """In the order of their time. A page may have fewer than asked for although there are more, as `has_more`
        tells: see MOST_PAGE_BYTES."""
        async with self._database.read() as connection:
            places = [
                None if id_ is None else await _find(connection, project, chosen.kind, id_, name)
                for name, id_ in (("after", after), ("before", before))
            ]
            backward = places[0] is None and places[1] is not None
            ascending = order == "asc"
            query = _choose(select(completions.c.seq, completions.c.size), project, chosen)
            for place, forward in zip(places, (ascending, not ascending), strict=True):
                if place is not None:
                    query = query.where(tuple_(*_PLACE) > place if forward else tuple_(*_PLACE) < place)
            ordered = _by_time(query, ascending != backward).limit(limit + 1)
            sizes = [(row.seq, row.size) for row in await connection.execute(ordered)]
            seqs = _within(sizes[:limit], MOST_PAGE_BYTES)
            rows = await connection.execute(select(*_COLUMNS).where(completions.c.seq.in_(seqs)))
            listed = sorted((StoredCompletion(*row) for row in rows), key=lambda one: seqs.index(one.seq))
        return Page(listed[::-1] if backward else listed, len(sizes) > len(seqs))

    async def newest(self, project: str, chosen: Chosen) -> AsyncIterator[tuple[StoredCompletion, bytes]]:
        """All of them with their inputs, the newest first, a few at a time: each look sees what is there then."""
        last: tuple[int, int] | None = None
        while True:
            page = await self._newest(project, chosen, last)
            for completion, input_ in page:
                yield completion, input_
            if not page:
                return
            last = (page[-1][0].created_at, page[-1][0].seq)

    @uninterrupted
    async def _newest(
        self, project: str, chosen: Chosen, last: tuple[int, int] | None
    ) -> Sequence[tuple[StoredCompletion, bytes]]:
        query = _choose(select(completions.c.seq, completions.c.size), project, chosen)
        if last is not None:
            query = query.where(tuple_(*_PLACE) < last)
        async with self._database.read() as connection:
            sizes = [
                (row.seq, row.size) for row in await connection.execute(_by_time(query, False).limit(_CHOSEN_AT_ONCE))
            ]
            whole = select(*_COLUMNS, completions.c.input).where(completions.c.seq.in_(_within(sizes, MOST_PAGE_BYTES)))
            rows = (await connection.execute(_by_time(whole, False))).all()
        return [(StoredCompletion(*row[:-1]), row[-1]) for row in rows]

    @uninterrupted
    async def update(self, project: str, kind: Kind, id_: str, metadata: dict[str, str]) -> StoredCompletion | None:
        """Other metadata. None where there is no such completion."""
        async with self._database.write() as connection:
            query = select(*_COLUMNS).where(_named(project, kind, id_)).with_for_update()
            row = (await connection.execute(query)).one_or_none()
            if row is None:
                return None
            before = StoredCompletion(*row)
            body = with_fields(before.body, {"metadata": metadata})
            size = before.size + len(body) - len(before.body)
            changed = completions.update().where(completions.c.seq == before.seq)
            await connection.execute(changed.values(metadata=metadata, body=body, size=size))
            pairs = completion_metadata.delete().where(completion_metadata.c.completion_seq == before.seq)
            await connection.execute(pairs)
            await _index(connection, project, before.seq, metadata)
            await self._count(connection, project, before.imported is not None, 0, size - before.size)
            return await _get(connection, project, kind, id_)

    @uninterrupted
    async def delete(self, project: str, kind: Kind, id_: str) -> bool:
        """False where there is no such completion."""
        async with self._database.write() as connection:
            return bool(await self._remove(connection, _named(project, kind, id_)))

    @uninterrupted
    async def delete_expired(self) -> int:
        """Frees the room of what has expired, a part of it at a time; how many that were."""
        gone = 0
        while True:
            expired = select(completions.c.seq).where(completions.c.expires_at <= int(time.time()))
            async with self._database.write() as connection:
                some = (await connection.scalars(expired.limit(_SWEPT_AT_ONCE))).all()
                if some:
                    gone += await self._remove(connection, completions.c.seq.in_(some))
            if len(some) < _SWEPT_AT_ONCE:
                return gone

    async def _remove(self, connection: AsyncConnection, which: ColumnElement[bool]) -> int:
        of = completions.c
        query = select(of.project, of.kind, of.id, of.seq, of.created_at, of.size, of.imported).where(which)
        gone = (await connection.execute(query.with_for_update())).all()
        if not gone:
            return 0
        these = [{"gone": row.seq} for row in gone]
        await connection.execute(completions.delete().where(of.seq == bindparam("gone")), these)
        of_pairs = completion_metadata.c.completion_seq
        await connection.execute(completion_metadata.delete().where(of_pairs == bindparam("gone")), these)
        # An id may come again, and be deleted again.
        left = {_left_id(row.project, row.kind, row.id): row for row in gone}
        await connection.execute(deleted.delete().where(deleted.c.id.in_(left)))
        places = (Deleted(id_, row.project, row.seq, row.created_at) for id_, row in left.items())
        await positions.leave(connection, "completion", places)
        for row in gone:
            await self._count(connection, row.project, row.imported is not None, -1, -row.size)
        return len(gone)

    @uninterrupted
    async def totals(self) -> tuple[int, int]:
        """How many there are and how long they are, all projects together."""
        query = select(func.sum(completion_totals.c["count"]), func.sum(completion_totals.c.size))
        async with self._database.read() as connection:
            count, size = (await connection.execute(query)).one()
        return int(count or 0), int(size or 0)


def with_fields(body: bytes, more: Mapping[str, Any]) -> bytes:
    """The same JSON object with these fields; the rest of it is copied, not read. Raises NotJson."""
    return jsontext.encode(
        {**longjson.members(body), **{name: msgspec.Raw(jsontext.encode(new)) for name, new in more.items()}}
    )


async def _get(connection: AsyncConnection, project: str, kind: Kind, id_: str) -> StoredCompletion | None:
    row = (await connection.execute(select(*_COLUMNS).where(_named(project, kind, id_)))).one_or_none()
    return None if row is None else StoredCompletion(*row)


async def _index(connection: AsyncConnection, project: str, seq: int, metadata: Mapping[str, Any]) -> None:
    rows = [{"completion_seq": seq, "pair_sha256": pair} for pair in _pairs(project, metadata)]
    if rows:
        await connection.execute(completion_metadata.insert(), rows)


def _pairs(project: str, metadata: Mapping[str, Any]) -> set[bytes]:
    return {hashlib.sha256(jsontext.encode([project, key, value])).digest() for key, value in metadata.items()}


async def _find(connection: AsyncConnection, project: str, kind: Kind, id_: str, name: str) -> tuple[int, int]:
    """Where a completion stands, or stood; also one that has expired. Raises UnknownCursor."""
    there = select(*_PLACE).where(_named(project, kind, id_, expired=True))
    left = select(deleted.c.updated_seq, deleted.c.seq).where(
        deleted.c.id == _left_id(project, kind, id_), deleted.c.kind == "completion"
    )
    place = (await connection.execute(there.union_all(left))).first()
    if place is None:
        raise UnknownCursor(id_, name)
    return (place[0], place[1])


def _left_id(project: str, kind: str, id_: str) -> str:
    """Two projects may have the same id, and each leaves its own place."""
    return f"completion_{hashlib.sha256(jsontext.encode([project, kind, id_])).hexdigest()}"


def _choose(query: Select[Any], project: str, chosen: Chosen) -> Select[Any]:
    of = completions.c
    query = query.where(of.project == project, of.kind == chosen.kind, _unexpired())
    if chosen.model is not None:
        query = query.where(or_(of.model == chosen.model, of.asked_model == chosen.model))
    for pair in _pairs(project, chosen.metadata or {}):
        having = select(completion_metadata.c.completion_seq).where(completion_metadata.c.pair_sha256 == pair)
        query = query.where(of.seq.in_(having))
    if chosen.created_after is not None:
        query = query.where(of.created_at >= chosen.created_after)
    if chosen.created_before is not None:
        query = query.where(of.created_at <= chosen.created_before)
    return query


def _by_time(query: Select[Any], ascending: bool) -> Select[Any]:
    return query.order_by(*(column.asc() if ascending else column.desc() for column in _PLACE))


def _within(sizes: Iterable[tuple[int, int]], most: int) -> list[int]:
    """The first ones that are no longer than that together, and always one."""
    seqs: list[int] = []
    total = 0
    for seq, size in sizes:
        total += size
        if seqs and total > most:
            break
        seqs.append(seq)
    return seqs


class _Named(msgspec.Struct):
    model: Any = None


def _model_of(body: bytes) -> str:
    """Who answered. Only that is read: an answer may be tens of megabytes, and others wait meanwhile."""
    try:
        model = msgspec.json.decode(body, type=_Named).model
    except (msgspec.MsgspecError, RecursionError):
        model = jsontext.decode(body).get("model")
    return str(model or "")


def _named(project: str, kind: Kind, id_: str, expired: bool = False) -> ColumnElement[bool]:
    if not ids.plausible_completion(id_):
        return completions.c.seq < 0
    named = and_(completions.c.project == project, completions.c.kind == kind, completions.c.id == id_)
    return named if expired else and_(named, _unexpired())


def _unexpired() -> ColumnElement[bool]:
    return or_(completions.c.expires_at.is_(None), completions.c.expires_at > int(time.time()))
