"""The sandbox of this process, as the settings choose it. It is opened when the first untrusted code is to run."""

import atexit
import os
from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fairmark.sandbox.base import MB, Limits, Outcome, Policy, Program, Sandbox, T, Talk
from fairmark.sandbox.patience import Patience

if TYPE_CHECKING:  # read when they are needed: every import of fairmark comes by here
    from fairmark.settings import Settings

NOT_ISOLATED = "FAIRMARK_SANDBOX=none: graders' code runs with all your rights. Use it for code you trust."


class ChosenSandbox:
    """Opens the real one on first use and hands everything on to it. It may be used from any event loop.

    It ends with the process, and so do its processes: take `SANDBOX`, of which there is one.
    """

    def __init__(self) -> None:
        self._opened: tuple[int, Sandbox] | None = None

    @cached_property
    def policy(self) -> Policy:
        from fairmark.settings import settings

        return policy_of(settings())

    async def run(
        self, program: Program, rows: Sequence[Sequence[Any]], patience: Patience | None = None
    ) -> list[Outcome]:
        from fairmark.work import eventloop

        return await eventloop.on_own_loop(self._run(program, rows, patience))

    async def converse(self, owner: str, conversation: Callable[[Talk], Awaitable[T]]) -> T:
        from fairmark.work import eventloop

        return await eventloop.on_own_loop(self._converse(owner, conversation))

    async def _converse(self, owner: str, conversation: Callable[[Talk], Awaitable[T]]) -> T:
        return await self._open().converse(owner, conversation)

    async def _run(self, program: Program, rows: Sequence[Sequence[Any]], patience: Patience | None) -> list[Outcome]:
        return await self._open().run(program, rows, patience)

    def _open(self) -> Sandbox:
        # A forked child must not use its parent's processes.
        if self._opened is None or self._opened[0] != os.getpid():
            from fairmark.settings import settings

            if self.policy.warning:
                import logging

                logging.getLogger("fairmark").warning(self.policy.warning)
            self._opened = (os.getpid(), open_sandbox(settings()))
        return self._opened[1]


SANDBOX = ChosenSandbox()


def policy_of(settings: "Settings") -> Policy:
    standard = Policy()
    return Policy(
        settings.sandbox_isolation,
        Limits(
            settings.python_timeout_s,
            settings.python_memory_mb * MB,
            settings.python_disk_mb * MB,
            standard.python.cpus,
        ),
        Limits(
            settings.function_timeout_s,
            settings.function_memory_mb * MB,
            settings.function_disk_mb * MB,
            standard.function.cpus,
        ),
        settings.sandbox_timeouts,
        NOT_ISOLATED if settings.sandbox == "none" else None,
    )


def open_sandbox(settings: "Settings") -> Sandbox:
    """The sandbox that the settings name. Must be called on the event loop that it is to live on."""
    from fairmark.sandbox.bubblewrap import Bubblewrap
    from fairmark.sandbox.images import Images
    from fairmark.sandbox.plain import Plain
    from fairmark.sandbox.pool import RunnerPool
    from fairmark.work import eventloop

    find_image = Images(settings.data_folder).find
    backend = Plain(find_image) if settings.sandbox == "none" else Bubblewrap(find_image)
    opened = RunnerPool(policy_of(settings), backend, settings.sandbox_runners or None)
    opener = os.getpid()
    # A forked child inherits this as well, and must not end its parent's processes.
    atexit.register(lambda: eventloop.run(opened.close()) if os.getpid() == opener else None)
    return opened
