"""Load on a server: the same request again and again over many connections, for a while.

    python -m bench.load URL BODY_FILE --connections 32 --seconds 3     prints a line of JSON

It looks at no more of an answer than its status and its length, so that the server is the slower side.
"""

import argparse
import asyncio
import contextlib
import json
from pathlib import Path
from time import perf_counter
from typing import cast
from urllib.parse import urlsplit


class Client(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self, request: bytes, until: float) -> None:
        self.request = request
        self.until = until
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.answered = 0
        self.failed = 0
        self.latencies: list[float] = []
        self.missing = 0
        self.head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.send()

    def send(self) -> None:
        self.began = perf_counter()
        self.transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        if not self.missing:
            self.head += data
            end = self.head.find(b"\r\n\r\n")
            if end < 0:
                return
            head, rest = self.head[:end].lower(), len(self.head) - end - 4
            start = head.index(b"content-length:") + 15
            length = int(head[start : (head + b"\r\n").index(b"\r\n", start)])
            self.failed += not head.startswith(b"http/1.1 200")
            self.missing, self.head = length - rest, b""
        else:
            self.missing -= len(data)
        if self.missing > 0:
            return
        now = perf_counter()
        self.answered += 1
        self.latencies.append(now - self.began)
        if now < self.until:
            self.send()
        else:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


async def load(url: str, body: bytes, connections: int, seconds: float) -> dict[str, float]:
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or 80
    request = (
        f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body
    loop = asyncio.get_running_loop()
    began = perf_counter()
    clients = [Client(request, began + seconds) for _ in range(connections)]
    for client in clients:
        await loop.create_connection(lambda client=client: client, host, port)  # type: ignore[misc]
    await asyncio.wait_for(asyncio.gather(*(client.ended for client in clients)), seconds + 60)
    took = perf_counter() - began
    latencies = sorted(latency for client in clients for latency in client.latencies)
    return {
        "answered": len(latencies),
        "failed": sum(client.failed for client in clients),
        "seconds": took,
        "per_s": len(latencies) / took,
        "p50_ms": 1000 * latencies[len(latencies) // 2],
        "p99_ms": 1000 * latencies[len(latencies) * 99 // 100],
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.load", description="Load on a server.")
    parser.add_argument("url")
    parser.add_argument("body", type=Path)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=3)
    given = parser.parse_args()
    with contextlib.suppress(ImportError):
        import uvloop  # not everywhere; without it this side is slower

        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    print(json.dumps(asyncio.run(load(given.url, given.body.read_bytes(), given.connections, given.seconds))))


if __name__ == "__main__":
    main()
