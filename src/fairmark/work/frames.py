"""Frames between processes: a length in eight bytes, then so many bytes of msgpack."""

from typing import IO, Any

import msgspec

from fairmark import jsontext
from fairmark.result import Grade, Result
from fairmark.spec import GraderSpec

WORKER = ("-m", "fairmark.work.worker", "fairmark.run:grade_stream")
"""What follows the interpreter's name on the command line of a worker process."""

UNKNOWN_GRADER = 3
"""How a worker ends that cannot read the grader: its kind comes from a package that only the caller can import."""
CANNOT_BE_SENT = (TypeError, ValueError, OverflowError, RecursionError)
"""Raised for an order with values that msgpack cannot carry: lone surrogates, numbers beyond 64 bits."""


def pack_order(spec: GraderSpec | None, rows: list[Any]) -> bytes:
    """The frame that asks a worker for these rows' grades; without a spec, by the grader of the order before."""
    return _framed(msgspec.msgpack.encode([None if spec is None else spec.echo(), rows], enc_hook=_plain))


def pack_results(results: list[Result]) -> bytes:
    return _framed(msgspec.msgpack.encode([_plain_result(result) for result in results]))


def read_results(spec: GraderSpec, frame: bytes) -> list[Result]:
    return [
        Result(spec, Grade(*grade), seconds, tuple(warnings))
        for *grade, seconds, warnings in msgspec.msgpack.decode(frame)
    ]


def send(pipe: IO[bytes] | None, framed: bytes) -> None:
    """Raises EOFError or OSError where nobody is there to read."""
    if pipe is None:
        raise EOFError
    pipe.write(framed)
    pipe.flush()


def receive(pipe: IO[bytes] | None) -> bytes:
    """One frame. EOFError where the other side is gone."""
    header = pipe.read(8) if pipe else b""
    frame = pipe.read(int.from_bytes(header)) if pipe and len(header) == 8 else b""
    if not header or len(frame) < int.from_bytes(header):
        raise EOFError
    return frame


def _framed(packed: bytes) -> bytes:
    return len(packed).to_bytes(8) + packed


def _plain(value: Any) -> Any:
    return value.model_dump() if hasattr(value, "model_dump") else jsontext.plain(value)


def _plain_result(result: Result) -> tuple[object, ...]:
    """A grade's fields in their order, then what else a result has."""
    grade = result.grade
    return (
        grade.reward,
        dict(grade.sub_rewards),
        grade.error,
        dict(grade.flags),
        grade.printed,
        grade.skipped,
        (),  # a grader that computes asks no judge
        grade.spread,
        result.execution_time,
        result.row_warnings,
    )
