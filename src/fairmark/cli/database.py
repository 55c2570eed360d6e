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


def with_store(db: str | None, work: "Callable[[Store], Awaitable[Result]]") -> Result:
    """What `work` gives, with the store open for as long. Raises as `Store.open` does."""
    try:
        from fairmark.store import Store
    except ModuleNotFoundError as error:
        raise InvalidData(f"The server's database needs {error.name}: pip install 'fairmark[server]'") from None

    import asyncio

    async def opened() -> Result:
        store = await Store.open(db or settings().db or None, settings().data_folder, exclusive=False)
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(opened())
