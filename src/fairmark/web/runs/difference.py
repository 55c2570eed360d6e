"""Where two texts differ, word by word."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from rapidfuzz.distance import LCSseq

MOST_WORDS = 4_000
"""Of each text between their common beginning and end. What is longer is told to be different as a whole."""
# A word with the blanks before it, so that texts do not seem alike for their blanks.
_WORD = re.compile(r"\s*(?:\w+|[^\w\s])|\s+")


class Piece(NamedTuple):
    text: str
    is_common: bool


class TextDifference(NamedTuple):
    """Both texts in pieces. Those that are common are the same in both, in the same order."""

    first: list[Piece]
    second: list[Piece]

    @property
    def is_equal(self) -> bool:
        return all(piece.is_common for piece in (*self.first, *self.second))


def compare(first: str, second: str) -> TextDifference:
    """The pieces of each, joined, are the text again. A blank more or less is a difference too."""
    ones, others = _WORD.findall(first), _WORD.findall(second)
    before = _common(ones, others)
    behind = _common(ones[before:][::-1], others[before:][::-1])
    end_1, end_2 = len(ones) - behind, len(others) - behind
    if max(end_1, end_2) - before > MOST_WORDS:
        blocks = [(before, before, 0)]
    else:
        blocks = _blocks(ones[before:end_1], others[before:end_2], before)
    pieces_1, pieces_2 = _Pieces(), _Pieces()
    at_1 = at_2 = 0
    for start_1, start_2, length in [(0, 0, before), *blocks, (end_1, end_2, behind)]:
        pieces_1.add(ones[at_1:start_1], is_common=False)
        pieces_2.add(others[at_2:start_2], is_common=False)
        at_1, at_2 = start_1 + length, start_2 + length
        pieces_1.add(ones[start_1:at_1], is_common=True)
        pieces_2.add(others[start_2:at_2], is_common=True)
    return TextDifference(pieces_1.found, pieces_2.found)


class _Pieces:
    def __init__(self) -> None:
        self.found: list[Piece] = []

    def add(self, words: list[str], is_common: bool) -> None:
        text = "".join(words)
        if not text:
            return
        if self.found and self.found[-1].is_common == is_common:
            text = self.found.pop().text + text
        self.found.append(Piece(text, is_common))


def _common(ones: list[str], others: list[str]) -> int:
    """How many words both begin with."""
    count = 0
    for one, other in zip(ones, others, strict=False):
        if one != other:
            break
        count += 1
    return count


def _blocks(ones: list[str], others: list[str], offset: int) -> list[tuple[int, int, int]]:
    """What both have: where in the first, where in the second, how many words."""
    blocks = [(start_1 + offset, start_2 + offset, length) for start_1, start_2, length in _matching(ones, others)]
    return list(_worth_reading(blocks, offset, offset + len(ones), offset + len(others)))


def _matching(ones: list[str], others: list[str]) -> Iterator[tuple[int, int, int]]:
    for step in LCSseq.opcodes(ones, others):
        if step.tag == "equal":
            yield step.src_start, step.dest_start, step.src_end - step.src_start


def _worth_reading(
    blocks: list[tuple[int, int, int]], start: int, end_1: int, end_2: int
) -> Iterator[tuple[int, int, int]]:
    """Without single words that both happen to have in the midst of what is otherwise different."""
    at_1 = at_2 = start
    for index, (start_1, start_2, length) in enumerate(blocks):
        next_1, next_2 = blocks[index + 1][:2] if index + 1 < len(blocks) else (end_1, end_2)
        changed_before = max(start_1 - at_1, start_2 - at_2)
        changed_behind = max(next_1 - start_1 - length, next_2 - start_2 - length)
        if length > 1 or min(changed_before, changed_behind) < 3:
            yield start_1, start_2, length
            at_1, at_2 = start_1 + length, start_2 + length
