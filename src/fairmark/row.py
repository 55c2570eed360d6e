"""A row: the item (what was asked) and the sample (what a model answered), in the shape templates see them."""

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar

import msgspec

from fairmark import jsontext, longjson
from fairmark.errors import GradingFailed
from fairmark.longjson import LONG, LongList

LONG_LIST = 1_000
"""Elements of a list of an item that are encoded at a time."""
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
        sent = self._given or {}
        message = first_message(sent)
        members: dict[str, Any] = {**sent, "output_text": self.text}
        if "output_json" not in members and jsontext.may_be_json(self.text):
            try:
                members["output_json"] = jsontext.decode(self.text)
            except jsontext.NotJson:
                pass
        if members.get("output_tools") is None:
            members["output_tools"] = message.get("tool_calls") or _other_calls(message)
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


_UNMADE = "could_not_be_made"


class UnmadeSample(dict[str, str]):
    """In place of a sample that could not be made. It says why, and is of no shape that could be taken for one, also
    where it is sent on as JSON."""

    def __init__(self, why: str) -> None:
        super().__init__({_UNMADE: why})


def read_sample(value: Any) -> Sample:
    """A sample from a text, a dict (`output_text` …, a chat completion, a message), a chat as a list of messages, or
    from an object that dumps to one of them.

    None and {} are no sample; "" is an empty answer.
    """
    if isinstance(value, str):
        return Sample(value)
    if isinstance(value, dict) and len(value) == 1 and _UNMADE in value:
        raise GradingFailed(str(value[_UNMADE]))
    if hasattr(value, "model_dump"):
        value = value.model_dump()
    if value is None or jsontext.is_missing(value) or (isinstance(value, Mapping) and not value):
        return AbsentSample("", value if isinstance(value, Misplaced) else None)
    value = shape_sample(value)
    text = value.get("output_text")
    if text is None:
        text = content_text(first_message(value).get("content"))
    if not isinstance(text, str):
        raise GradingFailed(f"sample.output_text: expected a string, found {jsontext.describe(text)}.")
    return Sample(text, value)


def shape_sample(value: Any) -> Mapping[str, Any]:
    """A sample that is no text as an object with `output_text` or `choices`, whatever shape it came in.

    Raises GradingFailed for what is none: a row that cannot be read must not look like an empty answer.
    """
    if isinstance(value, (list, tuple)):
        return _of_message(_last_answer(value))
    if not isinstance(value, Mapping):
        raise GradingFailed(f"sample: expected a string or an object, found {jsontext.describe(value)}.")
    if isinstance(value.get("output_text"), str) or first_message(value):
        return value
    if _has_other_output(value):
        if value.get("output_text") is None:
            return {**value, "output_text": ""}
        return value
    match value.get("choices"):
        case [{"text": str() as text}, *_]:  # a completion without a chat
            return {**value, "output_text": text}
    if value.get("choices") is not None:
        raise GradingFailed("sample.choices: there is no message in it. A chat completion has choices[0].message.")
    if "output_text" in value:
        raise GradingFailed(f"sample.output_text: expected a string, found {jsontext.describe(value['output_text'])}.")
    if "content" in value or value.get("tool_calls"):
        return _of_message(value)
    if "text" in value:
        if not isinstance(value["text"], str):
            raise GradingFailed(f"sample.text: expected a string, found {jsontext.describe(value['text'])}.")
        return {**value, "output_text": value["text"]}
    keys = ", ".join(jsontext.shorten(str(key), 40) for key in list(value)[:10])
    raise GradingFailed(f"sample: expected {_SHAPES}; found an object with {keys}.")


def _has_other_output(members: Mapping[str, Any]) -> bool:
    """Whether it tells what the model did, other than by a text. An empty list of tool calls tells that, too."""
    return any(members.get(name) is not None for name in ("output_json", "output_tools", "output_audio"))


def _of_message(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """The sample whose answer is this message."""
    if message.get("content") is None and not any(message.get(name) for name in _WITHOUT_CONTENT):
        content = "null" if "content" in message else "no content"
        raise GradingFailed(f"sample: expected {_SHAPES}; found a message with {content}.")
    return {**message, "choices": [{"index": 0, "message": dict(message), "finish_reason": "stop"}]}


def _last_answer(chat: Sequence[Any]) -> Mapping[str, Any]:
    """The last message by the assistant, as trainers hand over a whole conversation, or its answer alone."""
    for message in reversed(chat):
        if not isinstance(message, Mapping) or not ("content" in message or "tool_calls" in message):
            raise GradingFailed(f"sample: expected {_SHAPES}; found a list with {jsontext.describe(message)}.")
        if message.get("role", "assistant") == "assistant":
            return message
    raise GradingFailed(f"sample: expected {_SHAPES}; found a list without a message by the assistant.")


def is_chat(value: Any) -> bool:
    """Whether it is a list of messages, each with its role."""
    return (
        isinstance(value, (list, tuple))
        and len(value) > 0
        and all(isinstance(message, Mapping) and "role" in message for message in value)
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


def _other_calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tool calls of a message that has no `tool_calls`, as those that have: a `function_call`, or parts of its
    content that are calls. A model that called something must not look like one that did not."""
    calls = []
    if isinstance(message.get("function_call"), Mapping):
        calls.append({"type": "function", "function": dict(message["function_call"])})
    content = message.get("content")
    for part in content if isinstance(content, list) else []:
        if isinstance(part, Mapping) and part.get("type") == "tool_use":
            named = {"id": part["id"]} if "id" in part else {}
            function = {"name": part.get("name"), "arguments": jsontext.encode(part.get("input") or {}).decode()}
            calls.append({**named, "type": "function", "function": function})
    return calls


class Row:
    """One item and one sample, and what was noticed about them while grading."""

    __slots__ = ("_chars", "item", "sample", "takes_longer", "warnings")

    def __init__(self, item: dict[str, Any], sample: Sample) -> None:
        self.item = item
        self.sample = sample
        self.takes_longer = False
        """A kind gave up on it within its turn."""
        self.warnings: tuple[str, ...] = ()
        self._chars = -1

    @property
    def data(self) -> dict[str, Any]:
        """As it stands in a data file, to be read again elsewhere."""
        return {"item": self.item_to_send, "sample": None if self.sample.is_absent else self.sample.given}

    @property
    def item_to_send(self) -> Any:
        """For whoever writes it as JSON and does not look at it."""
        return self.item

    def again(self) -> "Row":
        """The same row, with warnings of its own."""
        return Row(self.item, self.sample)

    @property
    def chars(self) -> int:
        """About how long it is, written out."""
        if self._chars < 0:
            self._chars = chars(self.item) + chars(self.sample.given)
        return self._chars

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
            shown = jsontext.describe(self.item["sample"])
            self.warn(f'{NO_SAMPLE}. What it has under "sample" is none: {shown}.')
        elif inside is not None:
            self.warn(f'{NO_SAMPLE}. Its item has "{inside}"; a model\'s answer has to stand under "sample".')
        else:
            self.warn(NO_SAMPLE)


class UnreadItem:
    """A long item, as the JSON that it came as: it is read where it is graded, if at all. A million values in memory
    are a burden to whoever has to pass them on, and to whoever collects garbage."""

    __slots__ = ("text",)

    def __init__(self, text: bytes) -> None:
        self.text = text

    def read(self) -> dict[str, Any]:
        """To be called in a thread, or where nobody else waits."""
        try:
            item = longjson.decode(self.text)
        except jsontext.NotJson as error:
            raise GradingFailed(f"item: not JSON: {error}.") from None
        if not isinstance(item, dict):
            raise GradingFailed(f"item: expected an object, found {jsontext.describe(item)}.")
        return item

    def __json__(self) -> msgspec.Raw:
        return msgspec.Raw(self.text)


class LongRow(Row):
    """A row whose item is read if somebody looks at it."""

    __slots__ = ("_item", "_unread")

    def __init__(self, item: UnreadItem, sample: Sample) -> None:
        self._unread = item
        self._item: dict[str, Any] | None = None
        self.sample = sample
        self.takes_longer = False
        self.warnings = ()
        self._chars = len(item.text) + chars(sample.given)

    @property
    def item(self) -> dict[str, Any]:  # type: ignore[override]  # nobody puts another item into a row
        if self._item is None:
            self._item = self._unread.read()
        return self._item

    def again(self) -> "Row":
        return LongRow(self._unread, self.sample)

    @property
    def item_to_send(self) -> UnreadItem:
        return self._unread

    def read(self) -> None:
        """In a thread, before somebody looks at the item on an event loop. What is wrong with it is told there."""
        with contextlib.suppress(GradingFailed):
            self._item = self._unread.read()


def chars(value: Any) -> int:
    """About how long a value is, written out. Nobody nests too deeply: parsers see to that."""
    if type(value) is str:
        return len(value)
    if type(value) is dict or isinstance(value, Mapping):
        return sum([len(inner) if type(inner) is str else chars(inner) for inner in value.values()])
    if isinstance(value, (list, tuple)):
        return sum([len(inner) if type(inner) is str else chars(inner) for inner in value])
    return value.size if type(value) is LongList else 8


def unread(row: Row) -> Row:
    """The same row, for whoever grades it: with its item as JSON again where long lists in it were not read yet."""
    if row.chars > LONG and _holds_long_list(row.item):
        return LongRow(UnreadItem(jsontext.encode(row.item)), row.sample)
    return row


def _holds_long_list(value: Any) -> bool:
    if type(value) is dict:
        return any(map(_holds_long_list, value.values()))
    if type(value) is list:
        return any(map(_holds_long_list, value))
    return type(value) is LongList


def make_row(item: Any, sample: Any) -> Row:
    """A row from its two parts as a caller gives them."""
    if type(item) is not dict:
        if type(item) is UnreadItem:
            return LongRow(item, read_sample(sample))
        if item is None:
            item = {}
        elif isinstance(item, Mapping):
            item = dict(item)
        elif hasattr(item, "model_dump"):
            item = item.model_dump()
        else:
            raise GradingFailed(f"item: expected an object, found {jsontext.describe(item)}.")
    return Row(item, read_sample(sample))


def split_row(row: Any) -> tuple[Any, Any]:
    """The item and the sample of a data row: `{"item": {…}, "sample": …}`, or a flat object, which is then the item.

    A flat object's own "sample" is set aside as the sample if it can be one: a text, an object, or a chat.
    """
    if not isinstance(row, (dict, Mapping)):  # dict: an abstract class is asked several times as slowly
        raise GradingFailed(f"row: expected an object, found {jsontext.describe(row)}.")
    item = row.get("item")
    sample = row.get("sample")
    if isinstance(item, (dict, UnreadItem, Mapping)):
        if sample is None and len(row) > 1:
            key = next((key for key in SAMPLE_LIKE if row.get(key) is not None), None)
            sample = None if key is None else Misplaced(key)
        return item, sample
    if isinstance(sample, (str, Mapping)) or is_chat(sample):
        return {key: value for key, value in row.items() if key != "sample"}, sample
    return row, None


def hash_item(item: Mapping[str, Any]) -> int:
    """Equal for equal items, whatever the order of their fields; a number of 64 bits, which databases can hold."""
    digest = hashlib.blake2b(digest_size=8)
    try:
        if any(_is_long(value) for value in item.values()):
            for piece in _pieces(item):
                digest.update(piece)
        else:
            digest.update(_sorted_json(item))
    except UnicodeEncodeError:  # half an emoji
        body = json.dumps(item, separators=(",", ":"), default=_plain, sort_keys=True).encode()
        digest = hashlib.blake2b(body, digest_size=8)
    return int.from_bytes(digest.digest(), signed=True)


def _pieces(item: Mapping[str, Any]) -> Iterator[bytes]:
    """The same JSON, some elements of long lists at a time, so that nobody waits long for the interpreter."""
    for place, name in enumerate(sorted(item)):
        yield b",%b:" % _sorted_json(name) if place else b"{%b:" % _sorted_json(name)
        if not _is_long(item[name]):
            yield _sorted_json(item[name])
            continue
        elements = iter(item[name])
        before = b"["
        while some := list(islice(elements, LONG_LIST)):
            yield before + _sorted_json(some)[1:-1]
            before = b","
        yield b"]"
    yield b"}"


def _is_long(value: Any) -> bool:
    return isinstance(value, (list, LongList)) and len(value) > LONG_LIST


def _sorted_json(value: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=_plain, order="sorted")


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, LongList) else str(value)
