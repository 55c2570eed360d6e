"""The walk of one grade through the project's files, in order, for whoever wants to follow it in an editor.

    python -m scripts.walk              a string_check by POST /v1/fine_tuning/alpha/graders/run, through the server
    python -m scripts.walk grade        fairmark.grade with the same
    python -m scripts.walk rewards      POST /v1/rewards
    python -m scripts.walk --first      the first request instead of the second: parsing, imports and caches too

Each line is a stay in one file and the functions that were entered there. The last line counts: how many files there
are on the way, and how many times it goes from one into another.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import fairmark
from fairmark.evals.engine import Engine
from fairmark.server.app import build
from fairmark.serving.wire import State
from fairmark.settings import Settings
from fairmark.store import Store

SOURCE = Path(fairmark.__file__).parent
GRADER = {
    "type": "string_check",
    "name": "exact",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "operation": "eq",
}
ITEM = {"answer": "Paris"}
BODIES: dict[str, tuple[str, dict[str, Any]]] = {
    "run": ("/v1/fine_tuning/alpha/graders/run", {"grader": GRADER, "model_sample": "Paris", "item": ITEM}),
    "rewards": ("/v1/rewards", {"grader": GRADER, "rows": [{"item": ITEM, "sample": "Paris"}]}),
}


class Stay(NamedTuple):
    """A file, and the functions that were entered in it before another file's."""

    file: str
    functions: list[str]


class Walk:
    """Notes every function of Fairmark that is entered while it is `watching`. A coroutine is entered once."""

    def __init__(self) -> None:
        self.stays: list[Stay] = []
        self._known: dict[CodeType, str | None] = {}
        self._entered: list[FrameType] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(None)

    @property
    def files(self) -> list[str]:
        return list(dict.fromkeys(stay.file for stay in self.stays))

    def _note(self, frame: FrameType, event: str, argument: object) -> None:
        if event != "call":
            return
        code = frame.f_code
        if code not in self._known:
            path = Path(code.co_filename)
            self._known[code] = str(path.relative_to(SOURCE)) if path.is_relative_to(SOURCE) else None
        file = self._known[code]
        if file is None or code.co_name == "<module>" or any(frame is known for known in self._entered):
            return
        self._entered.append(frame)  # kept, so that no other frame gets its place in memory
        if not self.stays or self.stays[-1].file != file:
            self.stays.append(Stay(file, []))
        self.stays[-1].functions.append(code.co_qualname)


async def walk_a_request(path: str, body: dict[str, Any], first: bool) -> Walk:
    """Through the ASGI application as a server has it, without the sockets."""
    with tempfile.TemporaryDirectory() as home:
        store = await Store.open(None, Path(home))
        try:
            app = build(State(store, Engine(store), Settings(home=Path(home))), on_loopback=True)

            async def ask() -> bytes:
                return await _ask(app, path, json.dumps(body).encode())

            return await _watched(ask, first)
        finally:
            await store.close()


async def walk_a_grade(first: bool) -> Walk:
    async def grade() -> object:
        return await fairmark.agrade(GRADER, "Paris", ITEM)

    return await _watched(grade, first)


async def _watched(call: Callable[[], Awaitable[object]], first: bool) -> Walk:
    walk = Walk()
    if not first:
        await call()
    with walk.watching():
        await call()
    return walk


async def _ask(app: Any, path: str, body: bytes) -> bytes:
    """The answer's body. Raises RuntimeError unless it is a 200."""
    answer: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        answer.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "headers": headers,
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "state": {},
    }  # fmt: skip
    await app(scope, receive, send)
    content = b"".join(message.get("body", b"") for message in answer)
    if answer[0]["status"] != 200:
        raise RuntimeError(f"{path} answered {answer[0]['status']}: {content.decode()}")
    return content


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=[*BODIES, "grade"], default="run")
    parser.add_argument("--first", action="store_true")
    given = parser.parse_args()
    walking = walk_a_grade(given.first) if given.what == "grade" else walk_a_request(*BODIES[given.what], given.first)
    walk = asyncio.run(walking)
    width = max(len(file) for file in walk.files)
    for stay in walk.stays:
        print(f"{stay.file:{width}}  {', '.join(stay.functions)}")
    print(f"{len(walk.files)} files, {len(walk.stays) - 1} changes of file")


if __name__ == "__main__":
    main()
