"""METEOR: matched words, found by word, stem or synonym, less a penalty for matches out of order."""

from collections.abc import Iterable
from operator import eq
from typing import NamedTuple

from fairmark.metrics.memo import Memo
from fairmark.metrics.porter import STEMS
from fairmark.metrics.tokens import tokenize
from fairmark.metrics.wordnet import SYNONYMS

# Weight of precision against recall, and shape and weight of the penalty.
ALPHA = 0.9
BETA = 3.0
GAMMA = 0.5

# No partner, no position. Not -1, which a word at position 0 would seem to follow.
NONE = -2


def meteor(input: str, reference: str) -> float:  # noqa: A002 - the grader's own word for it
    """How well `input` says what `reference` says, from 0 to 1. Not symmetric.

    Equal texts score below 1, the less so the longer they are: one word 0.5, two 0.9375. A text without
    words scores 0, against itself too.
    """
    words = lowered(input)
    target = PREPARED[reference]
    if not words or not target.words:
        return 0.0
    partners = align(words, target)
    matches = len(partners) - partners.count(NONE)
    if not matches:
        return 0.0
    # A match continues a chunk if the word before it is matched with the position before its own.
    continuing = sum(map(eq, partners[1:], [partner + 1 for partner in partners]))
    chunks = matches - continuing
    # Exactly these operations in this order: others would differ in the last bit.
    precision = matches / len(words)
    recall = matches / len(target.words)
    mean = (precision * recall) / (ALPHA * precision + (1 - ALPHA) * recall)
    penalty: float = GAMMA * (chunks / matches) ** BETA
    return (1 - penalty) * mean


def lowered(text: str) -> list[str]:
    return list(map(str.lower, tokenize(text)))


class WordPlaces(NamedTuple):
    """Where in the reference each key, a word or a stem, can still be matched."""

    last: dict[str, int]
    """The last free position of every key that has one."""
    before: list[int]
    """For each position the one before it with the same key, or NONE."""

    def take(self, key: str) -> int:
        """The last free position of `key`, which then is not free any more."""
        place = self.last[key]
        if self.before[place] == NONE:
            del self.last[key]
        else:
            self.last[key] = self.before[place]
        return place


def places(keys: Iterable[tuple[int, str]], size: int) -> WordPlaces:
    """All those positions below `size`, given in ascending order with their keys, as free."""
    last: dict[str, int] = {}
    before = [NONE] * size
    for place, key in keys:
        before[place] = last.get(key, NONE)
        last[key] = place
    return WordPlaces(last, before)


class Prepared(NamedTuple):
    words: list[str]
    places: WordPlaces


def prepare(text: str) -> Prepared:
    words = lowered(text)
    return Prepared(words, places(enumerate(words), len(words)))


# One reference is often compared with many inputs.
PREPARED = Memo(prepare, max_texts=64, max_length=16_384)


def align(words: list[str], reference: Prepared) -> list[int]:
    """For each of `words` the position of its partner in the reference, or NONE.

    Equal words are matched first, then equal stems, then synonyms of what is left. Every time the words
    choose from last to first, and each takes the last free position that suits it. This is greedy: it
    need not give the most matches or the fewest chunks.
    """
    partners = [NONE] * len(words)
    last, before = reference.places.last.copy(), reference.places.before
    left = []
    for index in range(len(words) - 1, -1, -1):
        word = words[index]
        place = last.get(word, NONE)
        if place == NONE:
            left.append(index)
        else:
            partners[index] = place
            last[word] = before[place]
    if not left:
        return partners

    taken = set(partners)
    stems = [(place, STEMS[word]) for place, word in enumerate(reference.words) if place not in taken]
    free = places(stems, len(reference.words))
    unmatched = []
    for index in left:
        key = STEMS[words[index]]
        if key in free.last:
            partners[index] = free.take(key)
        else:
            unmatched.append((index, key))

    # Synonyms are those of the stem, which often is no word, and it is a stem they have to equal.
    for index, key in unmatched:
        names = SYNONYMS[key]
        if not free.last.keys().isdisjoint(names):
            nearest = max(free.last.keys() & names, key=free.last.__getitem__)
            partners[index] = free.take(nearest)
    return partners
