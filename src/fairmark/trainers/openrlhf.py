"""OpenRLHF: `fairmark reward-server` behind `--reward.remote_url`, or a function in a file that it names.

In the file: `reward_func = fairmark.trainers.openrlhf.reward("grader.json")`.
"""

import logging
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairmark import jsontext
from fairmark.errors import InvalidData
from fairmark.parse import Grader
from fairmark.result import Result
from fairmark.spec import GraderSpec
from fairmark.trainers.single import SingleReward

# How tokenizers mark the end of a turn. OpenRLHF decodes with these left in.
_END_MARK = re.compile(r"(?:<\|[^|<>\s]{1,40}\|>|<｜[^｜<>\s]{1,40}｜>|</s>|<eos>|<end_of_turn>|<pad>)\Z")
_LONGEST_MARK = 44
_BEGIN_MARKS = re.compile(r"(?:\s*(?:<\|[^|<>\s]{1,40}\|>|<｜[^｜<>\s]{1,40}｜>|<s>|<bos>))+")
_log = logging.getLogger("fairmark.trainers")
_told: set[str] = set()


class OpenRlhfReward(SingleReward):
    """`reward_func(queries, prompts, labels)`, called in threads with lists of one. It takes nothing but numbers: a
    failure is 0, and 1 in `fairmark/error`. Masked, its score is NaN, by which dynamic filtering drops its group."""

    errors_become = "zero"
    can_mask = True

    def __call__(
        self, queries: Sequence[str], prompts: Sequence[str] | None = None, labels: Sequence[Any] | None = None
    ) -> dict[str, Any]:
        rows = [self._row(row) for row in rows_of(queries, prompts, labels)]
        results = [self.gatherer.grade(rows[0])] if len(rows) == 1 else self.grade(rows)
        rewards = [0.0 if reward is None else reward for reward in self.rewards(results)]
        masked = self.options.on_error == "mask"
        scores = [
            math.nan if masked and not result.ok else reward for result, reward in zip(results, rewards, strict=True)
        ]
        return {"rewards": rewards, "scores": scores, "extra_logs": extra_logs(self.spec, results)}

    def _row(self, row: dict[str, Any]) -> dict[str, Any]:
        return self.maker.row(None, row["sample"], row["item"])


def reward(grader: Grader | Path, **options: Any) -> OpenRlhfReward:
    """A `reward_func` for a file behind `--reward.remote_url`. Raises InvalidGrader."""
    return OpenRlhfReward(grader, **options)


def rows_of(
    queries: Sequence[str | None],
    prompts: Sequence[str | None] | None = None,
    labels: Sequence[Any] | None = None,
) -> list[dict[str, Any]]:
    """OpenRLHF's columns as rows. The sample is the query without its prompt and without the marks at its end.

    The item has `query`, `prompt` and `label`, and the fields of a label that is an object, or the text of one. Raises
    InvalidData where there are more or fewer of one than of the others.
    """
    for name, column in (("queries", queries), ("prompts", prompts), ("labels", labels)):
        if isinstance(column, str):
            raise InvalidData(f"{name}: found a string ({jsontext.quote(column)}). It takes a list, one for each row.")
        if column is not None and len(column) != len(queries):
            raise InvalidData(f"{name}: found {len(column)} for {len(queries)} queries. There must be as many.")
    rows = []
    for index, query in enumerate(queries):
        prompt = (prompts[index] if prompts is not None else None) or ""
        label = None if labels is None else _read_label(labels[index])
        more = label if isinstance(label, dict) else {}
        item = {**more, "query": query, "prompt": prompt}
        if label is not None:
            item["label"] = label
        rows.append({"item": item, "sample": None if query is None else _answer(query, prompt)})
    return rows


def _answer(query: str, prompt: str) -> str:
    """The query without its prompt, and without the marks at its end. A tokenizer that writes a prompt anew may change
    the space in it, and put a mark before it. A query without its prompt is an answer alone."""
    if query.startswith(prompt):
        return without_end_marks(query[len(prompt) :])
    mark = _BEGIN_MARKS.match(query)
    for begin in (0, mark.end() if mark else 0):
        end = _end_of(prompt, query[begin:])
        if end is not None:
            return without_end_marks(query[begin + end :])
    _tell_once("a query does not begin with its prompt, and is graded whole: %s", jsontext.quote(query))
    return without_end_marks(query)


def _end_of(prompt: str, query: str) -> int | None:
    """Where a prompt ends in its query, whatever the space in both; None where the query begins otherwise."""
    letters = (letter for letter in prompt if not letter.isspace())
    wanted = next(letters, None)
    for place, letter in enumerate(query):
        if wanted is None:
            return place
        if letter.isspace():
            continue
        if letter != wanted:
            return None
        wanted = next(letters, None)
    return len(query) if wanted is None else None


def without_end_marks(text: str) -> str:
    """Without the marks at its end, and the space around them; a text that ends with none stays as it is. One at a time
    from the end: a model that says nothing but marks must not take longer than its length."""
    end = kept = len(text)
    while True:
        while end and text[end - 1].isspace():
            end -= 1
        mark = _END_MARK.search(text[max(0, end - _LONGEST_MARK) : end])
        if mark is None:
            return text[:end] if kept < len(text) else text
        end = kept = end - len(mark[0])


def _tell_once(message: str, *values: str) -> None:
    if message not in _told:
        _told.add(message)
        _log.warning(message, *values)


def extra_logs(spec: GraderSpec, results: Sequence[Result]) -> dict[str, list[float]]:
    """What is plotted. Names have our prefix, for the trainer puts them beside its own, and do not depend on rows."""
    logs = {"fairmark/error": [float(not result.ok) for result in results]}
    for name in spec.children:
        logs[f"fairmark/{name}"] = [result.grade.sub_rewards.get(name, 0.0) for result in results]
    return logs


def _read_label(label: Any) -> Any:
    """Labels are text in most data sets: that of an object is read as one."""
    if not isinstance(label, str) or not label.lstrip().startswith("{"):
        return label
    try:
        value = jsontext.decode(label.encode())
    except (jsontext.NotJson, UnicodeEncodeError):
        return label
    return value if isinstance(value, dict) and not jsontext.deeper_than(value, jsontext.MAX_DEPTH) else label
