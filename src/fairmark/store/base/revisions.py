"""Revisions of the tables: which there are, which one a database has, and how it gets the newest.

A server, and every command that keeps something, asks for the revision at its start. So it is answered without
Alembic, which takes a fifth of a second to import and to read the migrations: it comes with a database that is behind.
"""

from functools import cache
from pathlib import Path

from sqlalchemy import Column, Connection, MetaData, PrimaryKeyConstraint, String, Table, insert, inspect, select

from fairmark.store.base.tables import metadata

MIGRATIONS = Path(__file__).parents[1] / "migrations"
# As Alembic makes it.
_applied = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


@cache
def known() -> tuple[str, ...]:
    """All that this Fairmark has a migration for, the newest last: what the names of their files begin with."""
    return tuple(sorted(file.name.partition("_")[0] for file in (MIGRATIONS / "versions").glob("[0-9]*_*.py")))


def applied(connection: Connection) -> str | None:
    """The revision of the tables that are there; None where there are none, or none of ours."""
    if not inspect(connection).has_table(_applied.name):
        return None
    return connection.scalar(select(_applied.c.version_num))


def make_or_migrate(connection: Connection) -> None:
    """What is new and empty gets the newest tables at once: the migrations would make the same ones, step by step."""
    if inspect(connection).get_table_names():
        migrate(connection)
    else:
        metadata.create_all(connection, checkfirst=False)
        _applied.create(connection)
        connection.execute(insert(_applied).values(version_num=known()[-1]))


def migrate(connection: Connection, revision: str = "head") -> None:
    """From whichever tables there are, or none."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
