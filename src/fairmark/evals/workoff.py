"""One run being worked off: its rows go through in chunks, and what comes out is written in batches, each in one
transaction with the run's counters."""

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from fairmark import longjson
from fairmark.apart import goes_elsewhere
from fairmark.context import Elsewhere
from fairmark.data.dataset import BOM
from fairmark.errors import GradingFailed, JudgeFailed
from fairmark.evals.batch import Batch
from fairmark.evals.copied import CopiedRows
from fairmark.evals.criteria import Criterion, Outcome, load_criteria
from fairmark.evals.flight import Flight
from fairmark.evals.item import given_sample, made_sample
from fairmark.evals.sampling import Sampled, sample_rows, with_speech
from fairmark.evals.silence import Silence
from fairmark.evals.source import RowSource, SourceRow, find_file, open_source, read_model_sampling
from fairmark.graders import paid, rows_at_once, waits
from fairmark.judgement import Usage
from fairmark.judges.base import Budget, Judge
from fairmark.longjson import LONG
from fairmark.result import Grade, Result
from fairmark.row import Row, make_row, unread
from fairmark.run import grade_rows, shared_context
from fairmark.settings import settings
from fairmark.spec import GraderSpec
from fairmark.store import Counts, NewItem, Run, Store, StoreUnavailable
from fairmark.work.pool import cores

ROWS_A_CHUNK = 64
"""What is graded together is stored together: a smaller chunk is stored sooner."""
CHUNKS_ELSEWHERE = 2 * cores() + 1
"""Chunks under way where other processes compute them: each has the next one waiting."""
ROWS_A_WRITE = 1000
WRITE_EVERY_S = 0.1
KEEP_EVERY_S = 0.02
UNSTORED_AT_MOST = 64
"""How many of a run's samples may have arrived and not be stored, besides what is under way at once: whoever dies now
has paid for so many in vain."""
WATCH_EVERY_S = 1.0
"""How often it is looked whether the run is still there, and a store that was away is tried again."""
LONG_ROW_BYTES = 10_000
"""Rows of a file that have as many, on average, are read in a thread."""
ROWS_A_LOOK = 1000
"""How many rows that are done already are passed by at once."""

SAMPLING = "sampling"
"""What asks the model under test, beside the criteria."""

T = TypeVar("T")

Graded = Callable[[Sequence[Result]], None]
"""Told of all that was graded, as it is; for metrics."""

BudgetOf = Callable[[str, Budget | None], Budget | None]
"""What a run of a project may spend: its own budget, within what others say."""

log = logging.getLogger("fairmark.runs")


class RunGone(Exception):  # a message to the engine, not an error
    """The run was cancelled or deleted while it was worked off."""


class RunWork:
    """One run being worked off."""

    def __init__(
        self,
        store: Store,
        run: Run,
        source: RowSource,
        criteria: Sequence[Criterion],
        done: bytearray,
        judge: Judge | None,
        graded: Graded,
        flight: Flight,
        budget_of: BudgetOf = lambda project, own: own,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self._flight = flight
        self._store = store
        self._graded = graded
        self._run = run
        self._source = source
        self._criteria = criteria
        self._done = done
        context = shared_context(judge, budget_of(run.project, _budget(run)), run.project)
        self._context = replace(context, elsewhere=elsewhere)
        self._chunk_rows = ROWS_A_CHUNK
        self._to_keep: list[tuple[int, bytes]] = []
        self._keeping: asyncio.Task[None] | None = None
        self._storing = asyncio.Lock()
        self._bought = bytearray()
        # Held from before a question until its answer is in the store: questions wait when storing falls behind.
        self._unstored = asyncio.Semaphore(settings().judge_concurrency + UNSTORED_AT_MOST)
        self._written: asyncio.Queue[tuple[list[NewItem], Counts] | None] = asyncio.Queue(maxsize=16)
        self._silence = Silence(settings().judge_give_up_s)
        deadline_s = run.options.get("deadline_s")
        self._ends_at = None if deadline_s is None else run.created_at + deadline_s

    @classmethod
    async def begin(
        cls,
        store: Store,
        run: Run,
        judge: Judge | None,
        graded: Graded,
        flight: Flight,
        budget_of: BudgetOf = lambda project, own: own,
        elsewhere: Elsewhere | None = None,
    ) -> "RunWork":
        """`elsewhere`: other machines, which grade; whatever is stored is stored here."""
        eval_ = await store.evals.get(run.project, run.eval_id)
        now = await store.runs.get(run.project, run.eval_id, run.id)  # with what has been spent since it was claimed
        if eval_ is None or now is None:
            raise RunGone
        data_source = await asyncio.to_thread(longjson.decode, now.data_source, rows=True)
        if now.rows_file is not None:
            # Whoever grades again has the answers; others may want new ones to the same rows.
            path = store.row_files.path(now.rows_file)
            source: RowSource = CopiedRows(path, None if now.regraded_from else read_model_sampling(data_source))
        else:
            source = open_source(data_source, await find_file(store, run.project, data_source))
        done = await store.items.done(now)
        criteria = load_criteria(now.criteria or eval_.criteria)
        return cls(store, now, source, criteria, done, judge, graded, flight, budget_of, elsewhere)

    async def do(self) -> None:
        """All rows that are not in the store yet. Raises RunGone where the run is taken away meanwhile."""
        if self._source.sampling is not None:
            self._bought = await self._store.samples.indexes(self._run)
            await self._count_bought()
        try:
            async with asyncio.TaskGroup() as tasks:
                watching = tasks.create_task(self._watch())
                writing = tasks.create_task(self._write())
                writing.add_done_callback(lambda _: watching.cancel())
                if self._source.sampling is None and not any(
                    criterion.spec and waits(criterion.spec) for criterion in self._criteria
                ):
                    await self._compute(tasks)
                else:
                    await self._wait(tasks)
                await self._written.put(None)
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None

    async def _count_bought(self) -> None:
        """Samples whose rows are not graded are in no counter of the run yet, but the budget has to know of them."""
        budget = self._context.budget
        if budget is None:
            return
        for first in range(0, len(self._bought), ROWS_A_LOOK):
            stored = await self._store.samples.get(self._run, first, first + ROWS_A_LOOK - 1)
            for position, body in stored.items():
                if not (position < len(self._done) and self._done[position]):
                    sampled = Sampled.decode(body)
                    budget.count(Usage(*sampled.usage), sampled.cost)

    async def _compute(self, tasks: asyncio.TaskGroup) -> None:
        """Graders that compute: chunk after chunk, or several side by side where other processes compute them. The road
        of a grade sees to it that others have their turn."""
        specs = [criterion.spec for criterion in self._criteria if criterion.spec]
        running: set[asyncio.Task[None]] = set()
        async for chunk in self._read_chunks():
            if chunk and (self._context.elsewhere is not None or any(map(goes_elsewhere, specs))):
                if len(running) >= self._chunks_at_once(specs):
                    await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                task = tasks.create_task(self._chunk(chunk))
                running.add(task)
                task.add_done_callback(running.discard)
            elif chunk:
                await self._chunk(chunk)
            await asyncio.sleep(0)
        while running:
            await asyncio.wait(set(running))

    def _chunks_at_once(self, specs: Sequence[GraderSpec]) -> int:
        """Whoever computes them has the next one waiting, here or on other machines."""
        elsewhere = self._context.elsewhere
        if elsewhere is None:
            return CHUNKS_ELSEWHERE
        return max(CHUNKS_ELSEWHERE, max(map(elsewhere.ahead, specs), default=0) // self._chunk_rows)

    async def _wait(self, tasks: asyncio.TaskGroup) -> None:
        """Graders and models that wait: many chunks under way at once.

        Where a model is asked, a chunk is a row: one that hangs must not keep from the store what others have cost.
        """
        sizes = [
            rows_at_once(criterion.spec) for criterion in self._criteria if criterion.spec and waits(criterion.spec)
        ]
        asks = self._source.sampling is not None or any(
            paid(criterion.spec) for criterion in self._criteria if criterion.spec
        )
        self._chunk_rows = 1 if asks else min(ROWS_A_CHUNK, *sizes)
        share = self._flight.share(self._run.project, self._chunk_rows)
        running: set[asyncio.Task[None]] = set()
        async for chunk in self._read_chunks():
            if not chunk:
                await asyncio.sleep(0)
                continue
            await share.enter()
            task = tasks.create_task(self._chunk(chunk))
            running.add(task)
            task.add_done_callback(running.discard)
            task.add_done_callback(lambda _: share.leave())
            await asyncio.sleep(0)
        while running:
            await asyncio.wait(set(running))

    async def _read_chunks(self) -> AsyncIterator[list[SourceRow]]:
        """Chunk after chunk, read in a thread where that may take long."""
        chunks = self._chunks()
        if not await asyncio.to_thread(_are_long, self._source.path, self._run.total):
            for chunk in chunks:
                yield chunk
            return
        while (read := await asyncio.to_thread(next, chunks, None)) is not None:
            yield read

    def _chunks(self) -> Iterator[list[SourceRow]]:
        """The rows that are not in the store yet; an empty chunk now and then where many are, for others' turn."""
        done = self._done
        chunk: list[SourceRow] = []
        passed_by = 0
        for row in self._source.rows():
            if row.position < len(done) and done[row.position]:
                passed_by += 1
                if passed_by % ROWS_A_LOOK == 0:
                    yield []
                continue
            chunk.append(row)
            if len(chunk) >= self._chunk_rows:
                yield chunk
                chunk = []
        if chunk:
            yield chunk

    async def _chunk(self, chunk: list[SourceRow]) -> None:
        await self._written.put(await self._grade(chunk))

    async def _grade(self, chunk: list[SourceRow]) -> tuple[list[NewItem], Counts]:
        if self._ends_at is None:
            return await self._sample_and_grade(chunk)
        left = self._ends_at - time.time()
        try:
            if left > 0:
                async with asyncio.timeout(left):
                    return await self._sample_and_grade(chunk)
        except TimeoutError:
            pass
        batch = Batch(self._run, self._criteria)
        reason = f"not graded: the run's deadline of {self._run.options['deadline_s']:g} s has passed."
        how = self._source.sampling
        samples = await self._stored_samples(chunk) if how is not None else {}
        for row in chunk:
            sampled = samples.get(row.position)
            if sampled is None or how is None:
                shown = row.shown or given_sample(row.sample)
            else:  # what was paid for is counted, and shown
                batch.count_sampled(how.model, sampled)
                shown = made_sample(sampled, how)
            batch.leave_out(row, reason, "skip", shown)
        return batch.items, batch.counts

    async def _sample_and_grade(self, chunk: list[SourceRow]) -> tuple[list[NewItem], Counts]:
        batch = Batch(self._run, self._criteria)
        how = self._source.sampling
        rows: list[tuple[SourceRow, Row, dict[str, Any]]] = []
        samples = await self._samples(chunk) if how is not None else {}
        for source in chunk:
            sampled = samples.get(source.position)
            if sampled is not None and how is not None:
                batch.count_sampled(how.model, sampled)
                shown = made_sample(sampled, how)
                if sampled.error is not None or sampled.skipped is not None:
                    outcome: Outcome = "error" if sampled.error is not None else "skip"
                    batch.leave_out(source, f"there is no sample: {sampled.error or sampled.skipped}", outcome, shown)
                    continue
                sample: Any = sampled.sample
            else:
                sample = with_speech(source.sample) if isinstance(source.sample, dict) else source.sample
                shown = source.shown or {}
                if source.absent is not None:
                    batch.leave_out(
                        source, f"there is no sample: {source.absent}", "error", shown or given_sample(None)
                    )
                    continue
            try:
                row = unread(make_row(source.item, sample))
            except GradingFailed as failure:
                batch.leave_out(source, str(failure), "error", shown or given_sample(sample))
                continue
            rows.append((source, row, shown or given_sample(sample)))
        read = [row for _, row, _ in rows]
        graded = await asyncio.gather(*(self._by(criterion, read) for criterion in self._criteria))

        def add() -> None:
            for index, (source, _, shown) in enumerate(rows):
                batch.add(source, [None if results is None else results[index] for results in graded], shown)

        if any(row.chars > LONG for row in read):
            await asyncio.to_thread(add)
        else:
            add()
        return batch.items, batch.counts

    async def _by(self, criterion: Criterion, rows: Sequence[Row]) -> list[Result] | None:
        if criterion.spec is None:
            return None
        # Each criterion notes its warnings on rows of its own.
        own = [row.again() for row in rows]
        given_up = self._silence.given_up(criterion.id)
        if given_up is not None:
            results = [Result(criterion.spec, Grade.failed(JudgeFailed(given_up)), 0.0) for _ in own]
        else:
            results = await grade_rows(criterion.spec, own, self._context)
            if paid(criterion.spec):
                for result in results:
                    self._silence.heard(criterion.id, result.error if result.errors[JudgeFailed.flag] else None)
        self._graded(results)
        return results

    async def _samples(self, chunk: list[SourceRow]) -> dict[int, Sampled]:
        """The rows' samples: those in the store, and the others asked for and stored before anybody grades them."""
        how = self._source.sampling
        assert how is not None  # noqa: S101  # only called where there is one
        samples = await self._stored_samples(chunk)
        missing = [row for row in chunk if row.position not in samples]
        if not missing:
            return samples
        async with self._unstored:
            given_up = self._silence.given_up(SAMPLING)
            if given_up is not None:  # not stored: a run that is taken up again may ask
                return samples | {row.position: Sampled([], {}, error=given_up) for row in missing}
            made = await sample_rows(how, missing, self._context.judge, self._context.budget)
            for sampled in made:
                self._silence.heard(SAMPLING, sampled.error if sampled.code == JudgeFailed.flag else None)
            fresh = {row.position: sampled for row, sampled in zip(missing, made, strict=True)}
            await self._keep(
                [(position, sampled.encode()) for position, sampled in fresh.items() if sampled.skipped is None]
            )
        return samples | fresh

    async def _keep(self, samples: list[tuple[int, bytes]]) -> None:
        """Returns when the samples are in the store. Those that come together are written together."""
        if not samples:
            return
        self._to_keep += samples
        if self._keeping is None or self._keeping.done():
            self._keeping = asyncio.create_task(self._keep_all())
            # Whoever waits for it may be gone when it finds that the run is.
            self._keeping.add_done_callback(lambda kept: kept.cancelled() or kept.exception())
        await asyncio.shield(self._keeping)

    async def _keep_all(self) -> None:
        await asyncio.sleep(KEEP_EVERY_S)
        async with self._storing:  # what comes while others are written is the next to be written
            samples, self._to_keep, self._keeping = self._to_keep, [], None
            if not await self._patiently(lambda: self._store.samples.add(self._run, samples)):
                raise RunGone
            for position, _ in samples:
                self._bought.extend(bytes(max(0, position + 1 - len(self._bought))))
                self._bought[position] = 1

    async def _stored_samples(self, chunk: list[SourceRow]) -> dict[int, Sampled]:
        first, last = chunk[0].position, chunk[-1].position
        if not any(self._bought[first : last + 1]):
            return {}  # nobody else samples for this run
        stored = await self._patiently(lambda: self._store.samples.get(self._run, first, last))
        return {position: Sampled.decode(body) for position, body in stored.items()}

    async def _write(self) -> None:
        """Stores what comes out, many rows at a time."""
        async for items, counts in self._batches():
            if not await self._patiently(partial(self._store.items.add, self._run, items, counts)):
                raise RunGone

    async def _watch(self) -> None:
        """Another server may have cancelled or deleted the run, while nothing comes out that would be refused."""
        while True:
            await asyncio.sleep(WATCH_EVERY_S)
            if not await self._patiently(lambda: self._store.samples.add(self._run, [])):
                raise RunGone

    async def _patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        """A call of the store; one that cannot be reached is waited for, so that nothing that was got is lost."""
        while True:
            try:
                return await call()
            except StoreUnavailable as error:
                log.warning("%s waits for the store: %s", self._run.id, error)
                await asyncio.sleep(WATCH_EVERY_S)

    async def _batches(self) -> AsyncIterator[tuple[list[NewItem], Counts]]:
        ended = False
        while not ended:
            batch = await self._written.get()
            items: list[NewItem] = []
            counts = Counts()
            until = time.monotonic() + WRITE_EVERY_S
            while batch is not None:
                items += batch[0]
                counts = counts.plus(batch[1])
                if len(items) >= ROWS_A_WRITE:
                    break
                try:
                    async with asyncio.timeout(max(0.0, until - time.monotonic())):
                        batch = await self._written.get()
                except TimeoutError:
                    break
            ended = batch is None
            if items:
                yield items, counts


def _are_long(path: Path | None, rows: int | None) -> bool:
    """Whether the rows of a file are long, or they are one JSON text together."""
    if path is None:
        return False
    with contextlib.suppress(OSError), path.open("rb") as file:  # who reads it tells what is wrong
        size = os.fstat(file.fileno()).st_size
        return size > LONG and (
            size / max(1, rows or 1) > LONG_ROW_BYTES or file.read(64).lstrip(BOM).lstrip()[:1] == b"["
        )
    return False


def _budget(run: Run) -> Budget | None:
    """What is left for a run, after what its stored rows have cost."""
    limits = run.options.get("budget")
    if not isinstance(limits, dict):
        return None
    budget = Budget(limits.get("tokens"), limits.get("dollars"))
    budget.spent_tokens = sum(usage[3] for usage in run.usage.values())
    budget.spent_dollars = run.cost or 0.0
    return budget
