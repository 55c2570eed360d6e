"""What stands between fences in a model's answer: ```json, ```python."""

import re
from typing import Any, NamedTuple

from fairmark import jsontext

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})([^\n]*)(\n?)", re.MULTILINE)
"""A line that begins with a fence: the fence, what stands behind it, and the end of the line."""


class Block(NamedTuple):
    """A fenced block: the first word after its fence in lower case, and what stands in it."""

    language: str
    text: str


def blocks(text: str) -> list[Block]:
    """All that end, in their order. Where none does, the one that goes on to the end of the text: sampling that stops
    at a fence leaves the last one out."""
    fences = list(_FENCE.finditer(text))
    ends = _ends(fences)
    found = []
    at = 0
    while at < len(fences):
        end = ends[at]
        if end is None or not _opens(fences[at]):
            at += 1
            continue
        found.append(_block(text, fences[at], fences[end].start()))
        at = end + 1
    unended = None if found else next(filter(_opens, fences), None)
    return found if unended is None else [_block(text, unended, len(text))]


def _opens(fence: re.Match[str]) -> bool:
    return bool(fence[3]) and "`" not in fence[2]


def _block(text: str, fence: re.Match[str], end: int) -> Block:
    return Block((fence[2].split() or [""])[0].lower(), text[fence.end() : end])


def _ends(fences: list[re.Match[str]]) -> list[int | None]:
    """For each fence the next one that is at least as long and of the same signs. One look at each, from the last: an
    answer of nothing but fences must not hold anybody up."""
    ends: list[int | None] = [None] * len(fences)
    later: dict[str, list[int]] = {"`": [], "~": []}
    for at in reversed(range(len(fences))):
        fence = fences[at][1]
        longer = later[fence[0]]
        while longer and len(fences[longer[-1]][1]) < len(fence):
            longer.pop()
        ends[at] = longer[-1] if longer else None
        longer.append(at)
    return ends


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
