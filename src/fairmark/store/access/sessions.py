"""Sessions of the web page: who signed in with a key. Only a session's SHA-256 is stored, as of a key."""

import hashlib
import secrets
import time

from sqlalchemy import select

from fairmark.store.access.keys import KEY_COLUMNS, Key
from fairmark.store.base.database import Database, uninterrupted
from fairmark.store.base.tables import keys, sessions

LASTS_S = 7 * 86_400


class Sessions:
    def __init__(self, database: Database) -> None:
        self._database = database

    @uninterrupted
    async def create(self, key: Key) -> str:
        """A new session's token. It is told here and never again."""
        token, now = secrets.token_urlsafe(32), int(time.time())
        values = {"sha256": _hash(token), "key_id": key.id, "created_at": now, "expires_at": now + LASTS_S}
        async with self._database.write() as connection:
            await connection.execute(sessions.insert(), values)
        return token

    @uninterrupted
    async def find(self, token: str) -> Key | None:
        """The key that it was made with; None where there is no such session, or it or its key has ended."""
        query = (
            select(*KEY_COLUMNS)
            .join_from(sessions, keys, keys.c.id == sessions.c.key_id)
            .where(sessions.c.sha256 == _hash(token), sessions.c.expires_at > int(time.time()))
            .where(keys.c.revoked_at.is_(None))
        )
        async with self._database.read() as connection:
            row = (await connection.execute(query)).one_or_none()
        return None if row is None else Key(*row)

    @uninterrupted
    async def delete(self, token: str) -> None:
        async with self._database.write() as connection:
            await connection.execute(sessions.delete().where(sessions.c.sha256 == _hash(token)))

    @uninterrupted
    async def delete_expired(self) -> None:
        async with self._database.write() as connection:
            await connection.execute(sessions.delete().where(sessions.c.expires_at <= int(time.time())))


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
