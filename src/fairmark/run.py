"""The only road from a grader and rows to results. Everything that grades comes through here.

Exceptions become data here and nowhere else: whatever a kind raises on a row ends on that row's result. And here alone
is seen to it that no row holds an event loop which others need (`Context.apart`), and that nothing is waited for beyond
a deadline (`deadline_s`).
"""

from collections.abc import AsyncGenerator, AsyncIterable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from time import monotonic, perf_counter, thread_time
from typing import Any, TypeVar

from fairmark.apart import Apart, in_turns, note_turn
from fairmark.context import Context
from fairmark.endpoints.chosen import ChosenEndpoints
from fairmark.errors import FairmarkError, GradingFailed, NotGraded, TookTooLong
from fairmark.graders import KINDS, Kind, find, rows_at_once, waits
from fairmark.judges.base import Budget, Judge
from fairmark.judges.chosen import ChosenJudge
from fairmark.parse import Grader
from fairmark.registry.specify import aspecify, specify
from fairmark.result import Grade, Result
from fairmark.row import Row, make_row, split_row
from fairmark.sandbox.chosen import SANDBOX
from fairmark.sandbox.patience import Patience
from fairmark.spec import GraderSpec

# Two modules are imported where they are needed, because most callers never need them and they are slow to import:
# fairmark.work.eventloop, by what may wait, and fairmark.work.pool, by what may be much.

T = TypeVar("T")

CHUNK_ROWS = 256
"""Rows of a pure grader taken together. Chunks grow up to this, so that the first results come at once."""
ROWS_IN_FLIGHT = 2048
"""Rows of a waiting grader on their way at once. What limits requests lies behind it, at the judge and the sandbox;
this is several times that, so that one slow row does not hold the others up."""
DEADLINE_ROWS = 32
"""Rows handed over together where there is a deadline: what is not done by then fails with its neighbours."""
LONGEST_S = 31_536_000.0
"""The longest deadline: a year."""


def grade(grader: Grader, sample: Any = None, item: Any = None, *, judge: Judge | None = None) -> Result:
    """Grade one sample. Raises InvalidGrader for a wrong grader; whatever fails later stands on the result.

    `judge`: who is asked in place of the configured models, such as a FakeJudge in tests.
    """
    spec = specify(grader)
    grading = grade_parts(spec, [(item, sample)], context(judge))
    if not waits(spec):
        return _finish(grading)[0]
    from fairmark.work import eventloop

    return eventloop.run(grading)[0]


async def agrade(grader: Grader, sample: Any = None, item: Any = None, *, judge: Judge | None = None) -> Result:
    """`grade` for callers that have an event loop."""
    return (await grade_parts(await aspecify(grader), [(item, sample)], shared_context(judge)))[0]


def grade_many(
    grader: Grader,
    rows: Iterable[Any],
    *,
    workers: int | None = None,
    judge: Judge | None = None,
    budget: Budget | None = None,
    deadline_s: float | None = None,
) -> list[Result]:
    """Grade many rows, `{"item": …, "sample": …}` each. One bad row never stops the rest; the order is kept.

    `workers`: how many processes may share the work of a grader that computes. Without it, as many as there are
    cores, once the work has shown to be worth it; 1 keeps everything in this process. `judge`: who is asked in place
    of the configured models. `budget`: what may be spent on models; rows beyond it have status `skipped`.
    `deadline_s`: seconds for the whole call. What is not graded by then is stopped, its processes killed, and has
    status `error` with `unresponsive_reward_error` set.
    """
    return list(grade_stream(grader, rows, workers=workers, judge=judge, budget=budget, deadline_s=deadline_s))


async def agrade_many(
    grader: Grader,
    rows: Iterable[Any] | AsyncIterable[Any],
    *,
    judge: Judge | None = None,
    budget: Budget | None = None,
    deadline_s: float | None = None,
) -> list[Result]:
    """`grade_many` for callers that have an event loop."""
    graded = agrade_stream(grader, rows, judge=judge, budget=budget, deadline_s=deadline_s)
    return [result async for result in graded]


def grade_stream(
    grader: Grader,
    rows: Iterable[Any],
    *,
    workers: int | None = None,
    judge: Judge | None = None,
    budget: Budget | None = None,
    deadline_s: float | None = None,
) -> Iterator[Result]:
    """`grade_many` as a generator: takes rows as it goes, gives results in their order, holds only a few of both."""
    spec = specify(grader)
    deadline = read_deadline(deadline_s)
    if deadline is not None:
        return _stream_waiting(spec, rows, shared_context(judge, budget), deadline)
    return _stream_waiting(spec, rows, context(judge, budget)) if waits(spec) else _stream_pure(spec, rows, workers)


def _stream_waiting(
    spec: GraderSpec, rows: Iterable[Any], ctx: Context, deadline: "Deadline | None" = None
) -> Iterator[Result]:
    from fairmark.work import eventloop

    for results in eventloop.iterate(graded_chunks(spec, rows, ctx, deadline)):
        yield from results


def _stream_pure(spec: GraderSpec, rows: Iterable[Any], workers: int | None) -> Iterator[Result]:
    from fairmark.work.pool import Pool

    def here(chunk: list[Any]) -> list[Result]:
        return _finish(grade_parts(spec, map(split_row, chunk), CONTEXT))

    chunks = _growing_chunks(rows)
    pool = Pool(spec, workers)
    for chunk in chunks:
        started = perf_counter()
        results = here(chunk)
        pays = pool.pays(len(chunk), perf_counter() - started)
        yield from results
        if pays:
            break
    yield from pool.grade(chunks, here)


async def agrade_stream(
    grader: Grader,
    rows: Iterable[Any] | AsyncIterable[Any],
    *,
    judge: Judge | None = None,
    budget: Budget | None = None,
    deadline_s: float | None = None,
) -> AsyncGenerator[Result, None]:
    """`grade_stream` for callers that have an event loop, which stays free for what else they do on it.

    Rows may come from an asynchronous iterator too.
    """
    spec = await aspecify(grader)
    graded = graded_chunks(spec, rows, shared_context(judge, budget), read_deadline(deadline_s))
    try:
        async for results in graded:
            for result in results:
                yield result
    finally:
        await graded.aclose()


class Deadline:
    """The moment by which a call has to end, on the clock of event loops."""

    __slots__ = ("at", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.at = monotonic() + seconds

    def failure(self) -> TookTooLong:
        return TookTooLong(f"not graded: the deadline of {self.seconds:g} s for the whole call has passed.")


def read_deadline(seconds: Any) -> Deadline | None:
    """The deadline of a call that begins now. Raises ValueError."""
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= LONGEST_S:
        raise ValueError(f"deadline_s: found {seconds!r}. It takes seconds, more than 0.")
    return Deadline(seconds)


def graded_chunks(
    spec: GraderSpec, rows: Iterable[Any] | AsyncIterable[Any], ctx: Context, deadline: Deadline | None = None
) -> AsyncGenerator[list[Result], None]:
    """Results in their order, a list for each chunk of rows that was handed over together.

    For event loops: rows that wait for something are under way together, those that are computed come one after
    another.
    """
    from fairmark.work import eventloop

    ctx = ctx if ctx.patience else replace(ctx, patience=Patience())

    async def grade_chunk(chunk: list[Any]) -> list[Result]:
        grading = grade_parts(spec, map(split_row, chunk), ctx)
        if deadline is None:
            return await grading
        try:
            return await eventloop.until(deadline.at, grading)
        except TimeoutError:
            return [Result(spec, Grade.failed(deadline.failure()), 0.0) for _ in chunk]

    if not waits(spec):
        size = CHUNK_ROWS if deadline is None else DEADLINE_ROWS
        return eventloop.in_order(grade_chunk, eventloop.chunks(rows, size, growing=True), 1)
    size = rows_at_once(spec) if deadline is None else min(rows_at_once(spec), DEADLINE_ROWS)
    return eventloop.in_order(grade_chunk, eventloop.chunks(rows, size), max(4, ROWS_IN_FLIGHT // size))


async def grade_rows(spec: GraderSpec, rows: Sequence[Row], ctx: Context) -> list[Result]:
    """Grade rows that are already read. The order is kept, and nothing is raised for what a row does."""
    kind = KINDS.get(spec.type) or find(spec.type)
    if ctx.apart is not None:
        return await _grade_beside_others(spec, rows, ctx, ctx.apart)
    if kind.pure is not None and (kind.waits is None or not kind.waits(spec)):
        return _grade_pure(kind.pure, spec, rows, ctx)
    return await _grade_batch(kind, spec, rows, ctx)


async def _grade_batch(kind: Kind, spec: GraderSpec, rows: Sequence[Row], ctx: Context) -> list[Result]:
    started = perf_counter()
    assert kind.batch is not None  # noqa: S101  # a kind that waits has one
    try:
        grades = await kind.batch(spec, rows, ctx)
    except Exception as error:
        grades = [_failure(error)] * len(rows)
    each = (perf_counter() - started) / max(1, len(rows))
    return [
        Result(spec, grade, each if grade.seconds is None else grade.seconds, row.warnings)
        for grade, row in zip(grades, rows, strict=True)
    ]


def _grade_pure(function: Any, spec: GraderSpec, rows: Sequence[Row], ctx: Context) -> list[Result]:
    results = []
    started = perf_counter()
    for row in rows:
        try:
            grade = function(spec, row, ctx)
        except Exception as error:
            grade = _failure(error)
        ended = perf_counter()
        results.append(Result(spec, grade, ended - started, row.warnings))
        started = ended
    return results


async def _grade_beside_others(spec: GraderSpec, rows: Sequence[Row], ctx: Context, apart: Apart) -> list[Result]:
    """`grade_rows` on an event loop that others need too: heavy rows go elsewhere, the others take turns with them."""
    if waits(spec):  # its children, if any, come by here
        return await _grade_batch(find(spec.type), spec, rows, ctx)
    from fairmark.work import eventloop

    here = replace(ctx, apart=None)
    results: list[Result] = []
    for turn, is_heavy in in_turns(spec, rows):
        if is_heavy:
            results += await apart.grade(spec, turn)
            continue
        began = thread_time()
        results += await grade_rows(spec, turn, here)
        note_turn(spec, turn, thread_time() - began)
        if len(results) < len(rows):
            await eventloop.give_way()
    return results


def _failure(error: Exception) -> Grade:
    """The one place where an exception becomes data."""
    if isinstance(error, GradingFailed):
        return Grade.failed(error)
    if isinstance(error, NotGraded):
        return Grade(0.0, skipped=str(error))
    if isinstance(error, FairmarkError):  # wrong settings, say: told on every row they keep from being graded
        return Grade.failed(GradingFailed(str(error)))
    if isinstance(error, RecursionError):
        return Grade.failed(GradingFailed("the row is nested too deeply."))
    if isinstance(error, MemoryError):
        return Grade.failed(GradingFailed("the row needs more memory than there is."))
    import logging  # nobody should need it

    logging.getLogger("fairmark").error("a grader broke on a row; please report this", exc_info=error)
    return Grade.failed(GradingFailed(f"internal error: {type(error).__name__}: {error}"))


async def grade_parts(spec: GraderSpec, parts: Iterable[tuple[Any, Any]], ctx: Context) -> list[Result]:
    """Grade (item, sample) pairs as callers give them. A pair that is no row fails alone."""
    rows: list[Row] = []
    unreadable: list[tuple[int, Result]] = []
    pairs = iter(parts)
    while True:
        try:
            item, sample = next(pairs)
            rows.append(make_row(item, sample))
        except StopIteration:
            break
        except Exception as error:
            unreadable.append((len(rows) + len(unreadable), Result(spec, _failure(error), 0.0)))
    results = await grade_rows(spec, rows, ctx)
    for index, result in unreadable:
        results.insert(index, result)
    return results


async def _grade_children(
    children: Mapping[str, GraderSpec], rows: Sequence[Row], ctx: Context
) -> dict[str, list[Result]]:
    if any(map(waits, children.values())):
        from fairmark.work import eventloop

        graded = await eventloop.together(grade_rows(child, rows, ctx) for child in children.values())
    else:
        graded = [await grade_rows(child, rows, ctx) for child in children.values()]
    return dict(zip(children, graded, strict=True))


CONTEXT = Context(grade_children=_grade_children, sandbox=SANDBOX, judge=ChosenJudge(), endpoints=ChosenEndpoints())


def context(judge: Judge | None = None, budget: Budget | None = None, owner: str = "") -> Context:
    """The context with what a caller brings along."""
    if judge is None and budget is None and not owner:
        return CONTEXT
    return replace(
        CONTEXT,
        judge=ChosenJudge(owner) if judge is None else judge,
        endpoints=ChosenEndpoints(owner),
        budget=budget,
        owner=owner,
        patience=Patience(),
    )


def shared_context(judge: Judge | None = None, budget: Budget | None = None, owner: str = "") -> Context:
    """The context for an event loop that others need too: no row holds it for longer than they can wait."""
    return replace(context(judge, budget, owner), apart=Apart(owner))


def _finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """The value of a coroutine that never waits, without an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    coroutine.close()
    raise RuntimeError("a grader that should compute waited for something")


def _growing_chunks(rows: Iterable[T]) -> Iterator[list[T]]:
    iterator = iter(rows)
    size = 1
    while chunk := list(islice(iterator, size)):
        yield chunk
        size = min(2 * size, CHUNK_ROWS)
