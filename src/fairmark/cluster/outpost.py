"""The far end: a process on some machine of a cluster that grades the chunks of rows it is sent.

It holds graders that were read, a sandbox and a client of judges, and nothing that could be lost with it.
"""

import os
import socket
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeVar

from fairmark.cluster.orders import Answer, Share, pack_answer, read_order
from fairmark.endpoints.chosen import only_listed
from fairmark.errors import InvalidGrader, NotGraded
from fairmark.judges.base import Budget
from fairmark.parse import parse
from fairmark.result import Result
from fairmark.sandbox.base import Program
from fairmark.sandbox.chosen import SANDBOX
from fairmark.sandbox.patience import Patience
from fairmark.spec import GraderSpec
from fairmark.work import eventloop
from fairmark.work.frames import plain_results
from fairmark.work.pool import use_cores

GradeChunk = Callable[[GraderSpec, Sequence[Any], str, Budget | None, Patience, float | None], list[Result]]
"""fairmark.run.grade_chunk, which lies above this room."""

GRADERS_KEPT = 64
CALLS_KEPT = 256
SHARE_SPENT = "not asked: this chunk's share of the budget is spent."

K = TypeVar("K")
V = TypeVar("V")


class ShareBudget(Budget):
    """A chunk's part of a budget that is kept elsewhere: who has spent it may get more."""

    def __init__(self, share: Share) -> None:
        super().__init__(None, share.dollars)
        self._most_tokens = share.tokens

    def check(self) -> None:
        tokens_spent = self._most_tokens is not None and self.spent_tokens >= self._most_tokens
        if tokens_spent or (self.dollars is not None and self.spent_dollars >= self.dollars):
            raise NotGraded(SHARE_SPENT)


class Outpost:
    """Asked by calls from afar, several at a time, in threads."""

    def __init__(
        self, grade: GradeChunk, told: Mapping[str, Any], share_limits: Callable[[], None] = lambda: None
    ) -> None:
        """`share_limits`: has this process hold the limits of models together with all others of the cluster.
        `told`: `only_listed`, where graders come from others, and may not ask addresses of their own choosing."""
        self._grade = grade
        self._specs: OrderedDict[bytes, GraderSpec] = OrderedDict()
        self._calls: OrderedDict[str, Patience] = OrderedDict()
        use_cores(1)  # the machine's other cores have others like this one
        share_limits()
        if told.get("only_listed"):
            only_listed()

    def hello(self) -> dict[str, Any]:
        """Which Fairmark this is, where, and why it cannot run untrusted code, if so."""
        return {"version": version(), "host": socket.gethostname(), "pid": os.getpid(), "no_sandbox": _try_sandbox()}

    def sign(self) -> bool:
        """A sign of life."""
        return True

    def grade(self, packed: bytes) -> bytes | Answer:
        order = read_order(packed)
        try:
            spec = self._spec(order.digest, order.grader)
        except InvalidGrader as error:
            return pack_answer(Answer(refused=str(error)))
        if spec is None:
            return pack_answer(Answer())
        budget = None if order.share is None else ShareBudget(order.share)
        patience = _kept(self._calls, f"{order.owner} {order.call}", Patience, CALLS_KEPT)
        results = self._grade(spec, order.rows, order.owner, budget, patience, order.left_s)
        if budget is None:
            return pack_answer(Answer(plain_results(results)))
        return pack_answer(Answer(plain_results(results), None, budget.spent_tokens, budget.spent_dollars))

    def _spec(self, digest: bytes, grader: dict[str, Any] | None) -> GraderSpec | None:
        """The grader of this hash; None where it is not known, or not any more. Raises InvalidGrader."""
        if digest not in self._specs and grader is None:
            return None
        return _kept(self._specs, digest, lambda: parse(grader or {}), GRADERS_KEPT)


def version() -> str:
    """Of the Fairmark that is installed here; the package's own names lie above this room."""
    return str(import_module("fairmark").__version__)


def _kept(kept: "OrderedDict[K, V]", key: K, make: Callable[[], V], most: int) -> V:
    """What is kept under the key, made where it is not; what was not asked for longest goes."""
    if key not in kept:
        kept[key] = make()
    kept.move_to_end(key)
    while len(kept) > most:
        kept.popitem(last=False)
    return kept[key]


def _try_sandbox() -> str | None:
    program = Program("def grade(sample, item):\n    return 1.0\n", "python", SANDBOX.policy.python, strict=False)
    (outcome,) = eventloop.run(SANDBOX.run(program, [({}, {})]))
    return None if outcome.failure is None else outcome.details
