"""The only road from a grader and rows to results. Everything that grades comes through here.

Whatever a kind raises on a row ends on that row's result (`failures`). And here alone is seen to it that no row holds
an event loop which others need (`Context.apart`), and that nothing is waited for beyond a deadline (`deadline_s`).
"""

from collections.abc import AsyncGenerator, AsyncIterable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from time import monotonic, perf_counter, thread_time
from typing import Any, TypeVar

from fairmark import frames
from fairmark.apart import Apart, goes_elsewhere, in_parcels, in_turns, is_heavy, is_worth_sending, note_turn
from fairmark.context import Context, Elsewhere
from fairmark.endpoints.chosen import ChosenEndpoints
from fairmark.errors import TakesLonger, TookTooLong
from fairmark.failures import as_grade
from fairmark.graders import KINDS, Kind, find, rows_at_once, waits
from fairmark.judges.base import Budget, Judge
from fairmark.judges.chosen import ChosenJudge
from fairmark.notebook import watched
from fairmark.parse import Grader
from fairmark.registry.specify import aspecify, specify
from fairmark.result import Grade, Result, Results
from fairmark.row import LongRow, Row, make_row, split_row
from fairmark.sandbox.chosen import SANDBOX
from fairmark.sandbox.patience import Patience
from fairmark.spec import GraderSpec

# Three modules are imported where they are needed, because most callers never need them and they are slow to import:
# fairmark.work.eventloop, by what may wait, fairmark.work.pool, by what may be much, and fairmark.cluster.chosen.

T = TypeVar("T")

CHUNK_ROWS = 256
"""Rows of a pure grader taken together. Chunks grow up to this, so that the first results come at once."""
ROWS_IN_FLIGHT = 2048
"""Rows of a waiting grader on their way at once. What limits requests lies behind it, at the judge and the sandbox;
this is several times that, so that one slow row does not hold the others up."""
CHUNKS_ELSEWHERE = 3
"""Chunks of a pure grader under way where other processes compute them: those have something to do meanwhile."""
DEADLINE_ROWS = 32
"""Rows handed over together where there is a deadline: what is not done by then fails with its neighbours."""
TURN_S = 0.01
"""What a row may take of the processor on an event loop that others need, where its kind cannot tell beforehand."""
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
    engine: str | None = None,
    address: str = "auto",
    actors: int | None = None,
    progress: bool | None = None,
) -> Results:
    """Grade many rows, `{"item": …, "sample": …}` each. One bad row never stops the rest; the order is kept.

    Rows may be a data frame of pandas or polars, too, and the results can be had as one.

    `workers`: how many processes may share the work of a grader that computes. Without it, as many as there are
    cores, once the work has shown to be worth it; 1 keeps everything in this process. `judge`: who is asked in place
    of the configured models. `budget`: what may be spent on models; rows beyond it have status `skipped`.
    `deadline_s`: seconds for the whole call. What is not graded by then is stopped, its processes killed, and has
    status `error` with `unresponsive_reward_error` set. `progress`: whether to show how far it is; None: in notebooks.

    `engine="ray"`: the machines of a Ray cluster grade, the one at `address`; `"local"` starts one here. `actors`: how
    many of its processes; without it, one for each of its cores. Raises ClusterUnusable, or ClusterLost where nobody
    there answers any more.
    """
    graded = grade_stream(
        grader, rows, workers=workers, judge=judge, budget=budget, deadline_s=deadline_s,
        engine=engine, address=address, actors=actors,
    )  # fmt: skip
    return Results(watched(graded, rows, progress))


async def agrade_many(
    grader: Grader,
    rows: Iterable[Any] | AsyncIterable[Any],
    *,
    judge: Judge | None = None,
    budget: Budget | None = None,
    deadline_s: float | None = None,
    engine: str | None = None,
    address: str = "auto",
    actors: int | None = None,
) -> Results:
    """`grade_many` for callers that have an event loop."""
    graded = agrade_stream(
        grader, rows, judge=judge, budget=budget, deadline_s=deadline_s, engine=engine, address=address, actors=actors
    )
    return Results([result async for result in graded])


def grade_stream(
    grader: Grader,
    rows: Iterable[Any],
    *,
    workers: int | None = None,
    judge: Judge | None = None,
    budget: Budget | None = None,
    deadline_s: float | None = None,
    engine: str | None = None,
    address: str = "auto",
    actors: int | None = None,
) -> Iterator[Result]:
    """`grade_many` as a generator: takes rows as it goes, gives results in their order, holds only a few of both."""
    elsewhere = machines(engine, address, actors, judge, workers)
    spec = specify(grader)
    rows = frames.rows_in(rows)
    deadline = read_deadline(deadline_s)
    if elsewhere is not None:
        return _stream_waiting(spec, rows, replace(shared_context(judge, budget), elsewhere=elsewhere), deadline)
    if deadline is not None:
        if not waits(spec):
            return _stream_by(spec, rows, deadline)
        return _stream_waiting(spec, rows, shared_context(judge, budget), deadline)
    return _stream_waiting(spec, rows, context(judge, budget)) if waits(spec) else _stream_pure(spec, rows, workers)


def _stream_waiting(
    spec: GraderSpec, rows: Iterable[Any], ctx: Context, deadline: "Deadline | None" = None
) -> Iterator[Result]:
    from fairmark.work import eventloop

    for results in eventloop.iterate(graded_chunks(spec, rows, ctx, deadline)):
        yield from results


def machines(
    engine: str | None, address: str, actors: int | None, judge: Judge | None = None, workers: int | None = None
) -> Elsewhere | None:
    """The machines that a caller names; None where this one grades. Raises ValueError."""
    if engine is None and actors is None:
        return None
    from fairmark.cluster.chosen import chosen

    elsewhere = chosen(engine, address, actors, grade_chunk)
    if elsewhere is not None and judge is not None:
        raise ValueError(
            "judge: other machines ask the configured models; a judge of the caller's own cannot go there."
        )
    if elsewhere is not None and workers is not None:
        raise ValueError("workers: it counts processes of this machine. With engine='ray' use actors.")
    return elsewhere


def _stream_by(spec: GraderSpec, rows: Iterable[Any], deadline: "Deadline | None", owner: str = "") -> Iterator[Result]:
    """Computed here, but for heavy rows: those are killed at the deadline, and a chunk without any is done by then."""
    for chunk in _growing_chunks(rows):
        readable, unreadable = _read(spec, map(split_row, chunk))
        if deadline is not None and monotonic() >= deadline.at:
            results = [Result(spec, Grade.failed(deadline.failure()), 0.0) for _ in readable]
        elif any(is_heavy(spec, row) for row in readable):
            from fairmark.work import eventloop

            results = []
            for graded in eventloop.iterate(graded_chunks(spec, chunk, shared_context(owner=owner), deadline)):
                results += graded
            unreadable = []  # they were read again
        else:
            results = _finish(grade_rows(spec, readable, CONTEXT))
        yield from _put_back(results, unreadable)


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


def grade_chunk(
    spec: GraderSpec,
    rows: Sequence[Any],
    owner: str = "",
    budget: Budget | None = None,
    patience: Patience | None = None,
    deadline_s: float | None = None,
) -> list[Result]:
    """Rows that another machine sent here. Several calls, of different owners, may be under way in one process."""
    deadline = read_deadline(deadline_s)
    if not waits(spec):
        return list(_stream_by(spec, rows, deadline, owner))
    return list(_stream_waiting(spec, rows, replace(shared_context(None, budget, owner), patience=patience), deadline))


async def agrade_stream(
    grader: Grader,
    rows: Iterable[Any] | AsyncIterable[Any],
    *,
    judge: Judge | None = None,
    budget: Budget | None = None,
    deadline_s: float | None = None,
    engine: str | None = None,
    address: str = "auto",
    actors: int | None = None,
) -> AsyncGenerator[Result, None]:
    """`grade_stream` for callers that have an event loop, which stays free for what else they do on it.

    Rows may come from an asynchronous iterator too.
    """
    elsewhere = machines(engine, address, actors, judge)
    spec = await aspecify(grader)
    rows = frames.rows_in(rows)
    ctx = shared_context(judge, budget)
    if elsewhere is not None:
        ctx = replace(ctx, elsewhere=elsewhere)
    graded = graded_chunks(spec, rows, ctx, read_deadline(deadline_s))
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

    @property
    def for_code(self) -> float:
        """A little sooner, so that the rows which users' code has graded by then can still be handed over."""
        return self.at - min(0.1, 0.05 * self.seconds)

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

    For event loops: rows that wait for something are under way together, those that are computed here come one after
    another.
    """
    from fairmark.work import eventloop

    if deadline is not None:
        ctx = replace(ctx, patience=Patience(deadline.for_code))
    elif ctx.patience is None:
        ctx = replace(ctx, patience=Patience())

    async def grade_one(chunk: list[Any]) -> list[Result]:
        grading = grade_parts(spec, map(split_row, chunk), ctx)
        if deadline is None:
            return await grading
        try:
            return await eventloop.until(deadline.at, grading)
        except TimeoutError:
            return [Result(spec, Grade.failed(deadline.failure()), 0.0) for _ in chunk]

    elsewhere = ctx.elsewhere
    if elsewhere is not None:
        size = CHUNK_ROWS if deadline is None else DEADLINE_ROWS

        def under_way() -> int:
            return max(4, elsewhere.ahead(spec) // size)

        return eventloop.in_order(grade_one, eventloop.chunks(rows, size, growing=True), under_way)
    if not waits(spec):
        size = CHUNK_ROWS if deadline is None else DEADLINE_ROWS

        def at_once() -> int:
            return CHUNKS_ELSEWHERE if goes_elsewhere(spec) else 1

        return eventloop.in_order(grade_one, eventloop.chunks(rows, size, growing=True), at_once)
    size = rows_at_once(spec) if deadline is None else min(rows_at_once(spec), DEADLINE_ROWS)
    return eventloop.in_order(grade_one, eventloop.chunks(rows, size), max(4, ROWS_IN_FLIGHT // size))


async def grade_rows(spec: GraderSpec, rows: Sequence[Row], ctx: Context) -> list[Result]:
    """Grade rows that are already read. The order is kept, and nothing is raised for what a row does."""
    if ctx.elsewhere is not None:
        return await _grade_on_others(spec, rows, ctx, ctx.elsewhere)
    kind = KINDS.get(spec.type) or find(spec.type)
    if ctx.apart is not None:
        return await _grade_beside_others(spec, rows, ctx, ctx.apart)
    if kind.pure is not None and (kind.waits is None or not kind.waits(spec)):
        return _grade_pure(kind.pure, spec, rows, ctx)
    return await _grade_batch(kind, spec, rows, ctx)


async def _grade_on_others(spec: GraderSpec, rows: Sequence[Row], ctx: Context, elsewhere: Elsewhere) -> list[Result]:
    """`grade_rows` by other machines, but for what cannot go there."""
    graded = await elsewhere.grade(spec, rows, ctx)
    left = [index for index, result in enumerate(graded) if result is None]
    if left:
        here = await grade_rows(spec, [rows[index] for index in left], replace(ctx, elsewhere=None))
        for index, result in zip(left, here, strict=True):
            graded[index] = result
    return [result for result in graded if result is not None]


async def _grade_batch(kind: Kind, spec: GraderSpec, rows: Sequence[Row], ctx: Context) -> list[Result]:
    started = perf_counter()
    assert kind.batch is not None  # noqa: S101  # a kind that waits has one
    try:
        grades = await kind.batch(spec, rows, ctx)
    except Exception as error:
        grades = [as_grade(error)] * len(rows)
    seconds = (perf_counter() - started) / max(1, len(rows))
    return [
        Result(spec, grade, seconds if grade.seconds is None else grade.seconds, row.warnings)
        for grade, row in zip(grades, rows, strict=True)
    ]


def _grade_pure(function: Any, spec: GraderSpec, rows: Sequence[Row], ctx: Context) -> list[Result]:
    results = []
    started = perf_counter()
    slow: TakesLonger | None = None
    for row in rows:
        try:
            if slow is not None or row.takes_longer:  # its turn is over, here or by another grader of the same rows
                raise slow or TakesLonger
            grade = function(spec, row, ctx)
        except TakesLonger as error:
            slow = error if ctx.turn_s is not None else None
            row.takes_longer = slow is not None
            grade = Grade.failed(error)
        except Exception as error:
            grade = as_grade(error)
        ended = perf_counter()
        results.append(Result(spec, grade, ended - started, row.warnings))
        started = ended
    return results


async def _grade_beside_others(spec: GraderSpec, rows: Sequence[Row], ctx: Context, apart: Apart) -> list[Result]:
    """`grade_rows` on an event loop that others need too: heavy rows go elsewhere, the others take turns with them."""
    from fairmark.work import eventloop

    if waits(spec):  # its children, if any, come by here
        kind = find(spec.type)
        if kind.reads_items and not spec.children:
            await eventloop.aside([row.read for row in rows if type(row) is LongRow])
        return await _grade_batch(kind, spec, rows, ctx)

    if is_worth_sending(spec, rows):
        parcels = [_grade_elsewhere(spec, parcel, heavy, ctx, apart) for parcel, heavy in in_parcels(spec, rows)]
        return [result for graded in await eventloop.together(parcels) for result in graded]
    return await _grade_in_turns(spec, rows, ctx, apart)


async def _grade_elsewhere(
    spec: GraderSpec, rows: Sequence[Row], heavy: bool, ctx: Context, apart: Apart
) -> list[Result]:
    if heavy:
        return await apart.grade(spec, rows)
    results = await apart.grade_parcel(spec, rows)
    return await _grade_in_turns(spec, rows, ctx, apart) if results is None else results


async def _grade_in_turns(spec: GraderSpec, rows: Sequence[Row], ctx: Context, apart: Apart) -> list[Result]:
    from fairmark.work import eventloop

    here = replace(ctx, apart=None, turn_s=TURN_S)
    results: list[Result] = []
    for turn, heavy in in_turns(spec, rows):
        if heavy:
            results += await apart.grade(spec, turn)
            continue
        began = thread_time()
        graded = await grade_rows(spec, turn, here)
        note_turn(spec, turn, thread_time() - began)
        results += await _grade_slow_ones(spec, turn, graded, apart)
        if len(results) < len(rows):
            await eventloop.give_way()
    return results


async def _grade_slow_ones(spec: GraderSpec, turn: Sequence[Row], graded: list[Result], apart: Apart) -> list[Result]:
    """The results of a turn, where rows that took longer than theirs are graded again elsewhere."""
    slow = [index for index, row in enumerate(turn) if row.takes_longer]
    if not slow:
        return graded
    for index in slow:
        turn[index].takes_longer = False
    for index, result in zip(slow, await apart.grade(spec, [turn[index] for index in slow]), strict=True):
        graded[index] = result
    return graded


async def grade_parts(spec: GraderSpec, parts: Iterable[tuple[Any, Any]], ctx: Context) -> list[Result]:
    """Grade (item, sample) pairs as callers give them. A pair that is no row fails alone."""
    rows, unreadable = _read(spec, parts)
    return _put_back(await grade_rows(spec, rows, ctx), unreadable)


def _read(spec: GraderSpec, parts: Iterable[tuple[Any, Any]]) -> tuple[list[Row], list[tuple[int, Result]]]:
    """The rows, and the results of those that are none, with their places."""
    rows: list[Row] = []
    unreadable: list[tuple[int, Result]] = []
    pairs = iter(parts)
    while True:
        try:
            item, sample = next(pairs)
            rows.append(make_row(item, sample))
        except StopIteration:
            return rows, unreadable
        except Exception as error:
            unreadable.append((len(rows) + len(unreadable), Result(spec, as_grade(error), 0.0)))


def _put_back(results: list[Result], unreadable: list[tuple[int, Result]]) -> list[Result]:
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
