"""Runs that a scripted judge has graded, and people who label them."""

from collections.abc import Callable, Sequence
from typing import Any

from fairmark.labelling.calls import read_label
from fairmark.labelling.question import LabelQuestion, criteria_of, question_for
from fairmark.store import Eval, NewLabel, Run, Store
from tests.evals.working import new_run, worked_off

EXACT = {
    "type": "string_check",
    "name": "exact",
    "input": "{{ sample.output_text }}",
    "reference": "good",
    "operation": "eq",
}


def rows(count: int, good: Callable[[int], bool] = lambda index: index % 2 == 0) -> list[dict[str, Any]]:
    """Rows that the criterion EXACT passes where they are good."""
    return [
        {"item": {"n": index, "id": f"q{index}"}, "sample": {"output_text": "good" if good(index) else f"bad {index}"}}
        for index in range(count)
    ]


async def graded(
    store: Store, count: int = 20, criteria: Sequence[dict[str, Any]] = (EXACT,), project: str = "default"
) -> tuple[Eval, Run]:
    run, _ = await worked_off(store, await new_run(store, list(criteria), rows(count), project=project))
    eval_ = await store.evals.get(project, run.eval_id)
    assert eval_ is not None
    return eval_, run


def question(eval_: Eval, run: Run, kind: Any = "label", criterion: str | None = None) -> LabelQuestion:
    return question_for(criteria_of(eval_, run), criterion, kind)


async def say(
    store: Store, eval_: Eval, run: Run, values: dict[int, Any], rater: str = "kim", kind: Any = "label", **more: Any
) -> None:
    """What a rater says of rows, by their indexes."""
    asked = question(eval_, run, kind, more.pop("criterion", None))
    labels: list[NewLabel] = [read_label(asked, idx, {kind: value, **more}, rater) for idx, value in values.items()]
    assert await store.labels.put(run, labels) is not None
