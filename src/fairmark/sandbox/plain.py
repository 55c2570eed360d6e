"""No sandbox at all: a plain process with all the user's rights. For trusted code, and only when asked for by name."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from fairmark.sandbox.base import Program
from fairmark.sandbox.runners import Runner

INSIDE = Path(__file__).with_name("inside")


class Plain:
    """Runners as children of this process. Deadlines hold; nothing else does."""

    def __init__(self, find_image: Callable[[str], Path | None]) -> None:
        self._find_image = find_image

    async def spawn(self, program: Program) -> Runner:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        image = self._find_image(program.image) if program.image else None
        path = [str(INSIDE), *([str(image / "site-packages")] if image else [])]
        start = f"import sys; sys.path[:0] = {path!r}; import runner; runner.main({theirs.fileno()})"
        with theirs:
            process = await asyncio.to_thread(
                subprocess.Popen,
                [sys.executable, "-I", "-B", "-c", start],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8"},
            )
        return await Runner.start(program, ours, PlainProcess(process))

    async def close(self) -> None:
        """Runners end by themselves when their channel closes."""


class PlainProcess:
    """A child of ours, as a runner's process."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def threads(self) -> int:
        return 1  # nobody here is kept apart anyway

    def memory_bytes(self) -> int:
        return 0
