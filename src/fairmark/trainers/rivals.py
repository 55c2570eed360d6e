"""Answers to one prompt that are held against each other: who meets whom.

A preference grader that names no two answers of its own compares the answers to a prompt. Each row is then told the
texts of some others, as `item.rivals`, and its reward is the share of preferences that it wins against them.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fairmark.errors import GradingFailed, InvalidGrader
from fairmark.graders.preference import Preference
from fairmark.row import read_sample
from fairmark.spec import GraderSpec

FIELD = "rivals"


def most_rivals(spec: GraderSpec) -> int:
    """How many others an answer meets by this grader, or by one inside it; 0 where none compares answers."""
    own = spec.most_rivals if isinstance(spec, Preference) and spec.is_relative else 0
    return max([own, *map(most_rivals, spec.children.values())])


def refuse_one_by_one(spec: GraderSpec) -> None:
    """For those to whom answers come one by one. Raises InvalidGrader for a grader that would have to compare them."""
    if most_rivals(spec):
        raise InvalidGrader.at(
            "$.b",
            "missing. Without a and b a preference compares the answers to a prompt, and here they come one by one. "
            'Name what an answer is held against, such as "a": "{{ sample.output_text }}", "b": '
            '"{{ item.baseline }}".',
            "missing_required_parameter",
        )


def by_prompt(prompts: Sequence[Any], rows: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """The rows that answer the same prompt, wherever they stand; without a prompt, those that have the same item."""
    return grouped(row.get("item") if prompt is None else prompt for prompt, row in zip(prompts, rows, strict=True))


def grouped(keys: Iterable[Any]) -> list[list[int]]:
    """Where equal ones stand."""
    groups: dict[str, list[int]] = {}
    for index, key in enumerate(keys):
        groups.setdefault(repr(key), []).append(index)
    return list(groups.values())


def with_rivals(
    rows: Sequence[Mapping[str, Any]], groups: Iterable[Sequence[int]], most: int
) -> list[Mapping[str, Any]]:
    """The rows, each with the texts of those that it meets. An answer that cannot be read meets nobody: whoever grades
    it says what is wrong with it, and the others do without."""
    made = list(rows)
    for group in groups:
        texts = {index: text for index in group if (text := _text(rows[index])) is not None}
        for index, rivals in meetings(texts, most).items():
            item = rows[index].get("item") or {}
            made[index] = {**rows[index], "item": {**item, FIELD: [texts[rival] for rival in rivals]}}
    return made


def meetings(texts: Mapping[int, str], most: int) -> dict[int, list[int]]:
    """Of each answer, those that it meets: all others, or if these are more than so many, its neighbours on a circle.

    Who meets is met, so that each question serves two rows. The circle is made by what the answers say and not by where
    they stand: so the same answers meet again, and what a judge has said of them is known.
    """
    circle = sorted(texts, key=lambda index: (hashlib.sha256(texts[index].encode("utf-8", "replace")).digest(), index))
    count, each_side = len(circle), most // 2
    if count - 1 <= most:
        return {index: [other for other in circle if other != index] for index in circle}
    steps = [*range(-each_side, 0), *range(1, each_side + 1)]
    return {index: [circle[(place + step) % count] for step in steps] for place, index in enumerate(circle)}


def _text(row: Mapping[str, Any]) -> str | None:
    try:
        sample = read_sample(row.get("sample"))
    except GradingFailed:
        return None
    return None if sample.is_absent else sample.text
