"""Frames between processes: a length in eight bytes, then so many bytes of msgpack."""

from dataclasses import replace
from typing import IO, Any

import msgspec

from fairmark import errors, jsontext
from fairmark.errors import GradingFailed
from fairmark.judgement import Judgement, Listed, Usage, Weighed
from fairmark.result import Grade, Result
from fairmark.row import UnreadItem
from fairmark.spec import GraderSpec

WORKER = ("-m", "fairmark.work.worker", "fairmark.run:grade_stream")
"""What follows the interpreter's name on the command line of a worker process."""

UNKNOWN_GRADER = 3
"""How a worker ends that cannot read the grader: its kind comes from a package that only the caller can import."""
CANNOT_BE_SENT = (TypeError, ValueError, OverflowError, RecursionError)
"""Raised for an order with values that msgpack cannot carry: lone surrogates, numbers beyond 64 bits."""


_UNREAD_ITEM = 1
"""The type, in msgpack's words, of an item that is JSON still."""


def pack_order(spec: GraderSpec | None, rows: list[Any]) -> bytes:
    """The frame that asks a worker for these rows' grades; without a spec, by the grader of the order before."""
    return _framed(msgspec.msgpack.encode([None if spec is None else spec.echo(), rows], enc_hook=_plain))


def pack_row(row: Any) -> bytes:
    """One data row. Raises CANNOT_BE_SENT."""
    return msgspec.msgpack.encode(row, enc_hook=_plain)


def unpack(packed: bytes) -> Any:
    """What was packed here or on another side."""
    return msgspec.msgpack.decode(packed, ext_hook=_unread)


def _unread(code: int, data: memoryview) -> Any:
    if code != _UNREAD_ITEM:
        raise ValueError(f"a frame holds a value of the unknown type {code}")
    return UnreadItem(bytes(data))


def pack_results(results: list[Result]) -> bytes:
    return _framed(msgspec.msgpack.encode(plain_results(results), enc_hook=_plain))


def read_results(spec: GraderSpec, frame: bytes) -> list[Result]:
    return results_of(spec, msgspec.msgpack.decode(frame))


def plain_results(results: list[Result]) -> list[tuple[object, ...]]:
    """What of results goes to another process, which has their grader."""
    return [_plain_result(result) for result in results]


def results_of(spec: GraderSpec, plain: list[Any]) -> list[Result]:
    """The results again, on the other side."""
    return [
        Result(spec, Grade(*grade)._replace(judgements=tuple(map(_judgement, grade[6]))), seconds, tuple(warnings))
        if grade[6]
        else Result(spec, Grade(*grade), seconds, tuple(warnings))
        for *grade, seconds, warnings in plain
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
    if len(header) < 8 or len(frame) < int.from_bytes(header):
        raise EOFError
    return frame


def _framed(packed: bytes) -> bytes:
    return len(packed).to_bytes(8) + packed


def _plain(value: Any) -> Any:
    if type(value) is UnreadItem:
        return msgspec.msgpack.Ext(_UNREAD_ITEM, value.text)
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
        tuple(map(_plain_judgement, grade.judgements)),
        grade.spread,
        result.execution_time,
        result.row_warnings,
    )


def _plain_judgement(judgement: Judgement) -> tuple[object, ...]:
    """A judgement's fields in their order; of its failure, what it is called and what it says."""
    failure = judgement.failure
    return (
        judgement.model,
        judgement.messages,
        judgement.sampling,
        judgement.sampled_model,
        judgement.output,
        judgement.value,
        judgement.finish_reason,
        judgement.usage,
        judgement.cost,
        judgement.latency_s,
        judgement.attempts,
        judgement.warning,
        None if failure is None else (type(failure).__name__, str(failure)),
        judgement.listed,
        judgement.weighed,
    )


def _judgement(plain: list[Any]) -> Judgement:
    judgement = Judgement(*plain)
    failure, listed, weighed = plain[-3:]
    return replace(
        judgement,
        usage=Usage(*judgement.usage),
        failure=None if failure is None else _failure(*failure),
        listed=None if listed is None else Listed(*listed),
        weighed=None if weighed is None else Weighed(*weighed),
    )


def _failure(name: str, message: str) -> GradingFailed:
    """A failure of its class, which sets its flag; what else its class may hold stays where it was raised."""
    kind = getattr(errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, GradingFailed)):
        kind = GradingFailed
    failure = kind.__new__(kind)
    failure.args = (message,)
    return failure
