"""Answers of a model to items that have none yet, or none of the model that will be trained: several to each item."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from fairmark import jsontext
from fairmark.errors import InvalidData, NotGraded
from fairmark.judges.base import Completion, Judge, Prompt
from fairmark.judges.chosen import ChosenJudge
from fairmark.row import first_message, is_chat
from fairmark.work import eventloop

PROMPTS = ("messages", "prompt", "question", "input", "query", "instruction", "problem")
"""Where items have what is asked; the likeliest first."""
AT_ONCE = 64
SAMPLING = {"temperature": 1.0}
"""As trainers sample: answers to one prompt are to differ."""

Row = dict[str, Any]


class Answers(NamedTuple):
    """The rows that came of it, an item's answers side by side, and why others have none."""

    rows: list[Row]
    asked: int
    failed: "Counter[str]"
    dollars: float | None


def sample_answers(
    items: Sequence[Any],
    model: str,
    count: int,
    prompt: str | None = None,
    tell: Callable[[int, float], None] = lambda asked, share: None,
    judge: Judge | None = None,
) -> Answers:
    """So many answers of the model to each item; items that are the same are one.

    `prompt`: the field of items that is asked, a text or a chat. `tell` hears how many have come, and what share of all
    that is. Raises
    InvalidData where an item has nothing to ask, and where the model answered nothing at all.
    """
    distinct = list({jsontext.encode(item): item for item in items}.values())
    prompts = [Prompt(model, messages_of(item, prompt), SAMPLING) for item in distinct]
    work = [(item, asked) for item, asked in zip(distinct, prompts, strict=True) for _ in range(count)]
    rows: list[Row] = []
    failed: Counter[str] = Counter()
    costs: list[float] = []
    for start in range(0, len(work), AT_ONCE):
        some = work[start : start + AT_ONCE]
        completions = eventloop.run((judge or ChosenJudge()).complete([asked for _, asked in some], None))
        for (item, _), completion in zip(some, completions, strict=True):
            why = _why_not(completion)
            if why is None and isinstance(completion, Completion):
                rows.append({"item": item, "sample": {"choices": completion.reply["choices"]}})
                costs += [] if completion.cost is None else [completion.cost]
            else:
                failed[why or ""] += 1
        tell(start + len(some), (start + len(some)) / len(work))
    if not rows:
        raise InvalidData(f"--sample {model}: it answered none of {len(work)} times. {failed.most_common(1)[0][0]}")
    return Answers(rows, len(work), failed, sum(costs) if costs else None)


def messages_of(item: Any, field: str | None) -> list[Mapping[str, Any]]:
    """What an item asks, as a chat. Raises InvalidData."""
    fields = item if isinstance(item, Mapping) else {}
    for name in (field,) if field is not None else PROMPTS:
        value = fields.get(name)
        if isinstance(value, str) and value:
            return [{"role": "user", "content": value}]
        if is_chat(value):
            return list(value)  # type: ignore[arg-type]  # which it is
    looked = jsontext.quote(field) if field is not None else ", ".join(PROMPTS)
    there = ", ".join(fields) or "none"
    raise InvalidData(f"--sample: an item has nothing to ask, a text or a chat, in {looked}. Its fields: {there}.")


def _why_not(completion: Completion | NotGraded) -> str | None:
    if isinstance(completion, NotGraded):
        return str(completion)
    if completion.failure is not None:
        return str(completion.failure)
    return None if first_message(completion.reply) else "the server's answer holds no message."
