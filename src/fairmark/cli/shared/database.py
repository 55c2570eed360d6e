"""The database that a command works on, beside a server that may run on it."""

from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from fairmark.errors import InvalidData
from fairmark.settings import settings

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fairmark.store import Store

Result = TypeVar("Result")
Db = Annotated[
    str | None,
    typer.Option("--db", metavar="URL", help="The server's database: sqlite:///… or postgresql://…; as FAIRMARK_DB."),
]


def with_store(db: str | None, work: "Callable[[Store], Awaitable[Result]]", makes: bool = False) -> Result:
    """What `work` gives, with the store open for as long. `makes`: a database that is named and not there is made.
    Raises as `Store.open` does."""
    try:
        from fairmark.store import Store
    except ModuleNotFoundError as error:
        raise InvalidData(f"The server's database needs {error.name}: pip install 'fairmark[server]'") from None

    import asyncio

    async def opened() -> Result:
        store = await Store.open(db or settings().db or None, settings().data_folder, exclusive=False, makes=makes)
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(opened())


def check_database(db: str | None) -> None:
    """Whether it can be opened, for those who need it after long work. Raises as `Store.open` does."""

    async def nothing(store: "Store") -> None:
        pass

    with_store(db, nothing, makes=True)


def without_password(db: str) -> str:
    """The address as it may be shown: *** stands for the password, and for all of what is no address."""
    from sqlalchemy import exc, make_url

    try:
        return make_url(db).render_as_string(hide_password=True)
    except (exc.ArgumentError, ValueError):
        return "***"


def checked_project(project: str) -> str:
    """Raises InvalidProject."""
    from fairmark.store.access.keys import check_project

    check_project(project)
    return project
