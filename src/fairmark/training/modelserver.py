"""The trained models, served by a server that exists: transformers' own, or vLLM.

Transformers' server is started in the folder of the models, where each has a folder of its name, and loads whichever is
asked for; vLLM's has the newest alone. It ends with its worker, and is started again where it ends by itself.
"""

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from fairmark.errors import InvalidData
from fairmark.training.process import offline_environment

Kind = Literal["transformers", "vllm"]
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
GOOD_AFTER_S = 60.0
"""A server that lived so long is not one that cannot start."""


def read_place(text: str) -> tuple[str, int]:
    """HOST:PORT, or a port of this machine alone. Raises InvalidData."""
    host, _, port = text.rpartition(":")
    if not port.isdigit() or not 0 < int(port) < 65536:
        raise InvalidData(f"--serve: found {text!r}. It takes PORT, or HOST:PORT for other machines.")
    return host.strip("[]") or "127.0.0.1", int(port)


def command(kind: Kind, place: tuple[str, int], models: Path, newest: str | None) -> list[str] | None:
    """What is started; None where there is nothing to serve yet."""
    where = ["--host", place[0], "--port", str(place[1])]
    if kind == "transformers":
        return [sys.executable, "-m", "transformers.cli.transformers", "serve", *where]
    if newest is None:
        return None
    return ["vllm", "serve", str(models / newest), "--served-model-name", newest, *where]


class ModelServer:
    def __init__(self, kind: Kind, place: tuple[str, int], home: Path, say: Callable[[str], None]) -> None:
        self._kind, self._place, self._say = kind, place, say
        self._models = home / "models"
        self._log = home / "models.log"
        self._newest = _newest(self._models)
        self._stopping = threading.Event()
        self._changed = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._look_after, daemon=True)

    def start(self) -> None:
        self._models.mkdir(parents=True, exist_ok=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._changed.set()
        self._end()
        self._thread.join(10)

    def add(self, model: str) -> None:
        """A model that was trained just now."""
        self._newest = model
        if self._kind == "vllm":
            self._changed.set()
            self._end()

    def _look_after(self) -> None:
        pause_s = FIRST_PAUSE_S
        while not self._stopping.is_set():
            self._changed.clear()
            program = command(self._kind, self._place, self._models, self._newest)
            if program is None:
                self._changed.wait()
                continue
            began = time.monotonic()
            self._run(program)
            if self._changed.is_set() or self._stopping.is_set():
                continue
            pause_s = FIRST_PAUSE_S if time.monotonic() - began > GOOD_AFTER_S else min(2 * pause_s, LONGEST_PAUSE_S)
            self._say(f"The server of models ended; {self._log} says why. It is started again in {pause_s:.0f} s.")
            self._stopping.wait(pause_s)

    def _run(self, program: Sequence[str]) -> None:
        tied = [sys.executable, "-m", "fairmark.training.tied", *program]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603  # our own list of servers
                tied,
                cwd=self._models,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=offline_environment(),
                start_new_session=True,  # Ctrl-C is the worker's
            )
        if self._stopping.is_set():
            self._end()
        self._process.wait()
        self._end()

    def _end(self) -> None:
        """It ends when its standard input does."""
        process = self._process
        if process is not None and process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()


def _newest(models: Path) -> str | None:
    if not models.exists():
        return None
    there = [path.parent for path in models.glob("**/config.json") if ":ckpt-step-" not in path.parent.name]
    newest = max(there, key=lambda path: path.stat().st_mtime, default=None)
    return None if newest is None else str(newest.relative_to(models))
