"""Servers on both databases, whose models are the house's."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from tests.evals.house import Models, open_house
from tests.postgres import Postgres
from tests.server.client import Server
from tests.store.conftest import MIGRATED

DATABASES = ["sqlite", "postgresql"]


class Api(Server):
    """A server and its models."""

    models: Models
    database: str | None


@contextmanager
def serving(request: pytest.FixtureRequest, kind: str, settings: Mapping[str, str] | None = None) -> Iterator[Api]:
    """The test's module must have the fixture `postgres`. `settings`: more of the server's environment."""
    environment = dict(settings or {})
    if kind == "postgresql":
        postgres = request.getfixturevalue("postgres")
        assert isinstance(postgres, Postgres)
        environment["FAIRMARK_DB"] = postgres.new_database(MIGRATED)
    folder = request.getfixturevalue("tmp_path_factory").mktemp("server")
    with open_house() as models:
        api = Api(folder / "home", models.environment | environment)
        api.models, api.database = models, environment.get("FAIRMARK_DB")
        try:
            yield api
        finally:
            api.stop()
    assert "Traceback" not in api.stderr.read_text()
