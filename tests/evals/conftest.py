"""Stores in both databases, as the tests of the store have them."""

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
    "store",
]
