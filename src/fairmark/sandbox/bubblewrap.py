"""The real sandbox: bubblewrap, and inside it a zygote for each profile that forks the runners.

    service ── bubblewrap ── zygote (one a profile) ── runner (one a program and owner)

Zygotes start when the first program needs them, and everything ends with this process, however it ends.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from fairmark.sandbox.base import Outcome, Program
from fairmark.sandbox.probe import prove
from fairmark.sandbox.runners import Runner, RunnerGone
from fairmark.sandbox.seccomp import Unavailable
from fairmark.sandbox.zygotes import CannotIsolate, Profile, Zygote

MAX_ZYGOTES = 6

_NOT_RUN = "Untrusted code is not run without isolation; fairmark doctor says what to do."


class Bubblewrap:
    """Runners in namespaces of their own, with no way out."""

    def __init__(self, find_image: Callable[[str], Path | None]) -> None:
        self._find_image = find_image
        self._zygotes: OrderedDict[Profile, asyncio.Task[Zygote]] = OrderedDict()
        self._is_proven = False

    async def spawn(self, program: Program) -> Runner:
        try:
            zygote = await self._zygote(self._profile(program))
        except (CannotIsolate, Unavailable) as error:
            raise RunnerGone(Outcome(failure="sandbox", details=f"{error} {_NOT_RUN}")) from None
        return await zygote.spawn(program)

    def _profile(self, program: Program) -> Profile:
        image = self._find_image(program.image) if program.image else None
        return Profile(image, program.packages if image or program.image is None else frozenset())

    async def _zygote(self, profile: Profile) -> Zygote:
        """The running zygote of a profile. The first one of all must show that nothing gets out of it."""
        task = self._zygotes.get(profile)
        if task is not None and task.done() and (task.exception() or not task.result().is_alive):
            self._stop_zygote(profile)
            task = None
        if task is None:
            task = self._zygotes[profile] = asyncio.create_task(self._start(profile))
            self._stop_surplus_zygotes(profile)
        self._zygotes.move_to_end(profile)
        return await asyncio.shield(task)

    async def _start(self, profile: Profile) -> Zygote:
        zygote = await Zygote.start(profile)
        if not self._is_proven:
            try:
                await prove(zygote)
            except BaseException:
                zygote.stop()
                raise
            self._is_proven = True
        return zygote

    def _stop_surplus_zygotes(self, wanted: Profile) -> None:
        """Keep the number of zygotes bounded, at the cost of those nobody works with."""
        for profile, task in list(self._zygotes.items()):
            if len(self._zygotes) <= MAX_ZYGOTES:
                return
            if profile != wanted and task.done() and not task.exception() and not task.result().is_busy:
                self._stop_zygote(profile)

    def _stop_zygote(self, profile: Profile) -> None:
        task = self._zygotes.pop(profile)
        if not task.exception():
            task.result().stop()

    async def close(self) -> None:
        for profile, task in list(self._zygotes.items()):
            if task.done():
                self._stop_zygote(profile)
            else:
                task.cancel()
