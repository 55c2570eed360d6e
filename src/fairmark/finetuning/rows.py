"""The rows of a training or validation file: `{"messages": […], …}` a line. What is wrong with them is told by line.

A row's item is the row: its messages, and whatever else it has. An answer that it brings along, an assistant's message
at the end of `messages`, is no part of the item: it is what the baseline grades. Answers may also stand in a file of
their own, one a line, in the order of the rows.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, NamedTuple

from fairmark import jsontext
from fairmark.errors import GradingFailed
from fairmark.finetuning.aside import Stopped, WorkStopped
from fairmark.finetuning.paths import missing_in
from fairmark.row import content_text, read_sample
from fairmark.text.template import Variable

LONGEST_ROW = 8_000_000
"""In bytes. What is longer would hold others up while it is read."""
ROLES = ("system", "developer", "user", "assistant", "tool", "function")
KINDS_TOLD = 20
"""How many kinds of problems are told apart, for each file."""
LINES_TOLD = 5
MOST_COMPARED = 500_000
"""Rows of a file that are held against those of the other one."""
_BOM = b"\xef\xbb\xbf"


class WrongRow(Exception):  # a message inside this room
    """A line that is no row."""


class TrainingRow(NamedTuple):
    line: int
    item: dict[str, Any]
    """The row with `messages` up to where a model would answer."""
    answer: Any
    """The sample that it brings along; None where it has none."""


class Problems:
    """What is wrong with the rows of one file, grouped, with the number of rows and the first lines."""

    def __init__(self) -> None:
        self._lines: dict[str, list[int]] = {}
        self._counts: dict[str, int] = {}
        self.others = 0
        """Problems beyond the kinds that are told apart."""

    def add(self, line: int, message: str) -> None:
        if message not in self._counts and len(self._counts) >= KINDS_TOLD:
            self.others += 1
            return
        self._counts[message] = self._counts.get(message, 0) + 1
        lines = self._lines.setdefault(message, [])
        if len(lines) < LINES_TOLD:
            lines.append(line)

    def __bool__(self) -> bool:
        return bool(self._counts)

    def told(self) -> list[str]:
        """A text for each kind, the most frequent first."""
        ordered = sorted(self._counts, key=lambda message: -self._counts[message])
        texts = [f"{_lines(self._lines[message], self._counts[message])}: {message}" for message in ordered]
        return [*texts, f"{self.others:,} more problems are not told apart."] if self.others else texts


def _lines(first: list[int], count: int) -> str:
    if count == 1:
        return f"line {first[0]}"
    more = f" and {count - len(first):,} more" if count > len(first) else ""
    return f"{count:,} rows, lines {', '.join(map(str, first))}{more}"


class Checked(NamedTuple):
    """What a file is."""

    rows: int
    answers: int
    """How many rows have an answer that can be graded."""
    with_tools: int
    problems: Problems
    unfilled: Problems
    """Paths of the grader that rows lack."""
    never_filled: list[str]
    """Those that no row has."""
    hashes: set[int]


def check_file(path: Path, answers: Path | None, asked: list[Variable], stopped: Stopped) -> Checked:
    """Reads every row once. Blocks; raises WorkStopped, or OSError where a file is gone."""
    problems, unfilled = Problems(), Problems()
    rows = answered = with_tools = 0
    hashes: set[int] = set()
    lacking: Counter[str] = Counter()
    for row in read_rows(path, answers):
        if stopped():
            raise WorkStopped
        if not isinstance(row, TrainingRow):
            problems.add(*row)
            continue
        rows += 1
        answered += row.answer is not None
        with_tools += bool(row.item.get("tools"))
        if len(hashes) < MOST_COMPARED:
            hashes.add(_hash(row.item))
        for variable, message in missing_in(row.item, asked):
            lacking[variable] += 1
            unfilled.add(row.line, message)
    never = [variable for variable, count in lacking.items() if count == rows]
    return Checked(rows, answered, with_tools, problems, unfilled, never, hashes)


def read_rows(path: Path, answers: Path | None = None) -> Iterator[TrainingRow | tuple[int, str]]:
    """The rows, or for a line that is none its number and what is wrong."""
    with ExitStack() as stack:
        lines = _values(stack.enter_context(path.open("rb")))
        if answers is None:
            for number, value in lines:
                yield _one(number, value, None)
            return
        beside = _values(stack.enter_context(answers.open("rb")))
        number = 0
        for number, value in lines:
            answer = next(beside, None)
            if answer is None:
                yield number, "the answers have fewer lines than there are rows."
                return
            yield _one(number, value, answer)
        if next(beside, None) is not None:
            yield number, "the answers have more lines than there are rows."


def _one(number: int, value: Any, answer: tuple[int, Any] | None) -> TrainingRow | tuple[int, str]:
    try:
        if isinstance(value, WrongRow):
            raise value
        row = _row(number, value)
        if answer is None:
            return row
        if isinstance(answer[1], WrongRow):
            raise WrongRow(f"its answer, in another file: {answer[1]}")
        return row._replace(answer=_answer(answer[1]))
    except WrongRow as wrong:
        return number, str(wrong)


def _values(stream: IO[bytes]) -> Iterator[tuple[int, Any]]:
    """The JSON of each line that is not blank. One that cannot be read is given as the WrongRow it is."""
    number = 0
    while line := stream.readline(LONGEST_ROW + 1):
        number += 1
        if len(line) > LONGEST_ROW:
            yield number, WrongRow(f"longer than {LONGEST_ROW // 1_000_000} MB.")
            while line and not line.endswith(b"\n"):
                line = stream.readline(LONGEST_ROW)
            continue
        text = (line.removeprefix(_BOM) if number == 1 else line).strip()
        if not text:
            continue
        try:
            value = jsontext.decode(text)
        except jsontext.NotJson as error:
            yield number, WrongRow(f"not JSON: {_plain(str(error))}. A file is JSONL: an object a line.")
            continue
        if jsontext.deeper_than(value, jsontext.MAX_DEPTH):
            value = WrongRow(f"nested deeper than {jsontext.MAX_DEPTH} levels.")
        yield number, value


def _plain(reason: str) -> str:
    """Without the column, so that the same mistake in a thousand lines is one problem."""
    return reason.partition(" at column")[0]


def _row(number: int, value: Any) -> TrainingRow:
    if not isinstance(value, dict):
        raise WrongRow(f'found {_kind(value)}. A row is an object: {{"messages": […], …}}.')
    messages = value.get("messages")
    if not isinstance(messages, list) or not messages:
        shown = "missing" if "messages" not in value else "empty" if messages == [] else f"found {_kind(messages)}"
        raise WrongRow(f'messages: {shown}. It takes a list: [{{"role": "user", "content": …}}, …].')
    for index, message in enumerate(messages):
        _check_message(index, message)
    _check_tools(value.get("tools"))
    answer = None
    if messages[-1]["role"] == "assistant":
        answer = _answer(messages[-1])
        messages = messages[:-1]
        if not messages:
            raise WrongRow("messages: there is nothing that a model could answer, only an assistant's message.")
    return TrainingRow(number, {**value, "messages": messages}, answer)


def _check_message(index: int, message: Any) -> None:
    where = f"messages[{index}]"
    if not isinstance(message, dict):
        raise WrongRow(f"{where}: found {_kind(message)}. A message is an object.")
    if message.get("role") not in ROLES:
        role = message.get("role")
        shown = "missing" if role is None else jsontext.quote(role) if isinstance(role, str) else _kind(role)
        raise WrongRow(f"{where}.role: found {shown}. Use one of: {', '.join(ROLES)}.")
    content = message.get("content")
    if isinstance(content, str) or (isinstance(content, list) and content):
        return
    if content is None and message["role"] == "assistant" and (message.get("tool_calls") or message.get("refusal")):
        return
    shown = "missing" if content is None else "an empty list" if content == [] else _kind(content)
    raise WrongRow(f"{where}.content: found {shown}. It takes a string or a list of parts.")


def _check_tools(tools: Any) -> None:
    if tools is None:
        return
    if not isinstance(tools, list):
        raise WrongRow(f"tools: found {_kind(tools)}. It takes a list.")
    for index, tool in enumerate(tools):
        match tool:
            case {"type": "function", "function": {"name": str()}}:
                pass
            case _:
                raise WrongRow(f'tools[{index}]: expected {{"type": "function", "function": {{"name": …}}}}.')


def _answer(answer: Any) -> Any:
    """A sample that can be graded; None where the row says that it has none."""
    if isinstance(answer, dict) and answer.keys() <= {"sample", "item"} and "sample" in answer:
        answer = answer["sample"]
    if answer is None or answer == {}:
        return None
    try:
        read_sample(answer)
    except GradingFailed as failure:
        raise WrongRow(f"its answer: {failure}") from None
    return answer


def _kind(value: Any) -> str:
    """What a value is, without the value: rows that are wrong in the same way are told together."""
    if isinstance(value, bool) or value is None:
        return jsontext.describe(value)
    kinds = {dict: "an object", list: "a list", str: "a string", int: "a number", float: "a number"}
    return kinds.get(type(value), type(value).__name__)


def _hash(item: dict[str, Any]) -> int:
    texts = [content_text(message.get("content")) for message in item["messages"]]
    return int.from_bytes(hashlib.blake2b(jsontext.encode(texts), digest_size=8).digest())
