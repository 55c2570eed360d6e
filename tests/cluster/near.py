"""A cluster without other machines: real outposts in this process, which are lost when a test says so."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any

from fairmark.cluster.dispatch import Dispatch, Lost
from fairmark.cluster.orders import Answer, Order, read_order
from fairmark.cluster.outpost import Outpost
from fairmark.context import Context
from fairmark.parse import parse
from fairmark.result import Result
from fairmark.row import Row, make_row
from fairmark.run import grade_chunk
from fairmark.sandbox.patience import Patience
from fairmark.spec import GraderSpec
from fairmark.work import pool

EXACT = parse({"type": "string_check", "input": "{{sample.output_text}}", "reference": "{{item.r}}", "operation": "eq"})


def outpost(**told: Any) -> Outpost:
    made = Outpost(grade_chunk, told)
    pool._cores = None  # this process goes on with all it has
    return made


class NearPost:
    """`before`: called with each order, before it is graded; may raise Lost."""

    def __init__(self, before: Callable[[Order], None] = lambda order: None, **hello: Any) -> None:
        self.outpost = outpost()
        self.before = before
        self.orders: list[Order] = []
        self.at_once = self.most_at_once = 0
        self.held = asyncio.Event()
        self.held.set()
        self.answers_hello = asyncio.Event()
        self.answers_hello.set()
        self.gives_signs = True
        self.ended = self.closed = self.hellos = 0
        self._hello = hello

    async def hello(self) -> Mapping[str, Any]:
        self.hellos += 1
        await self.answers_hello.wait()
        return {"version": "0.1.0", "host": "near", "no_sandbox": None, **self._hello}

    async def grade(self, order: bytes) -> bytes | Answer:
        read = read_order(order)
        self.orders.append(read)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await self.held.wait()
            self.before(read)
            return await asyncio.to_thread(self.outpost.grade, order)
        finally:
            self.at_once -= 1

    async def sign(self) -> object:
        if not self.gives_signs:
            await asyncio.Event().wait()
        return True

    def end(self) -> None:
        self.ended += 1

    def close(self) -> None:
        self.closed += 1


def lose(*_: Any) -> None:
    raise Lost("it was killed")


def rows(count: int) -> list[Row]:
    """Every third is wrong."""
    return [make_row({"r": str(number)}, "wrong" if number % 3 == 2 else str(number)) for number in range(count)]


@asynccontextmanager
async def dispatch(*posts: NearPost, timeout_s: float = 60.0) -> AsyncIterator[Dispatch]:
    made = Dispatch(posts, timeout_s)
    try:
        async with asyncio.timeout(120):
            yield made
    finally:
        await made.close()


async def grade(
    made: Dispatch, given: Sequence[Row], owner: str = "", spec: Any = EXACT, **more: Any
) -> list[Result | None]:
    return await made.grade(spec, given, owner, more.get("budget"), more.get("patience") or Patience())


def rewards(results: Sequence[Result | None]) -> list[float]:
    return [result.reward for result in results if result is not None]


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.005)


def on_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that is a coroutine."""

    @wraps(test)
    def run(*fixtures: Any, **named: Any) -> None:
        asyncio.run(test(*fixtures, **named))

    return run


class NearMachines:
    """What a context has as `elsewhere`."""

    def __init__(self, made: Dispatch) -> None:
        self._made = made

    async def open(self, again: bool = False) -> None: ...

    def ahead(self, spec: GraderSpec) -> int:
        return self._made.ahead(spec)

    async def grade(self, spec: GraderSpec, rows: Sequence[Row], ctx: Context) -> list[Result | None]:
        return await self._made.grade(spec, rows, ctx.owner, ctx.budget, ctx.patience or Patience())
