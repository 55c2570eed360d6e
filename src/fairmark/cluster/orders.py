"""What goes to a process on another machine and what comes back: msgpack both ways, the grader once by its hash."""

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from fairmark.spec import GraderSpec
from fairmark.work.frames import CANNOT_BE_SENT, pack_row, unpack


class Share(NamedTuple):
    """What a chunk may spend of a budget; None is no limit."""

    tokens: float | None
    dollars: float | None


class Order(NamedTuple):
    """Rows to be graded elsewhere."""

    digest: bytes
    """Names the grader."""
    grader: dict[str, Any] | None
    """Where the other side may not have it."""
    rows: Sequence[Any]
    owner: str = ""
    call: str = ""
    """Whose rows go together: what was seen of a grader's code counts for its call or run alone."""
    share: Share | None = None
    """None where there is no budget."""
    left_s: float | None = None
    """Until the deadline of the whole call."""


class Answer(NamedTuple):
    """What became of an order. Without results: the grader has to be sent, or (`refused`) cannot be read there."""

    results: list[Any] | None = None
    refused: str | None = None
    spent_tokens: int = 0
    spent_dollars: float = 0.0


def digest(spec: GraderSpec) -> tuple[bytes, dict[str, Any]] | None:
    """A grader's hash and its JSON; None where it holds what cannot be sent."""
    grader = spec.echo()
    try:
        packed = pack_row(grader)
    except CANNOT_BE_SENT:
        return None
    return hashlib.blake2b(packed, digest_size=16).digest(), grader


def pack_order(order: Order) -> bytes:
    """`rows` are packed already."""
    return msgspec.msgpack.encode(order._replace(rows=[msgspec.Raw(row) for row in order.rows]), enc_hook=_dump)


def _dump(value: Any) -> Any:
    return value.model_dump() if hasattr(value, "model_dump") else dict(value)


def read_order(packed: bytes) -> Order:
    order = Order(*unpack(packed))
    return order if order.share is None else order._replace(share=Share(*order.share))


def pack_answer(answer: Answer) -> bytes | Answer:
    """The answer itself where msgpack cannot carry it: a judge may have said half an emoji. Its way is slower."""
    try:
        return msgspec.msgpack.encode(answer, enc_hook=_dump)
    except CANNOT_BE_SENT:
        return answer


def read_answer(packed: bytes | Answer) -> Answer:
    return packed if isinstance(packed, Answer) else Answer(*msgspec.msgpack.decode(packed))
