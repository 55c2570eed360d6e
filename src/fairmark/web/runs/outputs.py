"""What an output item holds, as pages show it: briefly in a table, wholly on a page of its own, never without end."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from fairmark import jsontext
from fairmark.evals.foreign import readable
from fairmark.result import is_split
from fairmark.store import Item
from fairmark.store.views.rows import Outcome
from fairmark.web.frame import markdown, show
from fairmark.web.frame.media import Media, in_content
from fairmark.web.frame.reasoning import ReasoningStep, steps_in

LONGEST_TEXT = 50_000
LONGEST_PAGE = 200_000
"""Characters of a row that a page shows; all of it is in its JSON."""
MOST_MESSAGES = 200
LONG_TEXT, LONG_LINES = 3_000, 40
"""Beyond these a text is folded until somebody wants all of it."""
LONGEST_MEDIA = 8_000_000
BRIEF = 160
_STRUCTURE = 8
"""What a number, or the quotes of a name, take of the room."""


class ShownScore(NamedTuple):
    """What one criterion made of a row."""

    outcome: Outcome
    reward: float
    error: str | None
    split: bool = False
    """Whether its judges were not of one mind."""


class Brief(NamedTuple):
    """A row in a table."""

    idx: int
    status: str
    item: list[tuple[str, str]]
    """The first fields of its item, as far as there is room."""
    sample: str
    scores: list[ShownScore | None]
    """In the order of the criteria; None where there is no result."""
    own: list[str | None]
    """Of the fields that have columns of their own; None where it has no such field."""
    names: list[str]
    """Of all its fields."""


class Passage(NamedTuple):
    """A text to read: made readable, and as it is."""

    text: str
    html: Markup | None
    """None where it is to be read as it is."""
    is_json: bool
    missing: int
    """How many characters of it are not shown."""
    media: list[Media]

    @property
    def is_long(self) -> bool:
        """Whether it is folded at first."""
        return len(self.text) > LONG_TEXT or self.text.count("\n") > LONG_LINES

    @property
    def is_empty(self) -> bool:
        return not self.text and not self.media


class ShownCall(NamedTuple):
    """Of a tool."""

    name: str
    brief: str
    """Its arguments in a line."""
    tree: Markup


class Message(NamedTuple):
    role: str
    passage: Passage
    calls: list[ShownCall]
    answers: str
    """The id of the call that a tool's message answers; empty where it is none."""


class ShownJudge(NamedTuple):
    """A judge's side of a result."""

    model: str
    asked: list[Message]
    steps: list[ReasoningStep]
    verdict: Any
    """The result in its own words; None where it gave none."""
    more: dict[str, Any]
    """What else its answer holds."""
    answer: Passage | None
    usage: dict[str, Any]
    cost: float | None
    latency: float | None
    """Seconds; None where nobody noted it."""
    cached: bool
    finish_reason: str
    error: str | None
    differs: bool = False
    """Whether its verdict is another than the panel's."""


def brief(item: Item, criteria: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> Brief:
    """`criteria`: in the order of the columns. `columns`: fields of the item that have one of their own."""
    body = readable(item.body, criteria)
    results = {result["name"]: result for result in body["results"]}
    scores = [score_of(results[criterion["id"]]) if criterion["id"] in results else None for criterion in criteria]
    fields, left = [], BRIEF
    for name, value in body["datasource_item"].items():
        if left <= 0:
            break
        words = show.compact(_start(value), left)
        fields.append((jsontext.shorten(name, 40), words))
        left -= len(name) + len(words)
    own = [
        show.compact(_start(body["datasource_item"][name]), BRIEF) if name in body["datasource_item"] else None
        for name in columns
    ]
    names = [str(name) for name in body["datasource_item"]]
    said = jsontext.shorten(said_in(body["sample"]).strip(), BRIEF)
    return Brief(item.idx, item.status, fields, said, scores, own, names)


def score_of(result: Mapping[str, Any]) -> ShownScore:
    return ShownScore(outcome_of(result), result["score"], result["error"], is_split(result.get("spread")))


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
        self._media_left = LONGEST_MEDIA
        self.is_cut = False

    def text(self, text: str) -> str:
        """The start of it, as far as it fits."""
        shown = text[: max(0, min(self._left, LONGEST_TEXT))]
        self._left -= len(shown)
        self.is_cut = self.is_cut or len(shown) < len(text)
        return shown

    def passage(self, content: Any) -> Passage:
        """Of a text, or of a message's content."""
        text, media = in_content(content)
        shown = self.text(text)
        missing = len(text) - len(shown)
        value = None if missing else _json_in(text)
        html = markdown.render(shown) if value is None else show.tree(value)
        return Passage(shown, html, value is not None, missing, self._fitting(media))

    def _fitting(self, media: list[Media]) -> list[Media]:
        """As many pictures and sounds as a page may carry; of others only what they are."""
        kept = []
        for one in media:
            self._media_left -= len(one.source)
            if self._media_left < 0:
                self.is_cut = True
            kept.append(one if self._media_left >= 0 else Media("unknown", one.source[:60]))
        return kept

    def calls(self, calls: Any) -> list[ShownCall]:
        listed = calls if isinstance(calls, list) else [calls] if calls else []
        return [self._call(call) for call in listed[:MOST_MESSAGES]]

    def _call(self, call: Any) -> ShownCall:
        called = (
            call.get("function") if isinstance(call, Mapping) and isinstance(call.get("function"), Mapping) else call
        )
        if not isinstance(called, Mapping):
            return ShownCall("", show.compact(_start(call), BRIEF), show.tree(self.fit(call)))
        name, arguments = called.get("name"), called.get("arguments", called.get("input"))
        value = _json_in(arguments) if isinstance(arguments, str) else arguments
        shown = self.fit(arguments if value is None else value)
        return ShownCall(name if isinstance(name, str) else "", show.compact(_start(shown), BRIEF), show.tree(shown))

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

    def messages(self, messages: Sequence[Mapping[str, Any]]) -> list[Message]:
        if len(messages) > MOST_MESSAGES:
            self.is_cut = True
        return [
            Message(
                str(message.get("role") or "unknown"),
                self.passage(message.get("content")),
                self.calls(message.get("tool_calls") or message.get("function_call")),
                str(message.get("tool_call_id") or "")[:80],
            )
            for message in messages[:MOST_MESSAGES]
        ]

    def judge(self, sample: Mapping[str, Any]) -> ShownJudge:
        output = sample.get("output") or []
        answer = str(output[0].get("content") or "") if output else ""
        said = _json_in(answer)
        structured = said if isinstance(said, dict) else {}
        steps = steps_in(structured)
        # What was read from the answer, where the item tells it: the answer itself may be in plain words.
        verdict = structured.get("result") if sample.get("result") is None else sample["result"]
        more = {name: value for name, value in structured.items() if name not in ("steps", "result")}
        error = sample.get("error") or {}
        return ShownJudge(
            model=str(sample.get("model") or ""),
            asked=self.messages(sample.get("input") or []),
            steps=[
                ReasoningStep(self.text(step.description), self.text(step.conclusion)) for step in steps[:MOST_MESSAGES]
            ],
            verdict=self.fit(verdict),
            more=self.fit(more),
            answer=self.passage(answer) if answer else None,
            usage=dict(sample.get("usage") or {}),
            cost=sample.get("cost"),
            latency=sample.get("latency"),
            cached=sample.get("cached") is True,
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


def _json_in(text: str) -> Any:
    """The object or list that the text is; None where it is none, or too long to be shown as one."""
    if len(text) > LONGEST_TEXT or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = jsontext.decode(text)
    except jsontext.NotJson:
        return None
    return None if jsontext.deeper_than(value, jsontext.MAX_DEPTH) else value
