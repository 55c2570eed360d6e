"""The only road from a grader and rows to results. Everything that grades comes through here.

Exceptions become data here and nowhere else: whatever a kind raises on a row ends on that row's result.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from time import perf_counter
from typing import Any, TypeVar

from fairmark.context import Context
from fairmark.endpoints.chosen import ChosenEndpoints
from fairmark.errors import FairmarkError, GradingFailed, NotGraded
from fairmark.graders import find, rows_at_once, waits
from fairmark.judges.base import Budget, Judge
from fairmark.judges.chosen import ChosenJudge
from fairmark.parse import Grader
from fairmark.registry.specify import aspecify, specify
from fairmark.result import Grade, Result
from fairmark.row import Row, make_row, split_row
from fairmark.sandbox.chosen import ChosenSandbox
from fairmark.spec import GraderSpec

# Two modules are imported where they are needed, because most callers never need them and they are slow to import:
# fairmark.work.eventloop, by what may wait, and fairmark.work.pool, by what may be much.

T = TypeVar("T")

CHUNK_ROWS = 256
"""Rows of a pure grader taken together. Chunks grow up to this, so that the first results come at once."""
ROWS_IN_FLIGHT = 2048
"""Rows of a waiting grader on their way at once. What limits requests lies behind it, at the judge and the sandbox;
this is several times that, so that one slow row does not hold the others up."""


def grade(grader: Grader, sample: Any = "", item: Any = None, *, judge: Judge | None = None) -> Result:
    """Grade one sample. Raises InvalidGrader for a wrong grader; whatever fails later stands on the result.

    `judge`: who is asked in place of the configured models, such as a FakeJudge in tests.
    """
    spec = specify(grader)
    grading = grade_parts(spec, [(item, sample)], context(judge))
    if not waits(spec):
        return _finish(grading)[0]
    from fairmark.work import eventloop

    return eventloop.run(grading)[0]


async def agrade(grader: Grader, sample: Any = "", item: Any = None, *, judge: Judge | None = None) -> Result:
    """`grade` for callers that have an event loop."""
    return (await grade_parts(await aspecify(grader), [(item, sample)], context(judge)))[0]


def grade_many(
    grader: Grader,
    rows: Iterable[Any],
    *,
    workers: int | None = None,
    judge: Judge | None = None,
    budget: Budget | None = None,
) -> list[Result]:
    """Grade many rows, `{"item": …, "sample": …}` each. One bad row never stops the rest; the order is kept.

    `workers`: how many processes may share the work of a grader that computes. Without it, as many as there are
    cores, once the work has shown to be worth it; 1 keeps everything in this process. `judge`: who is asked in place
    of the configured models. `budget`: what may be spent on models; rows beyond it have status `skipped`.
    """
    return list(grade_stream(grader, rows, workers=workers, judge=judge, budget=budget))


async def agrade_many(
    grader: Grader,
    rows: Iterable[Any] | AsyncIterable[Any],
    *,
    judge: Judge | None = None,
    budget: Budget | None = None,
) -> list[Result]:
    """`grade_many` for callers that have an event loop."""
    return [result async for result in agrade_stream(grader, rows, judge=judge, budget=budget)]


def grade_stream(
    grader: Grader,
    rows: Iterable[Any],
    *,
    workers: int | None = None,
    judge: Judge | None = None,
    budget: Budget | None = None,
) -> Iterator[Result]:
    """`grade_many` as a generator: takes rows as it goes, gives results in their order, holds only a few of both."""
    spec = specify(grader)
    return _stream_waiting(spec, rows, context(judge, budget)) if waits(spec) else _stream_pure(spec, rows, workers)


def _stream_waiting(spec: GraderSpec, rows: Iterable[Any], ctx: Context) -> Iterator[Result]:
    from fairmark.work import eventloop

    for results in eventloop.iterate(waiting_chunks(spec, rows, ctx)):
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
) -> AsyncGenerator[Result, None]:
    """`grade_stream` for callers that have an event loop; rows may come from an asynchronous iterator too."""
    from fairmark.work import eventloop

    spec = await aspecify(grader)
    if not waits(spec) and isinstance(rows, Iterable):
        for chunk in _growing_chunks(rows):
            for result in await grade_parts(spec, map(split_row, chunk), CONTEXT):
                yield result
            await eventloop.give_way()
        return

    graded = waiting_chunks(spec, rows, context(judge, budget))
    try:
        async for results in graded:
            for result in results:
                yield result
    finally:
        await graded.aclose()


def waiting_chunks(
    spec: GraderSpec, rows: Iterable[Any] | AsyncIterable[Any], ctx: Context
) -> AsyncGenerator[list[Result], None]:
    """Results in their order, a list for each chunk of rows that was handed over together."""
    from fairmark.work import eventloop

    def start(chunk: list[Any]) -> Coroutine[Any, Any, list[Result]]:
        return grade_parts(spec, map(split_row, chunk), ctx)

    size = rows_at_once(spec)
    return eventloop.in_order(start, eventloop.chunks(rows, size), max(4, ROWS_IN_FLIGHT // size))


async def grade_rows(spec: GraderSpec, rows: Sequence[Row], ctx: Context) -> list[Result]:
    """Grade rows that are already read. The order is kept, and nothing is raised for what a row does."""
    kind = find(spec.type)
    if kind.pure is not None and not kind.waits(spec):
        return _grade_pure(kind.pure, spec, rows, ctx)
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


CONTEXT = Context(
    grade_children=_grade_children, sandbox=ChosenSandbox(), judge=ChosenJudge(), endpoints=ChosenEndpoints()
)


def context(judge: Judge | None = None, budget: Budget | None = None, owner: str = "") -> Context:
    """The context with what a caller brings along."""
    if judge is None and budget is None and not owner:
        return CONTEXT
    return replace(CONTEXT, judge=judge or CONTEXT.judge, budget=budget, owner=owner)


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
