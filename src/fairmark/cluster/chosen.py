"""The clusters of this process: opened when the first rows are to go there, let go of when nobody needed them for a
while."""

import asyncio
import os
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from fairmark.cluster.dispatch import Dispatch
from fairmark.cluster.outpost import GradeChunk
from fairmark.context import Context, Elsewhere
from fairmark.errors import ClusterLost, ClusterUnusable
from fairmark.result import Result
from fairmark.row import Row
from fairmark.sandbox.patience import Patience
from fairmark.settings import settings
from fairmark.spec import GraderSpec
from fairmark.work import eventloop

IDLE_S = 60.0
"""After that, the cluster's cores are for others. The next call begins the processes anew."""
TRY_AGAIN_S = 1.0
"""How soon a cluster that was there is looked for again."""
MOST_ACTORS = 10_000


class Machines:
    """One cluster, used from any event loop. Its dispatch lives on the process's own."""

    def __init__(self, address: str, actors: int, grade: GradeChunk) -> None:
        self._address = address
        self._actors = actors
        self._grade = grade
        self._opening: asyncio.Future[Dispatch] | None = None
        self._dispatch: Dispatch | None = None
        self._closing: asyncio.Task[None] | None = None
        self._ending: asyncio.TimerHandle | None = None
        self._inside = 0
        self._was_there = False

    def ahead(self, spec: GraderSpec) -> int:
        return 0 if self._dispatch is None else self._dispatch.ahead(spec)

    async def open(self, again: bool = False) -> None:
        """Raises ClusterUnusable."""
        self._was_there = self._was_there or again
        if not again:
            await eventloop.on_own_loop(self._open_ahead())

    async def _open_ahead(self) -> None:
        if self._dispatch is None:
            await self._open()

    async def grade(self, spec: GraderSpec, rows: Sequence[Row], ctx: Context) -> list[Result | None]:
        """Raises ClusterUnusable and ClusterLost."""
        return await eventloop.on_own_loop(self._grade_there(spec, rows, ctx))

    async def _grade_there(self, spec: GraderSpec, rows: Sequence[Row], ctx: Context) -> list[Result | None]:
        self._inside += 1
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None
        try:
            dispatch = self._dispatch or await self._open_patiently()
            return await dispatch.grade(spec, rows, ctx.owner, ctx.budget, ctx.patience or Patience())
        finally:
            self._inside -= 1
            if not self._inside:
                self._ending = asyncio.get_running_loop().call_later(IDLE_S, self._end)

    async def _open_patiently(self) -> Dispatch:
        """A cluster that was there may come back: it has as long as one has of which nobody answers."""
        until = time.monotonic() + settings().ray_timeout_s
        while True:
            try:
                return await self._open()
            except ClusterUnusable as error:
                if not self._was_there:
                    raise
                if time.monotonic() > until:
                    raise ClusterLost(
                        f"no cluster for {settings().ray_timeout_s:g} s. The last time: {error}"
                    ) from None
            await asyncio.sleep(TRY_AGAIN_S)

    async def _open(self) -> Dispatch:
        """Once, however many ask; who comes after a failure tries again."""
        if self._opening is None:
            self._opening = asyncio.ensure_future(self._start())
            self._opening.add_done_callback(self._opened)
        return await asyncio.shield(self._opening)

    async def _start(self) -> Dispatch:
        from fairmark.cluster.on_ray import aside, start

        starting = aside(partial(start, self._address, self._actors, self._grade))
        posts = await asyncio.wrap_future(starting)
        self._was_there = True
        self._dispatch = Dispatch(posts, settings().ray_timeout_s)
        return self._dispatch

    def _opened(self, opening: "asyncio.Future[Any]") -> None:
        if opening.cancelled() or opening.exception() is not None:
            self._opening = None

    def _end(self) -> None:
        dispatch, self._dispatch, self._opening, self._ending = self._dispatch, None, None, None
        if dispatch is not None:
            self._closing = asyncio.get_running_loop().create_task(dispatch.close())


_machines: dict[tuple[int, str, int], Machines] = {}


def chosen(engine: Any, address: Any, actors: Any, grade: GradeChunk) -> Elsewhere | None:
    """The cluster that a caller names; None where this machine grades. Raises ValueError."""
    if engine in (None, "local"):
        if actors is not None:
            raise ValueError("actors: they are processes of a cluster. Use it with engine='ray'.")
        return None
    if engine != "ray":
        raise ValueError(f"engine: found {engine!r}. Use one of: local, ray.")
    if not isinstance(address, str) or not address:
        raise ValueError(f"address: found {address!r}. It takes 'auto', 'local', or host:port of a Ray cluster.")
    if actors is not None and (
        isinstance(actors, bool) or not isinstance(actors, int) or not 0 < actors <= MOST_ACTORS
    ):
        raise ValueError(f"actors: found {actors!r}. It takes a number from 1 to {MOST_ACTORS:,}.")
    key = (os.getpid(), address, actors or 0)
    if key not in _machines:
        _machines[key] = Machines(address, actors or 0, grade)
    return _machines[key]
