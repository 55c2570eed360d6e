"""What a server keeps: keys, files, evals, runs, samples and output items, in SQLite or PostgreSQL."""

from pathlib import Path

from fairmark.store.counts import Counts
from fairmark.store.database import Database, InvalidDatabase, StoreUnavailable
from fairmark.store.evals import Eval, Evals
from fairmark.store.files import File, Files
from fairmark.store.items import Item, Items, NewItem
from fairmark.store.keys import InvalidProject, Key, Keys
from fairmark.store.pages import Page, UnknownCursor
from fairmark.store.runs import Run, Runs, UnknownEval
from fairmark.store.samples import Samples

__all__ = [
    "Counts",
    "Eval",
    "File",
    "InvalidDatabase",
    "InvalidProject",
    "Item",
    "Key",
    "NewItem",
    "Page",
    "Run",
    "Store",
    "StoreUnavailable",
    "UnknownCursor",
    "UnknownEval",
]


class Store:
    """Belongs to the event loop that opened it. Every call may raise StoreUnavailable, and may be made again later."""

    def __init__(self, database: Database, home: Path) -> None:
        self._database = database
        self.keys = Keys(database)
        self.files = Files(database, home)
        self.evals = Evals(database)
        self.runs = Runs(database)
        self.items = Items(database, self.runs)
        self.samples = Samples(database, self.runs)

    @classmethod
    async def open(cls, url: str | None, home: Path, *, exclusive: bool = True) -> "Store":
        """The store in the database that the URL names, its tables made or brought up to date.

        Without a URL it is the SQLite file `fairmark.db` in `home`. A SQLite file takes one server at a time; without
        `exclusive`, which is for looking after keys beside one, runs must not be claimed. Raises InvalidDatabase or
        StoreUnavailable.
        """
        return cls(await Database.open(url, home, exclusive), home)

    async def close(self) -> None:
        await self.runs.close()
        await self._database.close()
