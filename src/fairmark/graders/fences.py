"""What stands between fences in a model's answer: ```json, ```python."""

import re
from typing import Any, NamedTuple

from fairmark import jsontext

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([^\n`]*)\n(.*?)^[ \t]*\1", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block: the first word after its fence in lower case, and what stands in it."""

    language: str
    text: str


def blocks(text: str) -> list[Block]:
    """All that end, in their order."""
    return [Block((match[2].split() or [""])[0].lower(), match[3]) for match in _FENCE.finditer(text)]


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
