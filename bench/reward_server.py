"""A reward server that answers at once: /info, /score and /batch_score for benchmarks, on loopback.

    python -m bench.reward_server --port 0      prints its address
    with RewardServer() as url: …               the same in a process of its own, ended at the end

It reads no more of a request than it must, so that what is measured is whoever asks.
"""

import argparse
import asyncio
import contextlib
import os
import subprocess
import sys
from functools import lru_cache
from types import TracebackType

from bench.judge_server import ROOT, Connection, Server, json_response

RESPONSE = {"reward": 0.75, "metadata": {"reason": "It is right for the most part."}, "id": None}


class RewardConnection(Connection):
    """The judge's connection with other answers."""

    def take(self, head: bytes, body: bytes) -> None:
        path = head[: head.find(b"\r\n")].split(b" ")[1]
        if path == b"/batch_score":
            answer = batch(body.count(b'"turns":'))
        elif path == b"/score":
            answer = json_response(RESPONSE)
        elif path == b"/info":
            answer = json_response({"name": "bench", "version": "1", "description": "Answers at once."})
        elif path == b"/stats":
            return self.write(json_response(self.server.stats()))
        else:
            return self.write(json_response({"detail": "Not Found"}, b"404 Not Found"))
        self.server.open += 1
        self.server.most_open = max(self.server.most_open, self.server.open)
        return self.answer(answer)


@lru_cache(maxsize=1024)
def batch(count: int) -> bytes:
    return json_response({"responses": [RESPONSE] * count})


async def serve(port: int, leash: bool) -> None:
    """Serve until ended; on a leash, also until standard input closes, so that nothing outlives who started it."""
    loop = asyncio.get_running_loop()
    shared = Server(0)
    server = await loop.create_server(lambda: RewardConnection(shared), "127.0.0.1", port, backlog=2048)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    if not leash:
        await server.serve_forever()
    closed = asyncio.Event()

    def look() -> None:
        if not os.read(sys.stdin.fileno(), 1024):
            closed.set()

    loop.add_reader(sys.stdin.fileno(), look)
    await closed.wait()


class RewardServer:
    """The server in a process of its own, for as long as the `with` lasts. The value is its address."""

    def __enter__(self) -> str:
        command = [sys.executable, "-m", "bench.reward_server", "--leash"]
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        url = self.process.stdout.readline().strip()
        if not url:
            self.__exit__(None, None, None)
            raise RuntimeError("the reward server did not start")
        return url

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.terminate()
        with contextlib.suppress(OSError):
            self.process.communicate(timeout=10)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.reward_server", description="Rewards for benchmarks.")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--leash", action="store_true", help="end when standard input closes")
    given = parser.parse_args()
    with contextlib.suppress(ImportError):
        import uvloop  # not everywhere; without it the server is slower

        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(given.port, given.leash))


if __name__ == "__main__":
    main()
