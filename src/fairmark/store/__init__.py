"""What is kept: keys, sessions, files, graders, evals, runs, samples, items and jobs, in SQLite or PostgreSQL."""

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
from fairmark.row import hash_item
from fairmark.store.access.keys import Key, Keys
from fairmark.store.access.limits import Allowance, ProjectLimits
from fairmark.store.access.sessions import Sessions
from fairmark.store.base import ids, room
from fairmark.store.base.database import Database
from fairmark.store.base.pages import Page
from fairmark.store.base.positions import Positions
from fairmark.store.checks import Checks, LastCheck, StoredCheck
from fairmark.store.completions import Chosen, CompletionLimits, Completions, NewCompletion, StoredCompletion
from fairmark.store.evals.counts import Counts
from fairmark.store.evals.evals import Eval, Evals
from fairmark.store.evals.items import Item, Items, NewItem
from fairmark.store.evals.label_batches import BatchRow, LabelBatch, LabelBatches
from fairmark.store.evals.labels import Label, Labels, NewLabel
from fairmark.store.evals.notes import reason_key
from fairmark.store.evals.reopening import Reopening
from fairmark.store.evals.rowfiles import RowFiles
from fairmark.store.evals.runs import Run, Runs
from fairmark.store.evals.samples import Samples
from fairmark.store.evals.scores import CriterionScore, Scores
from fairmark.store.files import File, Files
from fairmark.store.imports import Import, Imports
from fairmark.store.jobs.entries import NewCheckpoint, NewEvent
from fairmark.store.jobs.jobs import Job, Jobs, Lease
from fairmark.store.jobs.leases import Leases
from fairmark.store.received import Received
from fairmark.store.registry.grader_scores import GraderScores, PushedScore
from fairmark.store.registry.graders import Grader, KeptGraders, NewGrader, Version
from fairmark.store.views.columns import RunColumns
from fairmark.store.views.comparison import Pair, PairPage, StoredComparison, shared_criteria
from fairmark.store.views.history import History
from fairmark.store.views.recent import Recent, RecentRuns, RunSummary
from fairmark.store.views.rows import Neighbours, RowPage, Rows, View
from fairmark.store.views.spending import ModelSpending, Spending, SpentTotals

__all__ = [
    "Allowance",
    "BatchRow",
    "Chosen",
    "CompletionLimits",
    "Counts",
    "CriterionScore",
    "DiskFull",
    "DuplicateKey",
    "Eval",
    "File",
    "Grader",
    "Import",
    "InvalidCursor",
    "InvalidDatabase",
    "InvalidProject",
    "InvalidView",
    "Item",
    "Job",
    "Key",
    "Label",
    "LabelBatch",
    "LastCheck",
    "Lease",
    "LockedGrader",
    "ModelSpending",
    "Neighbours",
    "NewCheckpoint",
    "NewCompletion",
    "NewEvent",
    "NewGrader",
    "NewItem",
    "NewLabel",
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
    "StoredCheck",
    "StoredCompletion",
    "UnknownCursor",
    "UnknownEval",
    "Version",
    "VersionConflict",
    "View",
    "hash_item",
    "ids",
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
        self.row_files = RowFiles(database, home)
        self.evals = Evals(database, self.row_files)
        self.runs = Runs(database, self.row_files)
        self.completions = Completions(database)
        self.recent = Recent(database)
        self.history = History(database)
        self.items = Items(database, self.runs)
        self.labels = Labels(database)
        self.label_batches = LabelBatches(database)
        self.received = Received(database)
        self.scores = Scores(database)
        self.rows = Rows(database)
        self.columns = RunColumns(database)
        self.comparison = StoredComparison(database)
        self.samples = Samples(database, self.runs)
        self.reopening = Reopening(database)
        self.jobs = Jobs(database)
        self.leases = Leases(database)
        self.imports = Imports(database)
        self.checks = Checks(database)
        self.sessions = Sessions(database)
        self.limits = ProjectLimits(database)
        self.positions = Positions(database)
        self.spending = Spending(database)

    @classmethod
    async def open(cls, url: str | None, home: Path, *, exclusive: bool = True, makes: bool = True) -> "Store":
        """The store in the database that the URL names, its tables made or brought up to date.

        Without a URL it is the SQLite file `fairmark.db` in `home`. A SQLite file takes one server at a time; without
        `exclusive`, which is for keys and graders beside one, runs must not be claimed. Without `makes`, which is for
        those who look for something, a file that the URL names must be there. Raises InvalidDatabase or
        StoreUnavailable.
        """
        return cls(await Database.open(url, home, exclusive, makes), home)

    async def check_room(self) -> None:
        """Raises DiskFull where nothing can be stored at the moment, files or rows."""
        for folder in self._folders:
            await asyncio.to_thread(room.check, folder)
        await self._database.check_room()

    @property
    def is_sqlite(self) -> bool:
        return self._database.is_sqlite

    def keep_lock(self) -> int | None:
        """The open file that keeps other servers away, for whoever goes on holding it after the store is closed: it
        counts until the last process that has it closes it. None for PostgreSQL, which takes many servers."""
        return self._database.keep_lock()

    async def close(self) -> None:
        await self.checks.close()
        await self.imports.close()
        await self.jobs.close()
        await self.runs.close()
        await self._database.close()
