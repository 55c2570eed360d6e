"""Works runs off in the background. What is stored is never done again, and what is done is stored soon.

A run is claimed, its rows go through in chunks, and what comes out is written in batches, each in one transaction with
the run's counters. Whatever ends the process, the next one claims the run again and goes on with the rows that are not
in the store.
"""

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from fairmark import jsontext
from fairmark.errors import GradingFailed, InvalidSource
from fairmark.evals.criteria import Criterion, Outcome, broken_result, load_criteria, row_outcome
from fairmark.evals.flight import Flight
from fairmark.evals.item import encode_item, given_sample, made_sample
from fairmark.evals.sampling import Sampled, sample_rows, with_speech
from fairmark.evals.source import Source, SourceRow, find_file, open_source
from fairmark.graders import paid, rows_at_once, waits
from fairmark.judgement import Judgement, Usage
from fairmark.judges.base import Budget, Judge
from fairmark.result import Result
from fairmark.row import Row, make_row
from fairmark.run import grade_rows, shared_context
from fairmark.settings import settings
from fairmark.store import Counts, CriterionScore, NewItem, Run, Store, StoreUnavailable, hash_item

RUNS_A_PROJECT = 32
"""How many runs of one project are worked on at once. Those that only wait for models are not counted."""
STILL_S = 5.0
"""A run of which nothing was graded for so long only waits."""
SOURCE_BYTES_A_PROJECT = 128_000_000
"""How much of rows that were sent along with a run is held for one project, before its next run begins."""
ROWS_A_WRITE = 1000
WRITE_EVERY_S = 0.1
KEEP_EVERY_S = 0.02
UNSTORED_AT_MOST = 64
"""How many of a run's samples may have arrived and not be stored, besides what is under way at once: whoever dies now
has paid for so many in vain."""
LOOK_EVERY_S = 1.0
"""How often a run that another server created, or left behind, is looked for."""

ROWS_A_LOOK = 1000
"""How many rows that are done already are passed by at once."""

T = TypeVar("T")

Graded = Callable[[Sequence[Result]], None]
"""Told of all that was graded, as it is; for metrics."""

log = logging.getLogger("fairmark.runs")


class Engine:
    """Works off the runs in a store. Lives on the server's event loop."""

    def __init__(self, store: Store, judge: Judge | None = None, graded: Graded = lambda results: None) -> None:
        self._store = store
        self._judge = judge
        self._graded = graded
        self._news = asyncio.Event()
        self._working: dict[str, tuple[Run, asyncio.Task[None]]] = {}
        self._pump: asyncio.Task[None] | None = None
        self._moved_at: dict[str, float] = {}
        """When something of a run was graded last, or it was begun."""
        self._flight = Flight()

    @property
    def has_own_judge(self) -> bool:
        """Whether it asks another judge than the one that the settings configure."""
        return self._judge is not None

    async def start(self) -> None:
        self._pump = asyncio.create_task(self._find_work())

    async def stop(self) -> None:
        """Leaves every run where it stands; the next start goes on with it."""
        tasks = [task for _, task in self._working.values()]
        tasks += [self._pump] if self._pump is not None else []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def wake(self) -> None:
        """There is a new run."""
        self._news.set()

    def cancel(self, id_: str) -> None:
        """The run of this id, or every run of the eval of this id, was cancelled or deleted in the store: nothing more
        is done for it."""
        for run, task in list(self._working.values()):
            if id_ in (run.id, run.eval_id):
                task.cancel()

    async def _find_work(self) -> None:
        while True:
            try:
                while (run := await self._store.runs.claim(self._busy_projects())) is not None:
                    self._moved_at[run.id] = time.monotonic()
                    self._working[run.id] = (run, asyncio.create_task(self._work_off(run), name=run.id))
            except StoreUnavailable as error:
                log.warning("the store cannot be reached: %s", error)
            except Exception:  # whatever it was, the next runs need somebody who looks for them
                log.exception("runs could not be looked for")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY_S):
                    await self._news.wait()
            self._news.clear()

    def _busy_projects(self) -> set[str]:
        """Those that begin no other run for now. A project that has none begins one whatever the others have."""
        moving: Counter[str] = Counter()
        sizes: Counter[str] = Counter()
        still_since = time.monotonic() - STILL_S
        for run, _ in self._working.values():
            moving[run.project] += self._moved_at[run.id] > still_since
            sizes[run.project] += len(run.data_source)
        if len(self._working) >= settings().runs_at_once:
            return set(sizes)
        return {
            project
            for project in sizes
            if moving[project] >= RUNS_A_PROJECT or sizes[project] >= SOURCE_BYTES_A_PROJECT
        }

    def _note(self, run: Run, results: Sequence[Result]) -> None:
        self._moved_at[run.id] = time.monotonic()
        self._graded(results)

    async def _work_off(self, run: Run) -> None:
        try:
            while True:
                try:
                    await self._work(run)
                    return
                except StoreUnavailable as error:
                    log.warning("%s waits for the store: %s", run.id, error)
                    await asyncio.sleep(LOOK_EVERY_S)
        finally:
            with contextlib.suppress(StoreUnavailable):
                await asyncio.shield(self._store.runs.release(run))
            del self._working[run.id], self._moved_at[run.id]
            self._news.set()

    async def _work(self, run: Run) -> None:
        error: dict[str, str] | None = None
        try:
            if not await self._store.runs.start(run):
                return
            await (await _Work.begin(self._store, run, self._judge, partial(self._note, run), self._flight)).do()
        except StoreUnavailable:
            raise
        except InvalidSource as failure:
            error = {"code": failure.code, "message": str(failure)}
        except _Gone:
            return
        except Exception as failure:
            log.exception("%s could not be worked off", run.id)
            error = {"code": "internal_error", "message": f"{type(failure).__name__}: {failure}"}
        await self._store.runs.finish(run, "completed" if error is None else "failed", error)


class _Gone(Exception):  # a message between two methods, not an error
    """The run was cancelled or deleted while it was worked off."""


class _Work:
    """One run being worked off."""

    def __init__(
        self,
        store: Store,
        run: Run,
        source: Source,
        criteria: Sequence[Criterion],
        done: bytearray,
        judge: Judge | None,
        graded: Graded,
        flight: Flight,
    ) -> None:
        self._flight = flight
        self._store = store
        self._graded = graded
        self._run = run
        self._source = source
        self._criteria = criteria
        self._done = done
        self._context = shared_context(judge, _budget(run), run.project)
        self._chunk_rows = 64
        self._to_keep: list[tuple[int, bytes]] = []
        self._keeping: asyncio.Task[None] | None = None
        self._storing = asyncio.Lock()
        self._bought = bytearray()
        # Held from before a question until its answer is in the store: questions wait when storing falls behind.
        self._unstored = asyncio.Semaphore(settings().judge_concurrency + UNSTORED_AT_MOST)
        self._written: asyncio.Queue[tuple[list[NewItem], Counts] | None] = asyncio.Queue(maxsize=16)
        deadline_s = run.options.get("deadline_s")
        self._ends_at = None if deadline_s is None else run.created_at + deadline_s

    @classmethod
    async def begin(cls, store: Store, run: Run, judge: Judge | None, graded: Graded, flight: Flight) -> "_Work":
        eval_ = await store.evals.get(run.project, run.eval_id)
        now = await store.runs.get(run.project, run.eval_id, run.id)  # with what has been spent since it was claimed
        if eval_ is None or now is None:
            raise _Gone
        given = jsontext.decode(now.data_source)
        file = await find_file(store, run.project, given)
        done = await store.items.done(now)
        criteria = load_criteria(now.criteria or eval_.criteria)
        return cls(store, now, open_source(given, file), criteria, done, judge, graded, flight)

    async def do(self) -> None:
        """All rows that are not in the store yet. Raises _Gone where the run is taken away meanwhile."""
        if self._source.sampling is not None:
            self._bought = await self._store.samples.indexes(self._run)
            await self._count_bought()
        try:
            async with asyncio.TaskGroup() as tasks:
                watching = tasks.create_task(self._watch())
                writing = tasks.create_task(self._write())
                writing.add_done_callback(lambda _: watching.cancel())
                if self._source.sampling is None and not any(each.spec and waits(each.spec) for each in self._criteria):
                    await self._compute()
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
                    budget.spend(Usage(*sampled.usage), sampled.cost)

    async def _compute(self) -> None:
        """Graders that compute: chunk after chunk. The road of a grade sees to it that others have their turn."""
        for chunk in self._chunks():
            if chunk:
                await self._written.put(await self._grade(chunk))
            await asyncio.sleep(0)

    async def _wait(self, tasks: asyncio.TaskGroup) -> None:
        """Graders and models that wait: many chunks under way at once.

        Where a model is asked, a chunk is a row: one that hangs must not keep from the store what others have cost.
        """
        sizes = [rows_at_once(each.spec) for each in self._criteria if each.spec and waits(each.spec)]
        asks = self._source.sampling is not None or any(paid(each.spec) for each in self._criteria if each.spec)
        self._chunk_rows = 1 if asks else min(sizes)
        share = self._flight.share(self._run.project, self._chunk_rows)
        running: set[asyncio.Task[None]] = set()
        for chunk in self._chunks():
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
        batch = _Batch(self._run, self._criteria)
        reason = f"not graded: the run's deadline of {self._run.options['deadline_s']:g} s has passed."
        how = self._source.sampling
        samples = await self._stored_samples(chunk) if how is not None else {}
        for row in chunk:
            sampled = samples.get(row.position)
            if sampled is None or how is None:
                shown = given_sample(row.sample)
            else:  # what was paid for is counted, and shown
                batch.count_sampled(how.model, sampled)
                shown = made_sample(sampled, how)
            batch.leave_out(row, reason, "skip", shown)
        return batch.items, batch.counts

    async def _sample_and_grade(self, chunk: list[SourceRow]) -> tuple[list[NewItem], Counts]:
        batch = _Batch(self._run, self._criteria)
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
                given: Any = sampled.sample
            else:
                given = with_speech(source.sample) if isinstance(source.sample, dict) else source.sample
                shown = {}
            try:
                row = make_row(source.item, given)
            except GradingFailed as failure:
                batch.leave_out(source, str(failure), "error", shown or given_sample(given))
                continue
            rows.append((source, row, shown or given_sample(given)))
        read = [row for _, row, _ in rows]
        graded = await asyncio.gather(*(self._by(criterion, read) for criterion in self._criteria))
        for index, (source, _, shown) in enumerate(rows):
            batch.add(source, [None if results is None else results[index] for results in graded], shown)
        return batch.items, batch.counts

    async def _by(self, criterion: Criterion, rows: Sequence[Row]) -> list[Result] | None:
        if criterion.spec is None:
            return None
        # Each criterion notes its warnings on rows of its own.
        own = [Row(row.item, row.sample) for row in rows]
        results = await grade_rows(criterion.spec, own, self._context)
        self._graded(results)
        return results

    async def _samples(self, chunk: list[SourceRow]) -> dict[int, Sampled]:
        """The rows' samples: those in the store, and the others asked for and stored before anybody grades them."""
        how = self._source.sampling
        assert how is not None  # noqa: S101  # only called where there is one
        found = await self._stored_samples(chunk)
        missing = [row for row in chunk if row.position not in found]
        if not missing:
            return found
        async with self._unstored:
            made = await sample_rows(how, missing, self._context.judge, self._context.budget)
            fresh = {row.position: sampled for row, sampled in zip(missing, made, strict=True)}
            await self._keep([(position, each.encode()) for position, each in fresh.items() if each.skipped is None])
        return found | fresh

    async def _keep(self, samples: list[tuple[int, bytes]]) -> None:
        """Returns when the samples are in the store. Those that come together are written together."""
        if not samples:
            return
        self._to_keep += samples
        if self._keeping is None or self._keeping.done():
            self._keeping = asyncio.create_task(self._keep_all())
        await asyncio.shield(self._keeping)

    async def _keep_all(self) -> None:
        await asyncio.sleep(KEEP_EVERY_S)
        async with self._storing:  # what comes while others are written is the next to be written
            samples, self._to_keep, self._keeping = self._to_keep, [], None
            if not await self._patiently(lambda: self._store.samples.add(self._run, samples)):
                raise _Gone
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
                raise _Gone

    async def _watch(self) -> None:
        """Another server may have cancelled or deleted the run, while nothing comes out that would be refused."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            if not await self._patiently(lambda: self._store.samples.add(self._run, [])):
                raise _Gone

    async def _patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        """A call of the store; one that cannot be reached is waited for, so that nothing that was got is lost."""
        while True:
            try:
                return await call()
            except StoreUnavailable as error:
                log.warning("%s waits for the store: %s", self._run.id, error)
                await asyncio.sleep(LOOK_EVERY_S)

    async def _batches(self) -> AsyncIterator[tuple[list[NewItem], Counts]]:
        ended = False
        while not ended:
            found = await self._written.get()
            items: list[NewItem] = []
            counts = Counts()
            until = time.monotonic() + WRITE_EVERY_S
            while found is not None:
                items += found[0]
                counts = counts.plus(found[1])
                if len(items) >= ROWS_A_WRITE:
                    break
                try:
                    async with asyncio.timeout(max(0.0, until - time.monotonic())):
                        found = await self._written.get()
                except TimeoutError:
                    break
            ended = found is None
            if items:
                yield items, counts


class _Batch:
    """Items to be stored, and what they add to the run's counters."""

    def __init__(self, run: Run, criteria: Sequence[Criterion]) -> None:
        self._run = run
        self._criteria = criteria
        self._now = int(time.time())
        self.items: list[NewItem] = []
        self.counts = Counts()

    def add(self, row: SourceRow, results: Sequence[Result | None], sample: dict[str, Any]) -> None:
        outcomes: list[Outcome] = []
        shown = []
        for criterion, result in zip(self._criteria, results, strict=True):
            if result is None:
                outcomes.append("fail")
                shown.append(broken_result(criterion))
                continue
            outcomes.append(criterion.outcome(result))
            shown.append(criterion.wire(result))
            for judgement in result.judgements:
                self._count_judged(judgement)
        self._store(row, outcomes, shown, sample)

    def leave_out(self, row: SourceRow, reason: str, outcome: Outcome, sample: dict[str, Any]) -> None:
        """A row that no criterion saw."""
        shown = [criterion.failed(reason, outcome) for criterion in self._criteria]
        self._store(row, [outcome] * len(self._criteria), shown, sample)

    def count_sampled(self, model: str, sampled: Sampled) -> None:
        if sampled.attempts and sampled.usage:
            name = sampled.reply.get("model")
            self.counts.spend(name if isinstance(name, str) and name else model, sampled.usage, sampled.cost)

    def _count_judged(self, judgement: Judgement) -> None:
        if judgement.attempts:
            self.counts.spend(judgement.name, judgement.usage, judgement.cost)

    def _store(
        self, row: SourceRow, outcomes: Sequence[Outcome], shown: list[dict[str, Any]], sample: dict[str, Any]
    ) -> None:
        whole = row_outcome(outcomes)
        self.counts.count(whole, {each.id: outcome for each, outcome in zip(self._criteria, outcomes, strict=True)})
        body = encode_item(self._run.eval_id, self._run.id, self._now, row, whole, shown, sample)
        scores = tuple(
            CriterionScore(outcome, _counted(each, outcome)) for outcome, each in zip(outcomes, shown, strict=True)
        )
        reasons = tuple(each["error"] or "" for each in shown if each["status"] == "error")
        warnings = tuple(warning for each in shown for warning in each["warnings"])
        self.items.append(NewItem(row.position, whole, body, scores, hash_item(row.item), reasons, warnings))


def _counted(result: dict[str, Any], outcome: Outcome) -> float:
    """The score as it is sorted and averaged: what was not graded has none."""
    return result["score"] if outcome in ("pass", "fail") else 0.0


def _budget(run: Run) -> Budget | None:
    """What is left for a run, after what its stored rows have cost."""
    given = run.options.get("budget")
    if not isinstance(given, dict):
        return None
    budget = Budget(given.get("tokens"), given.get("dollars"))
    budget.spent_tokens = sum(usage[3] for usage in run.usage.values())
    budget.spent_dollars = run.cost or 0.0
    return budget
