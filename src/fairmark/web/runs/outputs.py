"""What an output item holds, as pages show it: briefly in a table, wholly on a page of its own, never without end."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from fairmark import jsontext
from fairmark.store import Item
from fairmark.store.rows import Outcome
from fairmark.web.frame import markdown, show
from fairmark.web.frame.reasoning import Step, steps_in

LONGEST_TEXT = 50_000
LONGEST_PAGE = 200_000
"""Characters of a row that a page shows; all of it is in its JSON."""
MOST_MESSAGES = 200
BRIEF = 160
_STRUCTURE = 8
"""What a number, or the quotes of a name, take of the room."""


class ShownScore(NamedTuple):
    """What one criterion made of a row."""

    outcome: Outcome
    reward: float
    error: str | None


class Brief(NamedTuple):
    """A row in a table."""

    idx: int
    status: str
    item: list[tuple[str, str]]
    """The first fields of its item, as far as there is room."""
    sample: str
    scores: list[ShownScore | None]
    """In the order of the criteria; None where there is no result."""


class Passage(NamedTuple):
    """A text to read: made readable, and as it is."""

    text: str
    html: Markup | None
    """None where it is to be read as it is."""
    is_json: bool
    missing: int
    """How many characters of it are not shown."""


class Message(NamedTuple):
    role: str
    passage: Passage
    calls: Any
    """Of tools; None where there are none."""


class ShownJudge(NamedTuple):
    """A judge's side of a result."""

    model: str
    asked: list[Message]
    steps: list[Step]
    verdict: Any
    """The result in its own words; None where it gave none."""
    more: dict[str, Any]
    """What else its answer holds."""
    answer: Passage | None
    usage: dict[str, Any]
    cost: float | None
    finish_reason: str
    error: str | None


def brief(item: Item, criteria: Sequence[str]) -> Brief:
    """`criteria`: their ids, in the order of the columns."""
    body: dict[str, Any] = jsontext.decode(item.body)
    results = {each["name"]: each for each in body["results"]}
    scores = [score_of(results[each]) if each in results else None for each in criteria]
    fields, left = [], BRIEF
    for name, value in body["datasource_item"].items():
        if left <= 0:
            break
        words = show.compact(_start(value), left)
        fields.append((jsontext.shorten(name, 40), words))
        left -= len(name) + len(words)
    return Brief(item.idx, item.status, fields, jsontext.shorten(said_in(body["sample"]).strip(), BRIEF), scores)


def score_of(result: Mapping[str, Any]) -> ShownScore:
    return ShownScore(outcome_of(result), result["score"], result["error"])


def outcome_of(result: Mapping[str, Any]) -> Outcome:
    if result["status"] == "error":
        return "error"
    if result["status"] == "skipped":
        return "skip"
    return "pass" if result["passed"] else "fail"


def said_in(sample: Mapping[str, Any]) -> str:
    """What the model said; where it only called tools, the calls."""
    output = sample["output"]
    if not output:
        return ""
    content = output[0]["content"]
    return content if content or not output[0].get("tool_calls") else jsontext.write(output[0]["tool_calls"])


class Room:
    """How much of a row still fits on its page. What is shown takes of it; `is_cut`: something did not fit."""

    def __init__(self, characters: int = LONGEST_PAGE) -> None:
        self._left = characters
        self.is_cut = False

    def text(self, text: str) -> str:
        """The start of it, as far as it fits."""
        shown = text[: max(0, min(self._left, LONGEST_TEXT))]
        self._left -= len(shown)
        self.is_cut = self.is_cut or len(shown) < len(text)
        return shown

    def passage(self, text: str) -> Passage:
        shown = self.text(text)
        missing = len(text) - len(shown)
        value = None if missing else _json_in(text)
        html = markdown.render(shown) if value is None else show.json(value)
        return Passage(shown, html, value is not None, missing)

    def fit(self, value: Any) -> Any:
        """The value with as much inside as there is room for; an ellipsis stands for the rest."""
        match value:
            case str():
                shown = self.text(value)
                return shown if len(shown) == len(value) else f"{shown}…"
            case dict():
                kept: dict[str, Any] = {}
                for name, inner in value.items():
                    if not self._take(len(name) + _STRUCTURE):
                        kept["…"] = "…"
                        break
                    kept[name] = self.fit(inner)
                return kept
            case list():
                parts: list[Any] = []
                for inner in value:
                    if not self._take(_STRUCTURE):
                        parts.append("…")
                        break
                    parts.append(self.fit(inner))
                return parts
            case _:
                self._take(_STRUCTURE)
                return value

    def messages(self, given: Sequence[Mapping[str, Any]]) -> list[Message]:
        if len(given) > MOST_MESSAGES:
            self.is_cut = True
        return [
            Message(
                str(each.get("role") or "unknown"),
                self.passage(_content(each.get("content"))),
                self.fit(each["tool_calls"]) if each.get("tool_calls") else None,
            )
            for each in given[:MOST_MESSAGES]
        ]

    def judge(self, sample: Mapping[str, Any]) -> ShownJudge:
        output = sample.get("output") or []
        answer = str(output[0].get("content") or "") if output else ""
        said = _json_in(answer)
        structured = said if isinstance(said, dict) else {}
        steps = steps_in(structured)
        more = {name: value for name, value in structured.items() if name not in ("steps", "result")}
        error = sample.get("error") or {}
        return ShownJudge(
            model=str(sample.get("model") or ""),
            asked=self.messages(sample.get("input") or []),
            steps=[Step(self.text(each.description), self.text(each.conclusion)) for each in steps[:MOST_MESSAGES]],
            verdict=self.fit(structured.get("result")),
            more=self.fit(more),
            answer=self.passage(answer) if answer else None,
            usage=dict(sample.get("usage") or {}),
            cost=sample.get("cost"),
            finish_reason=str(sample.get("finish_reason") or ""),
            error=error.get("message"),
        )

    def _take(self, characters: int) -> bool:
        self._left -= characters
        if self._left < 0:
            self.is_cut = True
        return self._left >= 0


def _start(value: Any) -> Any:
    """As much of a value as a line could need: five megabytes of it need not be written to see their start."""
    match value:
        case str():
            return value[: BRIEF + 1]
        case dict():
            return {name: _start(inner) for name, inner in list(value.items())[:BRIEF]}
        case list():
            return [_start(inner) for inner in value[:BRIEF]]
        case _:
            return value


def _content(content: Any) -> str:
    return content if isinstance(content, str) else "" if content is None else jsontext.write(content)


def _json_in(text: str) -> Any:
    """The object or list that the text is; None where it is none, or too long to be shown as one."""
    if len(text) > LONGEST_TEXT or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = jsontext.decode(text)
    except jsontext.NotJson:
        return None
    return None if jsontext.deeper_than(value, jsontext.MAX_DEPTH) else value
