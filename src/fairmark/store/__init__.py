"""What is kept: keys, sessions, files, graders, evals, runs, samples and output items, in SQLite or PostgreSQL."""

import asyncio
from pathlib import Path

from fairmark.errors import (
    DiskFull,
    DuplicateKey,
    InvalidCursor,
    InvalidDatabase,
    InvalidProject,
    InvalidView,
    LockedGrader,
    StoreUnavailable,
    UnknownCursor,
    UnknownEval,
    VersionConflict,
)
from fairmark.store import room
from fairmark.store.comparison import Comparison, Pair, PairPage, Totals, shared_criteria
from fairmark.store.counts import Counts
from fairmark.store.database import Database
from fairmark.store.evals import Eval, Evals
from fairmark.store.files import File, Files
from fairmark.store.grader_scores import GraderScores, PushedScore
from fairmark.store.graders import Grader, KeptGraders, NewGrader, Version
from fairmark.store.history import History
from fairmark.store.items import Item, Items, NewItem
from fairmark.store.keys import Key, Keys
from fairmark.store.notes import reason_key
from fairmark.store.pages import Page
from fairmark.store.positions import Positions
from fairmark.store.recent import Recent, RecentRuns, RunSummary
from fairmark.store.rows import Neighbours, RowPage, Rows, View
from fairmark.store.runs import Run, Runs
from fairmark.store.samples import Samples
from fairmark.store.scores import CriterionScore, Scores, hash_item
from fairmark.store.sessions import Sessions
from fairmark.store.spending import ModelSpending, Spending, SpentTotals

__all__ = [
    "Counts",
    "CriterionScore",
    "DiskFull",
    "DuplicateKey",
    "Eval",
    "File",
    "Grader",
    "InvalidCursor",
    "InvalidDatabase",
    "InvalidProject",
    "InvalidView",
    "Item",
    "Key",
    "LockedGrader",
    "ModelSpending",
    "Neighbours",
    "NewGrader",
    "NewItem",
    "Page",
    "Pair",
    "PairPage",
    "PushedScore",
    "RecentRuns",
    "RowPage",
    "Run",
    "RunSummary",
    "SpentTotals",
    "Store",
    "StoreUnavailable",
    "Totals",
    "UnknownCursor",
    "UnknownEval",
    "Version",
    "VersionConflict",
    "View",
    "hash_item",
    "reason_key",
    "shared_criteria",
]


class Store:
    """Belongs to the event loop that opened it. Every call may raise StoreUnavailable, and may be made again later."""

    def __init__(self, database: Database, home: Path) -> None:
        self._database = database
        self._folders = {home, Path(database.name).parent} if database.is_sqlite else {home}
        self.keys = Keys(database)
        self.files = Files(database, home)
        self.graders = KeptGraders(database)
        self.grader_scores = GraderScores(database)
        self.evals = Evals(database)
        self.runs = Runs(database)
        self.recent = Recent(database)
        self.history = History(database)
        self.items = Items(database, self.runs)
        self.scores = Scores(database)
        self.rows = Rows(database)
        self.comparison = Comparison(database)
        self.samples = Samples(database, self.runs)
        self.sessions = Sessions(database)
        self.positions = Positions(database)
        self.spending = Spending(database)

    @classmethod
    async def open(cls, url: str | None, home: Path, *, exclusive: bool = True) -> "Store":
        """The store in the database that the URL names, its tables made or brought up to date.

        Without a URL it is the SQLite file `fairmark.db` in `home`. A SQLite file takes one server at a time; without
        `exclusive`, which is for keys and graders beside one, runs must not be claimed. Raises InvalidDatabase or
        StoreUnavailable.
        """
        return cls(await Database.open(url, home, exclusive), home)

    async def check_room(self) -> None:
        """Raises DiskFull where nothing can be stored at the moment, files or rows."""
        for folder in self._folders:
            await asyncio.to_thread(room.check, folder)
        await self._database.check_room()

    async def close(self) -> None:
        await self.runs.close()
        await self._database.close()
