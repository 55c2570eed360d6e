"""A row: the item (what was asked) and the sample (what a model answered), in the shape templates see them."""

from collections.abc import Mapping
from typing import Any, ClassVar

from fairmark import jsontext
from fairmark.errors import GradingFailed

NO_SAMPLE = "this row has no sample: sample.output_text is the empty text"


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


def read_sample(given: Any) -> Sample:
    """A sample from a text, from a dict (`output_text` … or a chat completion), or from an object that dumps to one.

    None and {} are no sample; "" is an empty answer.
    """
    if isinstance(given, str):
        return Sample(given)
    if hasattr(given, "model_dump"):
        given = given.model_dump()
    if given is None or given == {}:
        return AbsentSample("")
    if not isinstance(given, Mapping):
        raise GradingFailed(f"sample: expected a string or an object, found {jsontext.describe(given)}.")
    text = given.get("output_text")
    if text is None:
        text = content_text(first_message(given).get("content"))
    if not isinstance(text, str):
        raise GradingFailed(f"sample.output_text: expected a string, found {jsontext.describe(text)}.")
    return Sample(text, given)


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

    A flat object's own "sample" is set aside as the sample if it can be one.
    """
    if not isinstance(given, Mapping):
        raise GradingFailed(f"row: expected an object, found {jsontext.describe(given)}.")
    item = given.get("item")
    sample = given.get("sample")
    if isinstance(item, Mapping):
        return item, sample
    if isinstance(sample, (str, Mapping)):
        return {key: value for key, value in given.items() if key != "sample"}, sample
    return given, None
