"""Output items out of an archive, as the store has those of our own runs: with an index, scores, reasons, warnings."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairmark import jsontext, longjson
from fairmark.evals import foreign
from fairmark.moving.archive import Archive
from fairmark.moving.bodies import with_members
from fairmark.store import Counts, CriterionScore, NewItem, hash_item, ids
from fairmark.store.received import ReceivedItem

ITEMS_A_BATCH = 500
BYTES_A_BATCH = 4_000_000
MOST_INDEX = 4_000_000
"""A greater number of a row is none that rows are counted by."""
MOST_TOLD = 5


class ArchivedItems:
    """One run's, read once from the first to the last."""

    def __init__(
        self, archive: Archive, name: str, criteria: Sequence[Mapping[str, Any]], changes: Mapping[str, Any]
    ) -> None:
        """`changes`: the members of each that are others here, such as the run's id where it was copied."""
        self._lines = archive.lines(name)
        self._criteria = criteria
        self._changes = dict(changes)
        self._taken = bytearray()
        self._ids: set[str] = set()
        self.counts = Counts()
        self.total = 0
        self.unread = 0
        """Lines that are no items."""
        self.contradictory = 0
        """Items that say they passed while a criterion says otherwise."""
        self.flattened = 0
        """Items whose messages had images, which are text now."""
        self.unknown: Counter[str] = Counter()
        """Names of results that are none of the eval's criteria."""

    def batch(self) -> list[ReceivedItem]:
        """The next ones, so many as go into one transaction; empty at the end."""
        items: list[ReceivedItem] = []
        size = 0
        for line in self._lines:
            value = _decoded(line)
            item = None if value is None else self._read(line, value)
            if item is None:
                self.unread += 1
                continue
            items.append(item)
            size += len(line)
            if len(items) >= ITEMS_A_BATCH or size >= BYTES_A_BATCH:
                break
        return items

    def _read(self, line: bytes, item: dict[str, Any]) -> ReceivedItem:
        status = foreign.item_status(item)
        results, others = foreign.by_criterion(foreign.results_of(item), self._criteria)
        self.unknown.update(others)
        made = [None if result is None else foreign.result_outcome(result, status) for result in results]
        scores = [
            None if outcome is None or result is None else _score(result, outcome)
            for result, outcome in zip(results, made, strict=True)
        ]
        outcomes = [outcome for outcome in made if outcome is not None]
        whole = foreign.whole_status(item, outcomes)
        self.contradictory += status is not None and whole != status
        by_id = {
            str(criterion["id"]): outcome for criterion, outcome in zip(self._criteria, made, strict=True) if outcome
        }
        self.counts.count(whole, by_id)
        self.total += 1
        self.flattened += foreign.is_flattened(line)
        row = item.get("datasource_item")
        new = NewItem(
            idx=self._index(item.get("datasource_item_id")),
            status=whole,
            body=with_members(line, self._changes) if self._changes else line,
            scores=tuple(scores),
            item_hash=hash_item(row if isinstance(row, dict) else {}),
            reasons=tuple(_reasons(item, results, scores)) if whole == "error" else (),
            warnings=tuple(_warnings(results)),
        )
        return ReceivedItem(self._id(item.get("id")), new)

    def _index(self, given: Any) -> int:
        """The row's own number, or the next that is free where it has none or another item has it."""
        taken = self._taken
        is_number = isinstance(given, int) and not isinstance(given, bool) and 0 <= given < MOST_INDEX
        idx = given if is_number and (given >= len(taken) or not taken[given]) else len(taken)
        if idx >= len(taken):
            taken.extend(bytes(idx + 1 - len(taken)))
        taken[idx] = 1
        return idx

    def _id(self, given: Any) -> str | None:
        if not isinstance(given, str) or not ids.plausible(given) or given in self._ids:
            return None
        self._ids.add(given)
        return given


def _decoded(line: bytes) -> dict[str, Any] | None:
    """In turns: a line may have tens of megabytes, and who decodes them at once holds every other thread up."""
    try:
        item = longjson.decode(line, rows=True)
    except jsontext.NotJson:
        return None
    if not isinstance(item, dict):
        return None
    if isinstance(item.get("results"), longjson.LongList):
        item["results"] = list(item["results"])
    return item


def _score(result: Mapping[str, Any], outcome: str) -> CriterionScore:
    return CriterionScore(outcome, foreign.result_score(result) if outcome in ("pass", "fail") else 0.0)


def _reasons(
    item: Mapping[str, Any], results: Sequence[Mapping[str, Any] | None], scores: Sequence[CriterionScore | None]
) -> Iterator[str]:
    told = False
    for result, made in zip(results, scores, strict=True):
        if result is not None and made is not None and made.outcome == "error":
            told = True
            yield foreign.result_error(result) or "the source does not say why"
    if not told:
        sample = item.get("sample")
        error = sample.get("error") if isinstance(sample, Mapping) else None
        yield foreign.error_words(error) or "the source does not say why"


def _warnings(results: Sequence[Mapping[str, Any] | None]) -> Iterator[str]:
    for result in results:
        warnings = None if result is None else result.get("warnings")
        yield from (warning for warning in warnings if isinstance(warning, str)) if isinstance(warnings, list) else ()
