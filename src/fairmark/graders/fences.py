"""What stands between fences in a model's answer: ```json, ```python."""

import re
from typing import Any, NamedTuple

from fairmark import jsontext

_OPENED = r"^[ \t]*(`{3,}|~{3,})[ \t]*([^\n`]*)\n"
_FENCE = re.compile(rf"{_OPENED}(.*?)^[ \t]*\1", re.MULTILINE | re.DOTALL)
_UNENDED = re.compile(rf"{_OPENED}(.*)\Z", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block: the first word after its fence in lower case, and what stands in it."""

    language: str
    text: str


def blocks(text: str) -> list[Block]:
    """All that end, in their order. Where none does, the one that goes on to the end of the text: sampling that stops
    at a fence leaves the last one out."""
    found = list(_FENCE.finditer(text)) or list(_UNENDED.finditer(text))
    return [Block((match[2].split() or [""])[0].lower(), match[3]) for match in found]


def read_json(text: str) -> Any:
    """The JSON value that a text is, else that of its last block which is JSON. Raises NotJson."""
    try:
        return jsontext.decode(text)
    except jsontext.NotJson:
        for block in reversed(blocks(text)):
            try:
                return jsontext.decode(block.text)
            except jsontext.NotJson:
                continue
        raise
