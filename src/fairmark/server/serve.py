"""The server as a whole: its sockets, the store, the engine, and a graceful end."""

import asyncio
import gc
import logging
import os
import socket
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from fairmark.endpoints.chosen import only_listed
from fairmark.errors import CannotServe
from fairmark.evals.engine import Engine
from fairmark.evals.journals import take_in
from fairmark.moving.import_requests import listed_keys
from fairmark.run import machines
from fairmark.sandbox.catalogue import BASE_TAG, DEFAULT_TAG, KNOWN
from fairmark.sandbox.images import Images
from fairmark.server.app import build
from fairmark.serving import log
from fairmark.serving.grading import note_graded
from fairmark.serving.limits import KEPT_DAYS
from fairmark.serving.metrics import Metrics
from fairmark.serving.process import Server, bind, config, on_loopback, url_of
from fairmark.serving.siblings import Siblings
from fairmark.serving.telemetry import open_telemetry
from fairmark.serving.wire import State
from fairmark.settings import Settings
from fairmark.store import Store, StoreUnavailable
from fairmark.store.access.limits import today
from fairmark.store.base import contents

SWITCH_S = 0.0005
"""How soon a thread that wants the interpreter has it. A request goes to the store's thread and back some ten times:
with Python's own 5 ms, one beside a project that grades much waited for a fifth of a second."""
SWEEP_EVERY_S = 3600.0
TAKE_IN_EVERY_S = 1.0

T = TypeVar("T")


class BeforeServing(NamedTuple):
    """What is known before a server serves."""

    has_keys: bool
    lacking: str | None
    """What to tell whoever starts a server whose python graders find no package to import."""
    lock: int | None
    """The file that keeps other servers away from a SQLite file, as long as anybody has it open."""


def serve(host: str, port: int, settings: Settings, level: log.Level, tell: Callable[[str], None]) -> None:
    """Serve until a signal says stop. `tell` gets what a person should read. Raises CannotServe, InvalidDatabase
    or InvalidSettings."""
    sockets = bind(host, port)
    log.set_up(level)
    try:
        run_loop(_serve(sockets, settings, tell))
    finally:
        for listener in sockets:
            listener.close()


def run_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    sys.setswitchinterval(SWITCH_S)
    try:
        import uvloop
    except ImportError:
        return asyncio.run(coroutine)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(coroutine)


async def prepare(sockets: list[socket.socket], settings: Settings) -> BeforeServing:
    """Brings the store up to date and looks whether it may be served. Raises as `serve` does."""
    try:
        store = await Store.open(settings.db or None, settings.data_folder)
    except StoreUnavailable as error:
        raise CannotServe(str(error)) from None
    try:
        has_keys = await store.keys.any()
        if not on_loopback(sockets) and not has_keys:
            raise CannotServe(
                f"{sockets[0].getsockname()[0]}: others can reach this address, and there is no key yet. Make one with "
                "fairmark keys create, or serve on 127.0.0.1."
            )
        listed_keys(settings.import_keys)  # what is wrong there is told now
        await asyncio.to_thread(contents.sweep, store.files.folder)
        lacking = await asyncio.to_thread(what_graders_lack, settings.data_folder)
        return BeforeServing(has_keys, lacking, store.keep_lock())
    finally:
        await store.close()


def say_all(prepared: BeforeServing, url: str, tell: Callable[[str], None]) -> None:
    tell(f"Fairmark serves on {url}")
    if not prepared.has_keys:
        tell("There are no keys: every program on this machine may use it. fairmark keys create makes one.")
    if prepared.lacking:
        tell(prepared.lacking)


async def _serve(sockets: list[socket.socket], settings: Settings, tell: Callable[[str], None]) -> None:
    prepared = await prepare(sockets, settings)

    def greet() -> None:
        url = url_of(sockets[0])
        say_all(prepared, url, tell)
        log.event(logging.INFO, "started", url=url, keys=prepared.has_keys)

    try:
        await serve_alone(sockets, settings, greet, Siblings())
    finally:
        if prepared.lock is not None:
            os.close(prepared.lock)
        log.event(logging.INFO, "stopped")


async def serve_alone(
    sockets: list[socket.socket],
    settings: Settings,
    greet: Callable[[], None],
    siblings: Siblings,
    again: bool = False,
) -> None:
    """One process, which serves until a signal says stop. The store is up to date and its lock is held by somebody.

    Of several on a SQLite file the first works off runs, jobs, imports and checks; on PostgreSQL each does. `again`:
    one before it has served, and has died; what was there when that began may be gone for a while.
    """
    store = await Store.open(settings.db or None, settings.data_folder, exclusive=False)
    try:
        only_listed()  # no request shall make us ask an address of its own choosing
        works = siblings.number == 0 or not store.is_sqlite
        metrics = Metrics(open_telemetry(os.environ))
        elsewhere = machines(settings.engine, settings.ray_address, settings.ray_actors or None)
        if elsewhere is not None and works:
            await elsewhere.open(again)
        engine = Engine(store, graded=partial(note_graded, metrics), tell=siblings.tell, elsewhere=elsewhere)
        telemetry = metrics.telemetry
        if telemetry is not None:
            engine.traced = lambda run: telemetry.run(run.id, run.eval_id)
        state = State(store, engine, settings, metrics, siblings=siblings, works=works)
        server = Server(config(build(state, on_loopback(sockets)), settings.request_timeout_s))
        server.stopping = state.stopping
        keepers: list[asyncio.Task[None]] = []
        await state.limits.start()
        if works:
            await engine.start()
            await state.jobs.start()
            await state.imports.start()
            await state.checks.start()
            keepers = [asyncio.create_task(_keep_house(store)), asyncio.create_task(_take_in_evals(store, settings))]

        def started() -> None:
            greet()
            gc.freeze()  # what is there now stays: nobody need look through it again

        server.on_start = started
        try:
            await server.serve(sockets)
        finally:
            for keeper in keepers:
                keeper.cancel()
                await asyncio.gather(keeper, return_exceptions=True)  # who is not heard out complains in the log
            await state.checks.stop()
            await state.imports.stop()
            await state.jobs.stop()
            await engine.stop()
            await state.close()
            if telemetry is not None:
                await asyncio.to_thread(telemetry.close)
    finally:
        await store.close()


def what_graders_lack(home: Path) -> str | None:
    """What to tell whoever starts a server whose python graders find no package to import."""
    if Images(home).find(DEFAULT_TAG):
        return None
    base = KNOWN[BASE_TAG]
    return f"python graders have the standard library only: {base.install} adds {', '.join(base.modules.values())}."


async def _take_in_evals(store: Store, settings: Settings) -> None:
    """What `fairmark eval` leaves on this machine while we run is shown a moment later."""
    while True:
        try:
            await take_in(store, settings.data_folder, settings.db)
        except StoreUnavailable as error:
            log.event(logging.WARNING, "runs of fairmark eval are not taken in", reason=str(error))
        await asyncio.sleep(TAKE_IN_EVERY_S)


async def _keep_house(store: Store) -> None:
    """Frees the disk of what has expired, of what was deleted long ago and what died with a server."""
    while True:
        try:
            await store.files.delete_expired()
            await store.completions.delete_expired()
            await store.sessions.delete_expired()
            await store.positions.forget()
            await store.limits.forget_days(today() - KEPT_DAYS)
            await store.row_files.sweep()
        except StoreUnavailable as error:
            log.event(logging.WARNING, "expired files and sessions are still there", reason=str(error))
        await asyncio.sleep(SWEEP_EVERY_S)
