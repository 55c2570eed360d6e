"""Stores in both databases, as the tests of the store have them; and a real server."""

from tests.server.conftest import server
from tests.store.conftest import (
    in_postgresql,
    in_sqlite,
    migrated_file,
    place,
    postgres,
    pytest_pyfunc_call,
    runner,
    store,
)

__all__ = [
    "in_postgresql",
    "in_sqlite",
    "migrated_file",
    "place",
    "postgres",
    "pytest_pyfunc_call",
    "runner",
    "server",
    "store",
]
