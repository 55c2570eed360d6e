"""Inside the sandbox: the process that runs one grader's source on the rows it is sent.

By now it is locked in: it can compute, use its own /tmp, and talk on one descriptor. Everything it says is checked
again outside. Frames are four bytes of length and a JSON text.

Whatever frames are made with is bound here, before any grader runs: one that replaces `len`, `json.dumps` or `os.write`
does not change what is said on the channel. Left unbound, a wrong length would have the service wait for the rest of a
frame until the grader's time is up.
"""

import builtins
import io
import linecache
import math
import numbers
import sys
import traceback
from collections.abc import Callable
from json import JSONDecoder
from json.encoder import encode_basestring_ascii as quoted
from os import _exit, read, write
from typing import Any

FILE_NAME = "grader.py"
MAX_PRINTED = 65536
MAX_DETAILS = 4000

Reply = dict[str, Any]

# The functions below have builtins of their own.
globals()["__builtins__"] = dict(vars(builtins))
decode = JSONDecoder().raw_decode
isfinite = math.isfinite
Real = numbers.Real


def main(channel: int) -> None:
    order = receive(channel)
    try:
        grade = load(order["source"], order["calls"])
    except BaseException as error:
        send(channel, {"id": order["id"], **failure(error)})
        return
    send(channel, {"id": order["id"], "reward": 0.0})
    while True:
        for token, arguments in receive(channel):
            send(channel, {"id": token, **attempt(grade, arguments)})


def load(source: str, calls: str) -> Callable[..., Any]:
    """Run the module's body and give what calls its `grade`."""
    linecache.cache[FILE_NAME] = (len(source), None, source.splitlines(keepends=True), FILE_NAME)
    module = type(sys)("grader")
    module.__file__ = FILE_NAME
    module.__dict__["__builtins__"] = builtins  # which it may do with what it likes
    sys.modules["grader"] = module
    sys.stdout = sys.stderr = Printed()
    if calls == "function":
        return load_function(source, module.__dict__)
    exec(compile(source, FILE_NAME, "exec", dont_inherit=True), module.__dict__)  # noqa: S102  # what we are here for
    grade: Callable[..., Any] = module.__dict__["grade"]
    return grade


def load_function(source: str, names: dict[str, Any]) -> Callable[..., Any]:
    """A function grader is a coroutine function of a thread; a passed function arrives without its import of that."""
    import asyncio

    from adaptive_harmony import StringThread  # beside this file

    names["StringThread"] = StringThread
    exec(compile(source, FILE_NAME, "exec", dont_inherit=True), names)  # noqa: S102
    grade = names["grade"]
    if not callable(grade):
        raise TypeError("grade is not callable")

    def call(turns: Any, metadata: Any) -> Any:
        return asyncio.run(_awaited(grade, StringThread(turns, metadata)))

    return call


async def _awaited(grade: Callable[..., Any], thread: Any) -> Any:
    return await grade(thread)


class Printed(io.TextIOBase):
    """What the grader prints: kept up to a limit, thrown away beyond."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.room = MAX_PRINTED

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self.room > 0:
            kept = text[: self.room]
            self.parts.append(kept)
            self.room -= len(kept)
        return len(text)


def attempt(grade: Callable[..., Any], arguments: list[Any]) -> Reply:
    printed = sys.stdout = sys.stderr = Printed()
    try:
        reply: Reply = {"reward": number(grade(*arguments))}
    except BaseException as error:
        reply = failure(error)
    if printed.parts:
        reply["printed"] = "".join(printed.parts)
    return reply


class InvalidReward(Exception):
    """What `grade` returned is no finite number."""


def number(value: Any) -> float:
    """The value as a finite float. Real numbers count, and numpy's scalars; what only looks like a number does not."""
    if not isinstance(value, Real) and type(value).__module__ != "numpy":
        raise InvalidReward(f"grade returned {type(value).__name__}, not a number")
    try:
        converted = float(value)
    except OverflowError:
        raise InvalidReward("grade returned an integer too large for a float") from None
    if not isfinite(converted):
        raise InvalidReward(f"grade returned {converted}, not a finite number")
    return converted


def failure(error: BaseException) -> Reply:
    if isinstance(error, MemoryError):
        return {"failed": "oom", "details": "the grader used more memory than it may"}
    try:
        details = describe(error)
    except BaseException:  # an exception whose own text raises
        details = type(error).__name__
    return {"failed": "error", "details": details[-MAX_DETAILS:]}


def describe(error: BaseException) -> str:
    """The end of the traceback: the grader's own lines, not ours."""
    if isinstance(error, InvalidReward):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__, limit=-50)
    own = next((index for index, frame in enumerate(frames) if frame.filename == FILE_NAME), None)
    lines = [] if own is None else ["Traceback (most recent call last):\n", *traceback.format_list(frames[own:])]
    return "".join(lines + traceback.format_exception_only(error)).rstrip()


def receive(channel: int) -> Any:
    value, _ = decode(take(channel, int.from_bytes(take(channel, 4), "big")).decode())
    return value


def take(channel: int, size: int) -> bytes:
    parts = []
    while size:
        part = read(channel, min(size, 1 << 20))
        if not part:
            _exit(0)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def send(channel: int, message: Reply) -> None:
    text = ",".join([f"{quoted(name)}:{json_of(value)}" for name, value in message.items()])
    frame = b"{%s}" % text.encode()
    left = memoryview(len(frame).to_bytes(4, "big") + frame)
    while left:
        left = left[write(channel, left) :]


def json_of(value: str | float) -> str:
    return quoted(value) if isinstance(value, str) else float.__repr__(value)
