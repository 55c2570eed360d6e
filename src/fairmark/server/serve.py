"""The server as a whole: its sockets, the store, the engine, and a graceful end."""

import asyncio
import gc
import logging
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairmark.endpoints.chosen import only_listed
from fairmark.errors import CannotServe
from fairmark.evals.engine import Engine
from fairmark.sandbox.catalogue import BASE_TAG, DEFAULT_TAG, KNOWN
from fairmark.sandbox.images import Images
from fairmark.server.app import build
from fairmark.serving import log
from fairmark.serving.metrics import Metrics
from fairmark.serving.process import Server, bind, config, on_loopback, url_of
from fairmark.serving.wire import State
from fairmark.settings import Settings
from fairmark.store import Store, StoreUnavailable, contents

SWEEP_EVERY_S = 3600.0


def serve(host: str, port: int, given: Settings, level: log.Level, tell: Callable[[str], None]) -> None:
    """Serve until a signal says stop. `tell` gets what a person should read. Raises CannotServe or InvalidDatabase."""
    sockets = bind(host, port)
    log.set_up(level)
    try:
        _run(_serve(sockets, given, tell))
    finally:
        for each in sockets:
            each.close()


def _run(coroutine: Any) -> None:
    try:
        import uvloop
    except ImportError:
        asyncio.run(coroutine)
        return
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(coroutine)


async def _serve(sockets: list[socket.socket], given: Settings, tell: Callable[[str], None]) -> None:
    home = given.data_folder
    try:
        store = await Store.open(given.db or None, home)
    except StoreUnavailable as error:
        raise CannotServe(str(error)) from None
    try:
        is_local = on_loopback(sockets)
        has_keys = await store.keys.any()
        if not is_local and not has_keys:
            raise CannotServe(
                f"{sockets[0].getsockname()[0]}: others can reach this address, and there is no key yet. Make one with "
                "fairmark keys create, or serve on 127.0.0.1."
            )
        only_listed()  # no request shall make us ask an address of its own choosing
        await asyncio.to_thread(contents.sweep, store.files.folder)
        metrics = Metrics()
        engine = Engine(store, graded=metrics.graded)
        state = State(store, engine, given, metrics)
        server = Server(config(build(state, is_local), given.request_timeout_s))
        server.stopping = state.stopping
        await engine.start()
        keeper = asyncio.create_task(_keep_house(store))
        try:
            url = url_of(sockets[0])
            lacking = await asyncio.to_thread(what_graders_lack, home)

            def greet() -> None:
                tell(f"Fairmark serves on {url}")
                if not has_keys:
                    tell("There are no keys: every program on this machine may use it. fairmark keys create makes one.")
                if lacking:
                    tell(lacking)
                log.event(logging.INFO, "started", url=url, keys=has_keys)
                gc.freeze()  # what is there now stays: nobody need look through it again

            server.on_start = greet
            await server.serve(sockets)
        finally:
            keeper.cancel()
            await engine.stop()
            log.event(logging.INFO, "stopped")
    finally:
        await store.close()


def what_graders_lack(home: Path) -> str | None:
    """What to tell whoever starts a server whose python graders find no package to import."""
    if Images(home).find(DEFAULT_TAG):
        return None
    base = KNOWN[BASE_TAG]
    return f"python graders have the standard library only: {base.install} adds {', '.join(base.modules.values())}."


async def _keep_house(store: Store) -> None:
    """Frees the disk of expired files and sessions, and of what was deleted long ago, now and then."""
    while True:
        try:
            await store.files.delete_expired()
            await store.sessions.delete_expired()
            await store.positions.forget()
        except StoreUnavailable as error:
            log.event(logging.WARNING, "expired files and sessions are still there", reason=str(error))
        await asyncio.sleep(SWEEP_EVERY_S)
