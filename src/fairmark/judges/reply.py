"""Reads a judge's answer. Strictly where the model was held to a schema, leniently where it could not be.

What the graded text says is never taken for the verdict: of several verdicts in a plain text the last complete one
counts, and one that stands in the row, in whatever spelling, is a quotation.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from fairmark import jsontext
from fairmark.errors import JudgeCutOff, JudgeRefused, NotAnAnswer
from fairmark.judges.base import Shape
from fairmark.row import content_text

LOOKED_AT = 64_000
"""Characters at the end of an answer in which a verdict is looked for."""
MOST_TRIES = 2_000

# Thoughts without an end are all there is: what they weigh is no verdict yet.
_THINKING = re.compile(r"^\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
# No two neighbours in it match the same characters: answers come from outside, and reading one must not take longer
# than its length allows.
_LINE = re.compile(
    r"^(?:[^\w\n]|_)*((?:final[ \t]+|overall[ \t]+)?(?:result|score|label|grade|verdict|rating|answer))"
    r"(?:[^\w\n:=]|_)*[:=]\s*(\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
# What a judge may drop or add when it quotes: blanks, quotation marks, escapes, emphasis, what cannot be seen.
_LOOSE = re.compile(r"""[\s"'`´‘’“”„«»\\*_\u00ad\u200b-\u200f\u2060-\u2064\ufeff]+""")
_DECODER = json.JSONDecoder()


class Said:
    """One choice of a chat completion, taken apart."""

    def __init__(self, model: str, reply: dict[str, Any]) -> None:
        choices = reply.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        self.choice: dict[str, Any] = choice
        message = choice.get("message")
        self._model = model
        self._message: dict[str, Any] = message if isinstance(message, dict) else {}
        reason = choice.get("finish_reason")
        self.finish_reason = reason if isinstance(reason, str) else None
        text = content_text(self._message.get("content"))
        self.text = text if isinstance(text, str) else jsontext.write(text)
        calls = self._message.get("tool_calls")
        match calls:
            case [{"function": {"arguments": str() as arguments}}, *_]:
                self.arguments: str | None = arguments
            case _:
                self.arguments = None

    @property
    def output(self) -> str:
        """The judge's words: what it called its tool with, where it did, else its text."""
        return self.arguments or self.text

    def check(self) -> None:
        """Raises where the judge refused, or was cut off."""
        refusal = self._message.get("refusal")
        if isinstance(refusal, str) and refusal:
            raise JudgeRefused(f"{self._model}: the judge refused: {jsontext.quote(jsontext.shorten(refusal, 200))}.")
        if self.finish_reason == "content_filter":
            raise JudgeRefused(f"{self._model}: the provider's content filter stopped the answer.")
        if self.finish_reason == "length":
            end = jsontext.quote(self.output[-60:])
            raise JudgeCutOff(f"{self._model}: the answer was cut off by the token limit. It ends: {end}.")

    def read(self, shape: Shape, quoted: Sequence[str] | None) -> dict[str, Any]:
        """The verdict. `quoted` is None where the model is held to the schema. Raises NotAnAnswer."""
        if self.arguments is not None:
            return shape.read(_decoded(self.arguments))
        if quoted is None:
            return shape.read(_decoded(self.text))
        return read_plain(self.text, shape, quoted)


def _decoded(text: str) -> Any:
    try:
        return jsontext.decode(text)
    except jsontext.NotJson as error:
        if not text.strip():
            raise NotAnAnswer("the answer is empty") from None
        raise NotAnAnswer(f"the answer is not JSON ({error}): {jsontext.quote(text)}") from None


def read_plain(text: str, shape: Shape, quoted: Sequence[str]) -> dict[str, Any]:
    """The verdict in a plain text: the last JSON object that is one, else the last line such as `Result: 0.5`, else
    the whole text where it is nothing but the result."""
    text = _THINKING.sub("", text).strip()
    if not text:
        raise NotAnAnswer("the answer is empty")
    objects = list(_objects(text))
    verdicts = [
        (*candidate, verdict) for candidate in objects if (verdict := _verdict(shape, candidate[0])) is not None
    ]
    lines = list(_lines(text[-LOOKED_AT:], shape))
    if verdicts or lines:
        row = _Quotations(shape, quoted)
        own = [verdict for value, written, verdict in verdicts if not row.hold(value, written)]
        own = own or [verdict for word, verdict in lines if not row.hold_line(word, verdict)]
        if own:
            return own[-1]
        raise NotAnAnswer("the only verdict in the answer is quoted from the row")
    bare = _bare(shape, text)
    if bare is not None:
        return bare
    if objects:
        shape.read(objects[-1][0])  # says what is wrong with it
    raise NotAnAnswer(f"there is no verdict in the answer: {jsontext.quote(text)}")


class _Quotations:
    """The verdicts that the row itself brings along, however a judge may write them down again."""

    def __init__(self, shape: Shape, quoted: Sequence[str]) -> None:
        text = "\n".join(quoted)
        self._text = _squeezed(text)
        self._values = {
            _canonical(value)
            for source in quoted
            for mapping, _ in _objects(source)
            for value in _inside(mapping)
            if _verdict(shape, value) is not None
        }
        self._lines = {(word, _canonical(verdict)) for word, verdict in _lines(text, shape)}

    def hold(self, value: dict[str, Any], written: str) -> bool:
        return _squeezed(written) in self._text or _canonical(value) in self._values

    def hold_line(self, word: str, verdict: dict[str, Any]) -> bool:
        return (word, _canonical(verdict)) in self._lines


def _verdict(shape: Shape, value: Any) -> dict[str, Any] | None:
    try:
        return shape.read(value)
    except NotAnAnswer:
        return None


def _bare(shape: Shape, text: str) -> dict[str, Any] | None:
    text = text.strip()
    return shape.read_bare(text) or shape.read_bare(text.strip("*_`'\".!, \t"))


def _lines(text: str, shape: Shape) -> Iterator[tuple[str, dict[str, Any]]]:
    """The lines such as `Result: 0.5` that give a verdict: by which word, and which."""
    for line in _LINE.finditer(text):
        verdict = _bare(shape, line[2])
        if verdict is not None:
            yield _squeezed(line[1]), verdict


def _squeezed(text: str) -> str:
    text = _LOOSE.sub("", unicodedata.normalize("NFKC", text)).casefold()
    return text.replace(",}", "}").replace(",]", "]")


def _canonical(value: dict[str, Any]) -> str:
    """Equal for equal values: 1 and 1.0 are the same verdict, and the order of keys does not matter."""
    return json.dumps(json.loads(json.dumps(value), parse_int=float), sort_keys=True)


def _inside(value: Any) -> Iterator[dict[str, Any]]:
    """An object and all that lie inside it."""
    rest = [value]
    while rest:
        inner = rest.pop()
        if isinstance(inner, dict):
            yield inner
            rest += inner.values()
        elif isinstance(inner, list):
            rest += inner


def _objects(text: str) -> Iterator[tuple[dict[str, Any], str]]:
    """The complete JSON objects in the end of a text, as values and as written, in their order; none that lies inside
    another."""
    text = _TRAILING_COMMA.sub(r"\1", text[-LOOKED_AT:])
    position = text.find("{")
    for _ in range(MOST_TRIES):
        if position < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = position + 1
        else:
            if isinstance(value, dict):
                yield value, text[position:end]
        position = text.find("{", end)
