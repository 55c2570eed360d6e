"""What it costs to ask a model through the server: the same question directly and through it, by turns, in one run; and
the same beside 64 streams that go through it too."""

import contextlib
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench import process
from bench.report import Line, Report, Required
from bench.server import serving

STREAMS = 64
BODY = {"model": "m", "messages": [{"role": "user", "content": "What is the capital of France? " * 10}]}


def main(quick: bool = False) -> Report:
    count = 20 if quick else 1000
    raw: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder, model() as behind:
        environment = {"OPENAI_BASE_URL": f"{behind}/v1", "OPENAI_API_KEY": "sk-bench"}
        with serving(Path(folder), environment) as url:
            raw["alone"] = by_turns(behind, url, count, store=False)
            raw["stored"] = by_turns(behind, url, count, store=True)
            with streams(url, 4 if quick else STREAMS):
                raw[f"beside {STREAMS} streams"] = by_turns(behind, url, count, store=False)
    lines = []
    for name, found in raw.items():
        through, direct = (statistics.median(found[way]) for way in ("through", "direct"))
        lines.append(Line(f"a question, {name}: median", 1000 * through, "ms", 1000 * direct, "directly"))
        lines.append(
            Line(
                f"a question, {name}: added to the median",
                1000 * (through - direct),
                "ms",
                None,
                "",
                Required("at most", 3),
            )
        )
    about = (
        f"A chat completion of a model that answers at once, {count} times directly and through `fairmark serve`, by"
        " turns over connections that stay open, from one client."
    )
    return Report("passing", about, lines, raw)


def by_turns(direct: str, through: str, count: int, store: bool) -> dict[str, list[float]]:
    """Seconds of each question, directly and through the server."""
    body = json.dumps({**BODY, "store": store}).encode()
    ways = {"direct": _connect(direct), "through": _connect(through)}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(count + 20):
        for name, connection in ways.items():
            started = time.perf_counter()
            connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                raise process.ProcessFailed(f"{name}: {answer.status}")
            if number >= 20:
                seconds[name].append(time.perf_counter() - started)
    for connection in ways.values():
        connection.close()
    return seconds


def _connect(url: str) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
    connection.connect()
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


@contextlib.contextmanager
def streams(url: str, count: int) -> Iterator[None]:
    """So many streams under way, read by a process of their own."""
    body = json.dumps({**BODY, "stream": True})
    reader = subprocess.Popen(
        [sys.executable, "-c", _READ, url.removeprefix("http://"), str(count), body], stdout=subprocess.PIPE, text=True
    )
    try:
        assert reader.stdout is not None  # it was asked for
        reader.stdout.readline()
        yield
        if reader.poll() is not None:
            raise process.ProcessFailed("a stream has ended before the measurement")
    finally:
        reader.kill()
        reader.wait()


_READ = """
import http.client, selectors, sys
address, count, body = sys.argv[1], int(sys.argv[2]), sys.argv[3]
watched = selectors.DefaultSelector()
kept = []
for _ in range(count):
    connection = http.client.HTTPConnection(address, timeout=30)
    connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
    kept.append(connection)
    watched.register(connection.sock, selectors.EVENT_READ)
for connection in kept:
    connection.sock.recv(65536)
print("reading", flush=True)
while True:
    for key, _ in watched.select(1):
        if not key.fileobj.recv(65536):
            sys.exit("a stream has ended")
"""


@contextlib.contextmanager
def model() -> Iterator[str]:
    started = subprocess.Popen(
        [sys.executable, "-m", "bench.model_server"],
        cwd=process.ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(process.ROOT)},
    )
    try:
        assert started.stdout is not None  # it was asked for
        yield started.stdout.readline().strip()
    finally:
        started.kill()
        started.wait()
