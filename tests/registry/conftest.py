"""An empty database to copy, as the tests of the store have it."""

from tests.store.conftest import migrated_file

__all__ = ["migrated_file"]
