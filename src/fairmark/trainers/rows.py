"""A trainer's columns as rows: what was asked, with every column beside it, is the item, and the answer the sample."""

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fairmark import jsontext
from fairmark.errors import GradingFailed, InvalidData
from fairmark.failures import in_words
from fairmark.row import UnmadeSample, is_chat, read_sample
from fairmark.text.template import Variable
from fairmark.trainers.chat import divide
from fairmark.trainers.needs import complete

ItemOf = Callable[[dict[str, Any]], Mapping[str, Any]] | Mapping[str, str]
"""How an item is made of a row's columns: a function, or a mapping of the item's names to those of columns."""
Extract = Callable[[str], str] | str
"""What of an answer is graded: a function of it, or a pattern whose first group counts, where it matches last."""

# Handed over by trainers beside the data, and never data.
_NO_COLUMNS = frozenset(
    "completion_ids prompt_ids trainer_state log_extra log_metric environments completions prompts".split()
)
NO_ANSWER = "there is no answer: the trainer handed over None."
_log = logging.getLogger("fairmark.trainers")


class _NoItem(Exception):  # a message between two methods, not an error
    """The user's `item` makes none of this row."""


class RowMaker:
    """Makes rows. Columns that are no JSON, such as tensors and functions, are left out and named in one warning.

    A row on which the user's own functions fail is a row that cannot be graded: it fails alone, and stops nobody. Only
    who can make an item of no row of the first batch is told at once, before anything is learnt.
    """

    def __init__(
        self, item: ItemOf | None = None, extract: Extract | None = None, needs: Sequence[Variable] = ()
    ) -> None:
        """Raises InvalidData: what is wrong with either is told before anything is generated."""
        _check_kinds(item, extract)
        self._item = item
        self._needs = needs
        self._extract = extract
        self._pattern = _compiled(extract) if isinstance(extract, str) else None
        if self._pattern is not None and not self._pattern.groups:
            raise InvalidData(f"extract: found {jsontext.quote(str(extract))}. It takes a pattern with a group in it.")
        self._left_out: set[str] = set()
        self._makes_items = item is None

    def rows(self, prompts: Sequence[Any], answers: Sequence[Any], columns: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Of columns that have a value for each answer; other arguments of trainers are no columns."""
        count = len(answers)
        if len(prompts) != count:
            raise InvalidData(f"prompts: found {len(prompts)} for {count} completions. There must be as many.")
        lists = {
            name: values
            for name, values in columns.items()
            if name not in _NO_COLUMNS and isinstance(values, (list, tuple)) and len(values) == count
        }
        self._tell(set(columns) - set(lists) - _NO_COLUMNS)
        rows, failures = [], []
        for index, answer in enumerate(answers):
            try:
                rows.append(self._row(prompts[index], answer, {name: values[index] for name, values in lists.items()}))
            except _NoItem as failure:
                failures.append(failure)
                rows.append(_unmade(failure))
        if failures and len(failures) == count and not self._makes_items:
            raise InvalidData(str(failures[0]))
        self._makes_items = True
        return rows

    def row(self, prompt: Any, answer: Any, columns: Mapping[str, Any]) -> dict[str, Any]:
        """One row. `prompt` is a text or a chat; None where the columns tell it. An answer of several turns, with tools
        that were called, goes on with the chat up to its last turn, which is graded."""
        try:
            return self._row(prompt, answer, columns)
        except _NoItem as failure:
            return _unmade(failure)

    def _row(self, prompt: Any, answer: Any, columns: Mapping[str, Any]) -> dict[str, Any]:
        fields = {name: value for name, value in columns.items() if name not in _NO_COLUMNS and is_data(value)}
        if len(fields) != len(columns):
            self._tell(set(columns) - set(fields) - _NO_COLUMNS)
        if isinstance(prompt, str):
            fields["prompt"] = prompt
        elif is_chat(prompt):
            before, _ = divide(answer) if is_chat(answer) else ([], None)
            fields["messages"] = [*map(dict, prompt), *before]
        return complete({"item": self._make_item(fields), "sample": self._cut(answer)}, self._needs)

    def _make_item(self, fields: dict[str, Any]) -> dict[str, Any]:
        if self._item is None:
            return fields
        if not isinstance(self._item, Mapping):
            try:
                item = self._item(fields)
            except Exception as error:  # one row that it does not take must not stop the run
                raise _NoItem(f"item: its function raised {in_words(error)}") from None
            if not isinstance(item, Mapping):
                raise _NoItem(f"item: its function returned {jsontext.describe(item)}. An item is an object.")
            return dict(item)
        for name, column in self._item.items():
            if column not in fields:
                there = ", ".join(fields) or "none"
                raise _NoItem(f"item.{name}: there is no column {jsontext.quote(column)}. There are: {there}.")
        return {**fields, **{name: fields[column] for name, column in self._item.items()}}

    def _cut(self, answer: Any) -> Any:
        """What is graded of an answer: without a match the empty text, for an answer that lacks the form has none. No
        answer at all fails: graded as the empty text it would look like a bad one."""
        if answer is None:
            return UnmadeSample(NO_ANSWER)
        if self._extract is None:
            return answer
        try:
            sample = read_sample(answer)
        except GradingFailed:
            return answer  # whoever grades it says what is wrong with it
        if self._pattern is None:
            try:
                text = self._extract(sample.text)  # type: ignore[operator]  # a pattern was compiled
            except Exception as error:  # one answer that it does not take must not stop the run
                return UnmadeSample(f"extract: its function raised {in_words(error)}")
        else:
            matches = list(self._pattern.finditer(sample.text))
            text = (matches[-1].group(1) or "") if matches else ""
        if not isinstance(text, str):
            return UnmadeSample(f"extract: its function returned {jsontext.describe(text)}. It returns a text.")
        tools = sample.members.get("output_tools")
        return {"output_text": text, "output_tools": tools} if tools else text

    def _tell(self, names: set[str]) -> None:
        new = names - self._left_out
        if new:
            self._left_out |= new
            _log.warning(
                "left out of items, because they are no JSON or not one value a row: %s", ", ".join(sorted(new))
            )


def _check_kinds(item: Any, extract: Any) -> None:
    names = isinstance(item, Mapping) and all(isinstance(name, str) for pair in item.items() for name in pair)
    if not (item is None or names or callable(item)):
        raise InvalidData(
            f"item: found {jsontext.describe(item)}. It takes a function of the columns, or a mapping of the item's "
            "names to those of columns."
        )
    if not (extract is None or isinstance(extract, str) or callable(extract)):
        raise InvalidData(f"extract: found {jsontext.describe(extract)}. It takes a pattern or a function of the text.")


def _unmade(failure: _NoItem) -> dict[str, Any]:
    return {"item": {}, "sample": UnmadeSample(str(failure))}


def _compiled(pattern: str) -> "re.Pattern[str]":
    try:
        return re.compile(pattern, re.DOTALL)
    except re.error as error:
        raise InvalidData(f"extract: {jsontext.quote(pattern)} is no regular expression: {error}.") from None


def is_data(value: Any) -> bool:
    """Whether it can stand in an item: JSON, or what numpy and pandas have for it."""
    if value is None or isinstance(value, (str, int, float)):
        return True
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and is_data(inner) for key, inner in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(is_data, value))
    return type(value).__module__.partition(".")[0] in ("numpy", "pandas") and not callable(value)
