"""A real `fairmark serve` on loopback, and a small client for it."""

import contextlib
import json
import os
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests import command

EXACT = {
    "type": "string_check",
    "name": "exact",
    "input": "{{sample.output_text}}",
    "reference": "{{item.answer}}",
    "operation": "eq",
}
RUN = "/v1/fine_tuning/alpha/graders/run"
VALIDATE = "/v1/fine_tuning/alpha/graders/validate"


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        """The error envelope, which is whole wherever there is one."""
        assert self.headers["content-type"] == "application/json"
        error: dict[str, Any] = self.json()["error"]
        assert list(error) == ["message", "type", "param", "code"]
        return error


class Server:
    """One server process with a home of its own. `enter`: the command that starts it, for one inside a namespace."""

    def __init__(
        self,
        home: Path,
        env: Mapping[str, str] | None = None,
        args: Sequence[str] = (),
        cold: bool = False,
        enter: Sequence[str] = (),
    ) -> None:
        self.home = home
        self.stderr = home.parent / f"{home.name}.log"
        with self.stderr.open("ab") as log:
            self.process = command.start(
                ["serve", "--port", "0", *args],
                cwd=home.parent,
                env={"PATH": "/usr/bin:/bin", "FAIRMARK_HOME": str(home), **(env or {})},
                stderr=log,
                cold=cold,
                enter=enter,
            )
        assert self.process.stdout is not None
        # A start that hangs must not hang the tests.
        guard = threading.Timer(60, self.process.kill)
        guard.start()
        first = self.process.stdout.readline()
        guard.cancel()
        assert "http://" in first, f"{first}{self.stderr.read_text()}"
        self.url = first.split()[-1]
        self.port = int(self.url.rpartition(":")[2])

    def request(
        self,
        method: str,
        path: str,
        json: Any = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout_s: float = 60,
    ) -> Answer:
        """`json` or `body` is what is sent. An error status is an answer like any other."""
        sent = dict(headers or {})
        if json is not None:
            body = _encode(json)
            sent.setdefault("content-type", "application/json")
        request = urllib.request.Request(self.url + path, body, sent, method=method)  # noqa: S310  # our own server
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as answer:  # noqa: S310
                return Answer(answer.status, _lower(answer.headers), answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, _lower(error.headers), error.read())

    def descriptors(self) -> int:
        """How many it has open, but for its store's: that opens as many connections as are busy at once, up to a bound,
        and keeps them."""
        count = 0
        for path in Path(f"/proc/{self.process.pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                count += not path.readlink().name.startswith("fairmark.db")
        return count

    def post(self, path: str, json: Any, headers: Mapping[str, str] | None = None) -> Answer:
        return self.request("POST", path, json, headers)

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Answer:
        return self.request("GET", path, headers=headers)

    def upload(
        self, content: bytes, filename: str = "data.jsonl", headers: Mapping[str, str] | None = None, **fields: str
    ) -> Answer:
        """The form as OpenAI's client sends it: the file last."""
        kind, body = form([*{"purpose": "evals", **fields}.items()], content, filename)
        return self.request("POST", "/v1/files", headers={"content-type": kind, **(headers or {})}, body=body)

    @contextlib.contextmanager
    def connect(self) -> Iterator[socket.socket]:
        """A bare connection, for requests that no client would send."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            yield connection

    def raw(self, request: bytes) -> bytes:
        """All the server says to these bytes until it closes the connection."""
        with self.connect() as connection:
            connection.sendall(request)
            return read_all(connection)

    def gauge(self, name: str) -> float:
        """One of the metrics that has no labels."""
        return float(self.get("/metrics").body.decode().split(f"\n{name} ")[1].split()[0])

    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stderr.read_text().splitlines()]

    def memory_mb(self, peak: bool = False) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        name = "VmHWM:" if peak else "VmRSS:"
        return float(status.split(name)[1].split()[0]) / 1024

    def stop(self, number: int = signal.SIGTERM) -> int:
        """The exit code after the signal."""
        if self.process.poll() is None:
            os.kill(self.process.pid, number)
        try:
            return self.process.wait(60)
        finally:
            self.process.kill()
            if self.process.stdout is not None:
                self.process.stdout.close()


def _encode(value: Any) -> bytes:
    return json.dumps(value).encode()


def _lower(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def read_all(connection: socket.socket) -> bytes:
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def form(fields: Sequence[tuple[str, str]], content: bytes | None, filename: str) -> tuple[str, bytes]:
    """(content type, body) of an upload."""
    boundary = "fairmark-test-boundary"
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields
    ]
    if content is not None:
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{filename}"\r\n'
        parts.append(f"{head}Content-Type: application/octet-stream\r\n\r\n".encode() + content + b"\r\n")
    parts.append(f"--{boundary}--\r\n".encode())
    return f"multipart/form-data; boundary={boundary}", b"".join(parts)


def run_body(grader: Any = EXACT, sample: Any = "Paris", **more: Any) -> dict[str, Any]:
    return {"grader": grader, "model_sample": sample, "item": {"answer": "Paris"}, **more}


def wait_for(condition: Callable[[], bool], within_s: float = 30) -> None:
    """Looks often at first: most of it happens at once."""
    until, pause_s = time.monotonic() + within_s, 0.005
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(pause_s)
        pause_s = min(1.5 * pause_s, 0.05)
