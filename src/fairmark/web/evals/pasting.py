"""What somebody pastes into a form: JSON as OpenAI's API takes it, or a curl command that sends some."""

import re
import shlex
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from fairmark import jsontext
from fairmark.errors import InvalidData
from fairmark.references import TYPE as REGISTERED

LONGEST = 20_000_000
_DATA_OPTIONS = ("-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--json")
_TAKES = "It takes the JSON of an eval, of graders or of a run, or a curl command that sends one."


class Pasted(NamedTuple):
    """What it is, and the JSON of it: the body of an eval or of a run, or a list of graders."""

    what: Literal["eval", "graders", "run"]
    value: Any


def read(text: str) -> Pasted:
    """Raises InvalidData where nothing can be made of it."""
    text = text.strip().removeprefix("\N{BYTE ORDER MARK}").strip()
    if not text:
        raise InvalidData(f"There is nothing in it. {_TAKES}")
    if re.match(r"(\$ *)?curl(\.exe)?\s", text):
        text = _sent_by(text.removeprefix("$").strip())
    try:
        value = jsontext.decode(text)
    except jsontext.NotJson as error:
        raise InvalidData(f"This is neither JSON ({error}) nor a curl command. {_TAKES}") from None
    return _recognised(value)


def _recognised(value: Any) -> Pasted:
    if isinstance(value, dict):
        if "testing_criteria" in value or ("data_source_config" in value and "data_source" not in value):
            return Pasted("eval", value)
        if "data_source" in value:
            return Pasted("run", value)
        if isinstance(value.get("source"), dict) and value.get("type") in ("jsonl", "completions", "responses"):
            return Pasted("run", {"data_source": value})
        if isinstance(value.get("grader"), dict):  # as the calls that run or check a grader take it
            return _recognised(value["grader"])
        if "type" in value:
            return Pasted("graders", [value])
        known = ", ".join(list(value)[:6]) or "nothing"
        raise InvalidData(f"This JSON has {jsontext.shorten(known, 120)}, and no part by which it is known. {_TAKES}")
    if isinstance(value, list) and value and all(isinstance(grader, dict) and "type" in grader for grader in value):
        return Pasted("graders", value)
    raise InvalidData(f"Found {jsontext.describe(value)}. {_TAKES}")


def split_references(graders: Any) -> tuple[list[str], list[Any]]:
    """The keys of registered graders that are meant as they are, and the rest as it stands."""
    keys: list[str] = []
    others: list[Any] = []
    for grader in graders if isinstance(graders, list) else [graders]:
        match grader:
            case {"type": type_, "key": str() as key} if type_ == REGISTERED and not {*grader} - {"type", "key", "id"}:
                keys.append(key)
            case _:
                others.append(grader)
    return keys, others


def _sent_by(command: str) -> str:
    """The JSON that a curl command sends."""
    try:
        words = shlex.split(_joined(command))
    except ValueError as error:
        raise InvalidData(f"This curl command is cut off: {str(error).lower()}.") from None
    sent = [_unquoted(text) for text in _data(words)]
    if not sent:
        raise InvalidData("This curl command sends nothing: it has no --data. Paste the one that creates something.")
    for text in sent:
        if text.startswith("@"):
            raise InvalidData(f"This curl command sends the file {text[1:]}, which is not in it. Paste what it holds.")
    return "&".join(sent) if len(sent) > 1 else sent[0]


def _data(words: list[str]) -> Iterator[str]:
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        if word in _DATA_OPTIONS and place + 1 < len(words):
            yield words[place + 1]
        elif equals and name in _DATA_OPTIONS[1:]:
            yield value
        elif word.startswith("-d") and not word.startswith("--") and len(word) > 2:
            yield word[2:]


def _joined(command: str) -> str:
    """Without the ends of lines that a backslash joins, but for those between single quotes, where it means itself."""
    parts = re.split(r"('[^']*')", command)
    return "".join(part if at % 2 else re.sub(r"\\\r?\n", " ", part) for at, part in enumerate(parts))


def _unquoted(text: str) -> str:
    """What browsers copy as $'…' is left by the shell's rules with its sign and its escapes of quotes."""
    return text[1:].replace("\\'", "'") if text.startswith(("${", "$[")) else text
