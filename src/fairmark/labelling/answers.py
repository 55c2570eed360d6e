"""The rows of a stored run, as raters and statistics see them: what was answered, and what the judge said of it."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from fairmark import jsontext
from fairmark.errors import GradingFailed
from fairmark.evals.criteria import load_criteria
from fairmark.evals.foreign import readable
from fairmark.evals.regrade import row_of
from fairmark.labelling.question import LabelQuestion
from fairmark.outcomes import GRADED
from fairmark.row import make_row, read_sample
from fairmark.store import Item, Run, Store
from fairmark.store.views.columns import Columns
from fairmark.text.template import Template
from fairmark.trust.results import GradedRow, GradedRun


class RunAnswer(NamedTuple):
    """One row: the item, the answer as a line of labels has it, who answered."""

    idx: int
    item: dict[str, Any]
    sample: Any
    """A text where it is no more than one."""
    text: str
    model: str | None


def answer_of(item: Item) -> RunAnswer:
    row, sample, _, _ = row_of(item.body)
    text = text_of(sample)
    model = sample.get("model") if isinstance(sample, dict) else None
    return RunAnswer(item.idx, row, text if _is_plain(sample) else sample, text, model)


def text_of(sample: Any) -> str:
    """The answer's text; "" where there is none."""
    try:
        return read_sample(sample).text
    except GradingFailed:
        return ""


def _is_plain(sample: Any) -> bool:
    match sample:
        case {"choices": [{"message": {"content": str(), **others}}]}:
            return set(others) == {"role"}
        case _:
            return False


async def answers(store: Store, run: Run, indexes: Sequence[int]) -> dict[int, RunAnswer]:
    """Those rows, by index, as far as they are there."""
    by_index: dict[int, RunAnswer] = {}
    for at in range(0, len(indexes), 200):
        items = await store.rows.at(run, indexes[at : at + 200])
        by_index |= await asyncio.to_thread(_read, items)
    return by_index


def _read(items: Sequence[Item]) -> dict[int, RunAnswer]:
    return {item.idx: answer_of(item) for item in items}


def sides_of(
    criteria: Sequence[dict[str, Any]], question: LabelQuestion, item: dict[str, Any], sample: Any
) -> dict[str, Any]:
    """The two answers of a row that a grader of pairs compares: where it says they stand, else in the item."""
    spec = load_criteria(criteria)[question.place].spec if question.place is not None else None
    sides = {}
    for side in ("a", "b"):
        template = getattr(spec, side, None)
        if not isinstance(template, Template):
            sides[side] = item.get(side)
            continue
        try:
            sides[side] = template.render(make_row(item, sample))
        except GradingFailed:
            sides[side] = None
    return sides


class JudgedRow(NamedTuple):
    reward: float
    passed: bool


async def judged(store: Store, run: Run, question: LabelQuestion) -> dict[int, JudgedRow]:
    """What the judge said of each row, as far as it could grade it."""
    columns = await store.columns.of(run)
    return await asyncio.to_thread(_judged, columns, question.place)


def _judged(columns: Columns, place: int | None) -> dict[int, JudgedRow]:
    if place is None:
        return {
            idx: JudgedRow(float(status == 0), status == 0)
            for idx, status in zip(columns.idx, columns.status, strict=True)
            if status < 2
        }
    if place >= len(columns.outcomes):
        return {}
    return {
        idx: JudgedRow(score, outcome == 0)
        for idx, outcome, score in zip(columns.idx, columns.outcomes[place], columns.scores[place], strict=True)
        if outcome in GRADED
    }


async def verdicts(
    store: Store, run: Run, criteria: Sequence[dict[str, Any]], question: LabelQuestion, indexes: Sequence[int]
) -> dict[int, str]:
    """The judge's own label of those rows, where it gave one."""
    labels: dict[int, str] = {}
    if question.place is None:
        return labels
    for at in range(0, len(indexes), 200):
        items = await store.rows.at(run, indexes[at : at + 200])
        labels |= await asyncio.to_thread(_labels, items, criteria, question)
    return labels


def _labels(items: Sequence[Item], criteria: Sequence[dict[str, Any]], question: LabelQuestion) -> dict[int, str]:
    labels = {}
    for item in items:
        results = readable(item.body, criteria)["results"]
        result = next((result for result in results if result["name"] == question.criterion), None)
        label = None if result is None else _said(result)
        if label is not None:
            labels[item.idx] = label
    return labels


def _said(result: dict[str, Any]) -> str | None:
    """What most of its judges said; None where they are split, or said nothing."""
    words = Counter(
        word for judge in result.get("judgements") or [result.get("sample")] if (word := _word(judge)) is not None
    ).most_common()
    return words[0][0] if words and (len(words) == 1 or words[0][1] > words[1][1]) else None


def _word(judge: Any) -> str | None:
    match judge:
        case {"output": [{"content": str() as content}, *_]}:
            try:
                said = jsontext.decode(content)
            except jsontext.NotJson:
                return None
            word = said.get("result") if isinstance(said, dict) else None
            return word if isinstance(word, str) else None
        case _:
            return None


def graded_run(name: str, rows: dict[int, JudgedRow], texts: dict[int, RunAnswer] | None = None) -> GradedRun:
    """For what takes rows of results: an index stands for item and answer, or the answer for itself."""
    return GradedRun(
        name,
        name,
        [
            GradedRow({"row": idx}, idx if texts is None else texts[idx].text, row.reward, row.passed)
            for idx, row in rows.items()
            if texts is None or idx in texts
        ],
    )


async def results_of(store: Store, run: Run, question: LabelQuestion) -> GradedRun:
    """All graded rows of a stored run, as a results file would have them."""
    said = await judged(store, run, question)
    rows: list[GradedRow] = []
    async for items in store.rows.stream(run):
        for idx, answer in (await asyncio.to_thread(_read, items)).items():
            if idx in said:
                rows.append(GradedRow(answer.item, answer.sample, said[idx].reward, said[idx].passed))
    return GradedRun(run.id, question.name, rows)
