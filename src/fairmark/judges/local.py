"""Models on this machine: each in a process of its own, with an OpenAI-compatible server on the loopback interface.

A model is started when it is first asked for and stays. Its process ends with ours, however ours ends, and is started
anew when it is asked for after it died. Only who was told the random key can use it.
"""

import asyncio
import contextlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
import weakref
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, NamedTuple

from fairmark.errors import LocalModelUnavailable
from fairmark.judges import gguf

WARNING = (
    "local/smollm2 is a very small model for trying things out. As a judge it is at chance: do not rely on its grades."
)
"""Stands on every result of the embedded model."""

AT_ONCE = 1
"""Requests that a model works on at a time; others wait inside. More would not be faster on a few cores, and the
answers at temperature 0 could then depend on the neighbours."""
CONTEXT_TOKENS = 8192
"""Tokens of a request with its answer, or fewer where the model was made for fewer."""
START_LIMIT_S = 60.0
LAST_WORDS_S = 2.0
"""For a process that could not start: its log is written by a thread of its own, which may be behind."""

_PROCESS = Path(__file__).with_name("local_process.py")
_INSTALL = "pip install 'fairmark[local]'"


class LocalEndpoint(NamedTuple):
    base_url: str
    """With /v1, without a slash at its end."""
    key: str
    """The bearer token that it asks for."""


class LocalModels:
    """The models on this machine. Lives on one event loop; any number of callers share a start."""

    def __init__(self, data_folder: Path) -> None:
        self._data_folder = data_folder
        self._running: dict[str, _Process] = {}
        self._starting: dict[str, asyncio.Task[LocalEndpoint]] = {}
        weakref.finalize(self, _stop_all, self._running, os.getpid())

    def available(self) -> list[str]:
        """The names that can be run now: the embedded model, and every file in the models' folder."""
        if find_spec("xllamacpp") is None:
            return []
        names = gguf.all_pulled(self._data_folder)
        return names if gguf.EMBEDDED in names or gguf.embedded() is None else [gguf.EMBEDDED, *names]

    async def endpoint(self, name: str) -> LocalEndpoint:
        """Where the model answers, started if it does not run. Raises LocalModelUnavailable."""
        process = self._running.get(name)
        if process is not None and process.is_alive and process.endpoint is not None:
            return process.endpoint
        starting = self._starting.get(name)
        if starting is None or starting.get_loop() is not asyncio.get_running_loop():
            starting = self._starting[name] = asyncio.create_task(self._start(name))
            starting.add_done_callback(lambda task: self._started(name, task))
        return await asyncio.shield(starting)  # a caller that gives up leaves the start to the others

    def close(self) -> None:
        """Stop all models. One that is asked for afterwards is started again."""
        for task in self._starting.values():
            task.cancel()
        self._starting.clear()
        _stop_all(self._running, os.getpid())

    def _started(self, name: str, task: "asyncio.Task[LocalEndpoint]") -> None:
        if self._starting.get(name) is task:
            del self._starting[name]
        if not task.cancelled():
            task.exception()  # seen: perhaps nobody waits any more

    async def _start(self, name: str) -> LocalEndpoint:
        order = {
            "model": str(self._file(name)),
            "name": name,
            "key": secrets.token_urlsafe(32),
            "threads": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
            "context_tokens": CONTEXT_TOKENS,
            "at_once": AT_ONCE,
            "embeds": name in gguf.CATALOGUE and gguf.CATALOGUE[name].embeds,
        }
        dead = self._running.pop(name, None)
        if dead is not None:
            dead.stop()
        process = self._running[name] = _Process(name)
        try:
            return await process.start(order)
        except BaseException:
            self._running.pop(name, None)
            process.stop()
            raise

    def _file(self, name: str) -> Path:
        """The model's file. Raises LocalModelUnavailable where it cannot be run."""
        if find_spec("xllamacpp") is None:
            raise LocalModelUnavailable(
                f"local/{name}: running models on this machine takes an extra that is not installed: {_INSTALL}"
            )
        try:
            file = gguf.pulled(self._data_folder, name)
        except ValueError:
            raise LocalModelUnavailable(f"local/{name}: not a name of a model. {self._those_there_are()}") from None
        if file.is_file():
            return file
        embedded = gguf.embedded() if name == gguf.EMBEDDED else None
        if embedded is not None:
            return embedded
        if name in gguf.CATALOGUE:
            raise LocalModelUnavailable(
                f"local/{name}: there is no {file}. To get it: fairmark models pull {name}. {self._those_there_are()}"
            )
        raise LocalModelUnavailable(
            f"local/{name}: unknown model. {self._those_there_are()} To be had by fairmark models pull: "
            f"{', '.join(gguf.CATALOGUE)}. Any GGUF put into {file.parent} is one as well."
        )

    def _those_there_are(self) -> str:
        return f"There is: {', '.join(self.available()) or 'none'}."


class _Process:
    """One model's process, seen from outside."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.endpoint: LocalEndpoint | None = None
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the process
        try:
            self._process = subprocess.Popen(  # noqa: S603  # our own module by our own interpreter
                [sys.executable, "-P", str(_PROCESS)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                # Its threads wait for one another thousands of times a second. By default they do so in busy loops,
                # and where something else wants the cores too, that makes it twenty times slower. To sleep at once
                # takes two and a half times as long where nothing does. A thousand turns are some microseconds.
                env={"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "1000", **os.environ},
                start_new_session=True,  # Ctrl-C is our business; it ends by its pipe
            )
        except OSError as error:
            self._log.close()
            raise LocalModelUnavailable(
                f"local/{name}: no process: {(error.strerror or str(error)).lower()}."
            ) from None

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    async def start(self, order: dict[str, Any]) -> LocalEndpoint:
        assert self._process.stdin is not None  # noqa: S101  # pipes were asked for
        assert self._process.stdout is not None  # noqa: S101
        answer = b""
        try:
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.flush()
            async with asyncio.timeout(START_LIMIT_S):
                answer = await asyncio.to_thread(self._process.stdout.readline)
        except TimeoutError:
            raise LocalModelUnavailable(
                f"local/{self._name}: it was not ready within {START_LIMIT_S:g} s. Is the machine too busy, or the "
                f"model too large for its memory? The file: {order['model']}"
            ) from None
        except OSError:
            pass  # it is gone already; its log tells why
        try:
            address = json.loads(answer)["address"]
        except (ValueError, KeyError):
            with contextlib.suppress(subprocess.TimeoutExpired):  # its log comes after its answer
                await asyncio.to_thread(self._process.wait, LAST_WORDS_S)
            raise LocalModelUnavailable(f"local/{self._name}: it did not start: {self._reason(answer)}") from None
        self.endpoint = LocalEndpoint(f"{address}/v1", order["key"])
        return self.endpoint

    def _reason(self, answer: bytes) -> str:
        """Why it did not start: what it says itself, else the last that its log has."""
        code = self._end()
        self._log.seek(0)
        lines = [line.strip() for line in self._log.read().decode(errors="replace").splitlines() if line.strip()]
        causes = [line.partition("error loading model: ")[2] for line in lines if "error loading model: " in line]
        try:
            told = json.loads(answer)["error"]
        except (ValueError, KeyError):
            told = f"it ended with status {code}" + (f": {lines[-1]}" if lines else "")
        if "libgomp" in told:
            return f"{told}. On Debian and Ubuntu it is in the package libgomp1."
        return f"{causes[-1] if causes else told}. If its file is damaged, pull it again."

    def stop(self) -> None:
        self._end()
        self._log.close()

    def _end(self) -> int:
        self._process.kill()  # it holds nothing that could be lost
        code = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except OSError:
                pass  # what was buffered for a process that is gone
        return code


def _stop_all(running: "dict[str, _Process]", owner: int) -> None:
    # A forked child has these too, but they are not its own.
    while running and owner == os.getpid():
        running.popitem()[1].stop()
