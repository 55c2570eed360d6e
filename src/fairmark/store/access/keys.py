"""API keys. Only a key's SHA-256 and its first characters are stored: who reads the database cannot use it."""

import hashlib
import hmac
import re
import secrets
import time

import msgspec
from sqlalchemy import select

from fairmark import jsontext
from fairmark.errors import InvalidProject
from fairmark.store.base import ids
from fairmark.store.base.database import Database, uninterrupted
from fairmark.store.base.tables import keys

START_LENGTH = 8
_PROJECT = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class Key(msgspec.Struct, frozen=True):
    id: str
    project: str
    name: str
    start: str
    """The key's first characters, by which its owner knows it."""
    created_at: int
    revoked_at: int | None


KEY_COLUMNS = [keys.c[name] for name in Key.__struct_fields__]


class Keys:
    def __init__(self, database: Database) -> None:
        self._database = database

    @uninterrupted
    async def create(self, project: str, name: str) -> str:
        """A new key. It is told here and never again."""
        check_project(project)
        key = f"fm-{secrets.token_hex(24)}"
        values = {
            "id": f"key_{secrets.token_hex(8)}",
            "project": project,
            "name": name,
            "start": key[:START_LENGTH],
            "sha256": _hash(key),
            "created_at": int(time.time()),
        }
        async with self._database.write() as connection:
            await connection.execute(keys.insert(), values)
        return key

    @uninterrupted
    async def list(self, project: str | None = None) -> list[Key]:
        """Also those that are revoked, the oldest first."""
        query = select(*KEY_COLUMNS).order_by(keys.c.seq)
        if project is not None:
            query = query.where(keys.c.project == project)
        async with self._database.read() as connection:
            return [Key(*row) for row in await connection.execute(query)]

    @uninterrupted
    async def revoke(self, key_id: str) -> bool:
        """False where there is no such key. A key that was revoked before keeps its time."""
        if not ids.plausible(key_id):
            return False
        revoked = (
            keys.update().where(keys.c.id == key_id, keys.c.revoked_at.is_(None)).values(revoked_at=int(time.time()))
        )
        async with self._database.write() as connection:
            await connection.execute(revoked)
            return await connection.scalar(select(keys.c.seq).where(keys.c.id == key_id)) is not None

    @uninterrupted
    async def find(self, key: str) -> Key | None:
        """Whose key this is; None where there is no such key, or no longer."""
        hashed = _hash(key)
        query = select(keys.c.sha256, *KEY_COLUMNS).where(keys.c.sha256 == hashed, keys.c.revoked_at.is_(None))
        async with self._database.read() as connection:
            row = (await connection.execute(query)).one_or_none()
        # The index finds by hash, whose bytes nobody can steer towards another's; the last word takes constant time.
        if row is None or not hmac.compare_digest(row.sha256, hashed):
            return None
        return Key(*row[1:])

    @uninterrupted
    async def any(self) -> bool:
        """Whether there ever was a key. Revoked ones count: revoking the last must not open the door to everybody."""
        async with self._database.read() as connection:
            return await connection.scalar(select(keys.c.seq).limit(1)) is not None


def check_project(name: str) -> None:
    """Raises InvalidProject."""
    if not _PROJECT.fullmatch(name):
        raise InvalidProject(
            f"project: found {jsontext.quote(name)}. It takes 1 to 64 letters, digits, and any of . _ -"
        )


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
