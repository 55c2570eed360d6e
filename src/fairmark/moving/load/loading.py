"""What all loaders share: where things go, whose ids clash with whose, and what is known of copies."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from fairmark import jsontext, longjson
from fairmark.errors import InvalidArchive
from fairmark.evals.criteria import Expand
from fairmark.moving.archive import Archive
from fairmark.moving.load.report import Clash, LoadReport, OnClash
from fairmark.store import Store, ids
from fairmark.store.evals.rowfiles import PREFIX as ROWS
from fairmark.store.received import Kind, Present

COPIED = "copied.json"
_NEW_ID = {"evals": lambda: ids.new("eval_"), "runs": lambda: ids.new("evalrun_"), "files": ids.new_file}

Progress = Callable[[str, int], None]
"""Told of a kind and how many of it are done."""


class StorePlace(NamedTuple):
    """Under which id something goes into the store."""

    id: str
    there: Present | None
    """What it takes the place of."""
    is_same: bool = False
    """That is what it is already."""


class Copies:
    """The ids that things were copied under, which the archive remembers: a second load makes no second copy.

    Of each database apart, because ids clash in one and not in another.
    """

    def __init__(self, archive: Archive, place: str) -> None:
        self._archive = archive
        self._place = place
        content = archive.read(COPIED)
        try:
            self._all: dict[str, Any] = {} if content is None else jsontext.decode(content)
        except jsontext.NotJson as error:
            raise InvalidArchive(f"{archive.path(COPIED)}: not JSON: {error}.") from None
        self.here: dict[str, dict[str, str]] = self._all.setdefault(place, {})

    def get(self, kind: str, id_: str) -> str | None:
        return self.here.get(kind, {}).get(id_)

    def add(self, kind: str, id_: str, copy: str) -> None:
        """It is on disk before anything is in the store. Raises OSError."""
        self.here.setdefault(kind, {})[id_] = copy
        self._archive.write(COPIED, jsontext.encode(self._all))


class Loading:
    """One archive on its way into one project of a store."""

    def __init__(
        self,
        archive: Archive,
        store: Store,
        project: str,
        on_clash: OnClash,
        at: int,
        expand: Expand,
        progress: Progress,
        dry_run: bool,
        copies_in: Archive | None = None,
    ) -> None:
        self.archive = archive
        self.store = store
        self.project = project
        self.on_clash = on_clash
        self.at = at
        self.expand = expand
        self.progress = progress
        self.dry_run = dry_run
        manifest = archive.manifest()
        source = manifest.get("source")
        self.source = source if isinstance(source, str) and source else "archive"
        self.copies = Copies(copies_in or archive, f"{store.received.place} {project}")
        self.report = LoadReport(source=self.source, copied=self.copies.here)
        self.left_out: set[str] = set()
        """Evals whose runs have nowhere to go."""
        self.is_part = isinstance(manifest.get("part"), dict)
        """Other archives may have more of the same things."""
        self._made_up = {
            kind: set(filter(None, map(text_of, made_up)))
            for kind, made_up in object_of(manifest.get("part")).items()
            if isinstance(made_up, list)
        }

    def is_made_up(self, kind: Kind, id_: str) -> bool:
        """Whether it stands in for one that the archive only names."""
        return id_ in self._made_up.get(kind, ())

    def target(self, kind: Kind, id_: str) -> str:
        """The id that it has here, should it be here."""
        return self.copies.get(kind, id_) or id_

    async def find(self, kind: Kind, id_: str) -> Present | None:
        """What the project has under its id."""
        there = await self.store.received.find(kind, self.target(kind, id_))
        return there if there is not None and there.project == self.project else None

    def imported(self, there: Present | None, *, is_made_up: bool = False) -> dict[str, Any]:
        """What is noted of where a thing came from. Once it is here, the time stays."""
        before = there.imported if there is not None and there.project == self.project else None
        at = before.get("at") if before is not None and before.get("source") == self.source else None
        mark = {"made_up": True} if is_made_up else {}
        return {"source": self.source, "at": self.at if at is None else at, **mark}

    async def place(
        self, kind: Kind, id_: str, is_same: Callable[[str, Present], Awaitable[bool]]
    ) -> StorePlace | None:
        """Where the thing of this id goes; None where it is left out, which is reported then.

        `is_same`: whether what is there under an id is this very thing.
        """
        target = self.target(kind, id_)
        if not ids.plausible(target) or target.startswith(ROWS):
            return self._clash(
                kind, id_, "this is no id that could be kept: letters, digits, _ and -, 100 at most.", False
            )
        there = await self.store.received.find(kind, target)
        if there is None:
            return StorePlace(target, None)
        if there.project != self.project:
            return self._clash(kind, id_, "another project on this server has this id.", False)
        if await is_same(target, there):
            return StorePlace(target, there, is_same=True)
        if there.imported is None:
            return self._clash(kind, id_, "one that was made here has this id and other content.", True, there)
        if there.imported.get("source") != self.source and not there.imported.get("made_up"):
            source = there.imported.get("source")
            return self._clash(kind, id_, f"one that came from {source} has this id and other content.", True, there)
        return StorePlace(target, there)

    def _clash(
        self, kind: Kind, id_: str, reason: str, can_replace: bool, there: Present | None = None
    ) -> StorePlace | None:
        if self.on_clash == "copy":
            copy = _NEW_ID[kind]()
            if not self.dry_run:
                self.copies.add(kind, id_, copy)
            self.report.clashes.append(Clash(kind, id_, reason, f"copied as {copy}"))
            return StorePlace(copy, None)
        if self.on_clash == "replace" and can_replace:
            self.report.clashes.append(Clash(kind, id_, reason, "replaced"))
            return StorePlace(id_, there)
        self.report.clashes.append(Clash(kind, id_, reason, "skipped"))
        self.report.of(kind).skipped += 1
        return None

    def count(self, kind: str, place: StorePlace) -> None:
        tally = self.report.of(kind)
        if place.is_same:
            tally.unchanged += 1
        elif place.there is None:
            tally.new += 1
        else:
            tally.changed += 1
        self.progress(kind, tally.new + tally.changed + tally.unchanged + tally.skipped)


async def read_list(loading: Loading, kind: str, name: str) -> list[tuple[bytes, dict[str, Any]]]:
    """The objects of a list with the bytes they came as, and a problem for each line that is none. In a thread: there
    may be thousands, and some may be long."""

    def read() -> list[tuple[bytes, dict[str, Any]]]:
        lines = loading.archive.lines(name)
        return [(body, value) for body in lines if (value := read_object(loading, kind, name, body)) is not None]

    return await asyncio.to_thread(read)


def read_object(loading: Loading, kind: str, name: str, body: bytes, *, rows: bool = False) -> dict[str, Any] | None:
    """The object; None, and a problem, where it is none. `rows`: long lists in it are LongLists."""
    try:
        value = longjson.decode(body, rows=rows)
    except jsontext.NotJson as error:
        loading.report.problem(kind, name, f"not JSON: {error}.")
        return None
    if not isinstance(value, dict):
        loading.report.problem(kind, name, f"found {jsontext.describe(value)}. It takes an object.")
        return None
    return value


def text_of(given: Any, otherwise: str = "") -> str:
    return given if isinstance(given, str) else otherwise


def whole_of(given: Any) -> int:
    """A time or a count that both databases can hold; 0 for what is none."""
    is_number = isinstance(given, (int, float)) and not isinstance(given, bool)
    return int(given) if is_number and 0 <= given < 2**62 else 0


def object_of(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {}
