"""The questions of a check, and how they are asked: by the ordinary road of judges, each of them once."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from fairmark import jsontext
from fairmark.judges.base import Budget, Judge
from fairmark.judges.repeating import Repeating
from fairmark.run import context, graded_chunks, shared_context
from fairmark.trust.subject import Opinion, Subject, Variant

Answers = MutableMapping[str, Opinion]
"""What is known, by the key of its question. Who keeps it can go on with a check: what is in it is not asked again."""


@dataclass(frozen=True)
class Ask:
    """One thing that a check wants to know: a row, perhaps changed, before a version of the grader.

    `repeat`: 0 is the answer that the grader gives anyhow, which may come from the cache; higher ones are asked anew.
    """

    probe: str
    case: str
    row: int
    item: Mapping[str, Any]
    sample: Any
    variant: Variant = ""
    repeat: int = 0

    @cached_property
    def key(self) -> str:
        """Equal questions have equal keys, whichever probe they belong to."""
        content = jsontext.encode([self.item, self.sample, self.variant, self.repeat])
        return hashlib.sha256(content).hexdigest()[:24]


async def ask_all(
    subject: Subject,
    asks: Iterable[Ask],
    answers: Answers,
    judge: Judge | None = None,
    budget: Budget | None = None,
    on_answer: Callable[[int], None] | None = None,
    owner: str = "",
) -> None:
    """Fills in the answers that are not known. Whatever fails stands on its answer; what was skipped for want of budget
    is left out, and asked when there is some. `owner`: whose questions they are, on an event loop that others need too.

    All versions and repeats are under way at once, within the limits of judges.
    """
    from fairmark.work import eventloop

    unknown: dict[str, Ask] = {}
    for ask in asks:
        if ask.key not in answers:
            unknown.setdefault(ask.key, ask)
    batches: dict[tuple[Variant, int], list[Ask]] = {}
    for ask in unknown.values():
        batches.setdefault((ask.variant, ask.repeat), []).append(ask)

    async def grade(variant: Variant, repeat: int, batch: list[Ask]) -> None:
        ctx = (shared_context if owner else context)(judge, budget or Budget(), owner)
        if repeat:
            ctx = replace(ctx, judge=Repeating(ctx.judge, repeat))
        rows = [{"item": ask.item, "sample": ask.sample} for ask in batch]
        place = 0
        async for results in graded_chunks(subject.variant(variant), rows, ctx):
            for result in results:
                answer = subject.answer(result)
                if not is_unpaid(answer):
                    answers[batch[place].key] = answer
                place += 1
            if on_answer is not None:
                on_answer(len(results))

    await eventloop.together(grade(*key, batch) for key, batch in batches.items())


def is_unpaid(answer: Opinion) -> bool:
    """Whether it was not asked for want of budget."""
    return answer.skipped is not None and answer.skipped.startswith("not asked")
