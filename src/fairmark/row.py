"""A row: the item (what was asked) and the sample (what a model answered), in the shape templates see them."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from fairmark import jsontext
from fairmark.errors import GradingFailed

NO_SAMPLE = "this row has no sample: sample.output_text is the empty text"
# Where rows from elsewhere have what a model said; the likeliest first. In an item, `answer` is mostly the reference.
SAMPLE_LIKE = (
    "sample", "response", "completion", "output", "output_text", "model_output", "model_response", "prediction",
    "generation", "generated_text", "reply", "samples", "responses", "completions", "outputs", "answer",
)  # fmt: skip
_SHAPES = (
    "a text, an object with output_text, a chat completion, a message with its content, or a chat as a list of messages"
)
# What a message may say instead of a content.
_WITHOUT_CONTENT = ("tool_calls", "function_call", "refusal", "audio")


class Sample:
    """A model's output. `text` is there at once; the other members are worked out when somebody asks.

    Members: output_text; output_json, only when the text is JSON; output_tools, the tool calls, `[]` without any;
    choices, as in a chat completion. Whatever else a dict sample holds is kept.
    """

    __slots__ = ("_given", "_members", "text")

    is_absent: ClassVar[bool] = False

    def __init__(self, text: str, given: Mapping[str, Any] | None = None) -> None:
        self.text = text
        self._given = given
        self._members: dict[str, Any] | None = None

    @property
    def given(self) -> str | Mapping[str, Any]:
        """As it came, to be read again elsewhere."""
        return self.text if self._given is None else self._given

    @property
    def key_beside(self) -> str | None:
        """Under which other key of its row an absent sample seems to stand."""
        return self._given.key if isinstance(self._given, Misplaced) else None

    @property
    def members(self) -> dict[str, Any]:
        if self._members is None:
            self._members = self._work_out()
        return self._members

    def _work_out(self) -> dict[str, Any]:
        given = self._given or {}
        message = first_message(given)
        members: dict[str, Any] = {**given, "output_text": self.text}
        if "output_json" not in members:
            try:
                members["output_json"] = jsontext.decode(self.text)
            except jsontext.NotJson:
                pass
        if members.get("output_tools") is None:
            members["output_tools"] = message.get("tool_calls") or []
        if not members.get("choices"):
            answer: dict[str, Any] = {"role": "assistant", "content": self.text}
            if members["output_tools"]:
                answer["tool_calls"] = members["output_tools"]
            members["choices"] = [{"index": 0, "message": answer, "finish_reason": "stop"}]
        return members


class AbsentSample(Sample):
    """No sample at all, as in an eval of items only. Its text is "", and nothing else is there."""

    __slots__ = ()

    is_absent = True

    def _work_out(self) -> dict[str, Any]:
        return {}


class Misplaced(dict[str, Any]):
    """No sample, {}, of a row that seems to have it under another key."""

    __slots__ = ("key",)

    def __init__(self, key: str) -> None:
        self.key = key


def read_sample(given: Any) -> Sample:
    """A sample from a text, a dict (`output_text` …, a chat completion, a message), a chat as a list of messages, or
    from an object that dumps to one of them.

    None and {} are no sample; "" is an empty answer.
    """
    if isinstance(given, str):
        return Sample(given)
    if hasattr(given, "model_dump"):
        given = given.model_dump()
    if given is None or jsontext.is_missing(given) or given == {}:
        return AbsentSample("", given if isinstance(given, Misplaced) else None)
    given = shape_sample(given)
    text = given.get("output_text")
    if text is None:
        text = content_text(first_message(given).get("content"))
    if not isinstance(text, str):
        raise GradingFailed(f"sample.output_text: expected a string, found {jsontext.describe(text)}.")
    return Sample(text, given)


def shape_sample(given: Any) -> Mapping[str, Any]:
    """A sample that is no text as an object with `output_text` or `choices`, whatever shape it came in.

    Raises GradingFailed for what is none: a row that cannot be read must not look like an empty answer.
    """
    if isinstance(given, (list, tuple)):
        return _of_message(_last_answer(given))
    if not isinstance(given, Mapping):
        raise GradingFailed(f"sample: expected a string or an object, found {jsontext.describe(given)}.")
    if isinstance(given.get("output_text"), str) or first_message(given):
        return given
    if _has_other_output(given):
        if given.get("output_text") is None:
            return {**given, "output_text": ""}
        return given
    match given.get("choices"):
        case [{"text": str() as text}, *_]:  # a completion without a chat
            return {**given, "output_text": text}
    if given.get("choices") is not None:
        raise GradingFailed("sample.choices: there is no message in it. A chat completion has choices[0].message.")
    if "output_text" in given:
        raise GradingFailed(f"sample.output_text: expected a string, found {jsontext.describe(given['output_text'])}.")
    if "content" in given or given.get("tool_calls"):
        return _of_message(given)
    if "text" in given:
        if not isinstance(given["text"], str):
            raise GradingFailed(f"sample.text: expected a string, found {jsontext.describe(given['text'])}.")
        return {**given, "output_text": given["text"]}
    keys = ", ".join(jsontext.shorten(str(key), 40) for key in list(given)[:10])
    raise GradingFailed(f"sample: expected {_SHAPES}; found an object with {keys}.")


def _has_other_output(given: Mapping[str, Any]) -> bool:
    """Whether it tells what the model did, other than by a text. An empty list of tool calls tells that, too."""
    return any(given.get(name) is not None for name in ("output_json", "output_tools", "output_audio"))


def _of_message(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """The sample whose answer is this message."""
    if message.get("content") is None and not any(message.get(name) for name in _WITHOUT_CONTENT):
        found = "null" if "content" in message else "no content"
        raise GradingFailed(f"sample: expected {_SHAPES}; found a message with {found}.")
    return {**message, "choices": [{"index": 0, "message": dict(message), "finish_reason": "stop"}]}


def _last_answer(chat: Sequence[Any]) -> Mapping[str, Any]:
    """The last message by the assistant, as trainers hand over a whole conversation, or its answer alone."""
    for message in reversed(chat):
        if not isinstance(message, Mapping) or not ("content" in message or "tool_calls" in message):
            raise GradingFailed(f"sample: expected {_SHAPES}; found a list with {jsontext.describe(message)}.")
        if message.get("role", "assistant") == "assistant":
            return message
    raise GradingFailed(f"sample: expected {_SHAPES}; found a list without a message by the assistant.")


def is_chat(given: Any) -> bool:
    """Whether it is a list of messages, each with its role."""
    return (
        isinstance(given, (list, tuple))
        and len(given) > 0
        and all(isinstance(message, Mapping) and "role" in message for message in given)
    )


def first_message(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    """`choices[0].message`, or {} where that is not there."""
    match sample.get("choices"):
        case [{"message": dict() as message}, *_]:
            return message
        case _:
            return {}


def content_text(content: Any) -> Any:
    """A message's content as one text: null is "", the text parts of a list are joined."""
    if content is None:
        return ""
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, dict) else part for part in content]
        return "".join(part for part in parts if isinstance(part, str))
    return content


class Row:
    """One item and one sample, and what was noticed about them while grading."""

    __slots__ = ("item", "sample", "warnings")

    def __init__(self, item: dict[str, Any], sample: Sample) -> None:
        self.item = item
        self.sample = sample
        self.warnings: tuple[str, ...] = ()

    @property
    def chars(self) -> int:
        """About how long it is, written out."""
        return chars(self.item) + chars(self.sample.given)

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings += (text,)

    def warn_of_no_sample(self) -> None:
        """Somebody asked for a sample that is not there; if it seems to lie elsewhere, that is told."""
        beside = self.sample.key_beside
        inside = next((key for key in SAMPLE_LIKE if key != "answer" and key in self.item), None)
        if beside is not None:
            self.warn(f'{NO_SAMPLE}. It has "{beside}"; a model\'s answer has to stand under "sample".')
        elif inside == "sample":
            found = jsontext.describe(self.item["sample"])
            self.warn(f'{NO_SAMPLE}. What it has under "sample" is none: {found}.')
        elif inside is not None:
            self.warn(f'{NO_SAMPLE}. Its item has "{inside}"; a model\'s answer has to stand under "sample".')
        else:
            self.warn(NO_SAMPLE)


def chars(value: Any) -> int:
    """About how long a value is, written out. Nobody nests too deeply: parsers see to that."""
    if type(value) is str:
        return len(value)
    if isinstance(value, Mapping):
        return sum([len(inner) if type(inner) is str else chars(inner) for inner in value.values()])
    if isinstance(value, (list, tuple)):
        return sum([len(inner) if type(inner) is str else chars(inner) for inner in value])
    return 8


def make_row(item: Any, sample: Any) -> Row:
    """A row from its two parts as a caller gives them."""
    if type(item) is not dict:
        if item is None:
            item = {}
        elif isinstance(item, Mapping):
            item = dict(item)
        elif hasattr(item, "model_dump"):
            item = item.model_dump()
        else:
            raise GradingFailed(f"item: expected an object, found {jsontext.describe(item)}.")
    return Row(item, read_sample(sample))


def split_row(given: Any) -> tuple[Any, Any]:
    """The item and the sample of a data row: `{"item": {…}, "sample": …}`, or a flat object, which is then the item.

    A flat object's own "sample" is set aside as the sample if it can be one: a text, an object, or a chat.
    """
    if not isinstance(given, Mapping):
        raise GradingFailed(f"row: expected an object, found {jsontext.describe(given)}.")
    item = given.get("item")
    sample = given.get("sample")
    if isinstance(item, Mapping):
        if sample is None and len(given) > 1:
            key = next((key for key in SAMPLE_LIKE if given.get(key) is not None), None)
            sample = None if key is None else Misplaced(key)
        return item, sample
    if isinstance(sample, (str, Mapping)) or is_chat(sample):
        return {key: value for key, value in given.items() if key != "sample"}, sample
    return given, None
