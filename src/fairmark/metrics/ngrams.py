"""How many runs of n tokens two texts share, for one n or for all up to some length.

Shared means: as often as both have it. "a a a" and "a a" share two 1-grams and one 2-gram.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import count, repeat
from typing import NamedTuple

# A character for every token of all but the longest texts. Zero is left for tokens the reference lacks.
SYMBOLS = "".join(map(chr, range(1, 4096)))
UNKNOWN = "\0"
MOST_SYMBOLS = 0x10FFFF

# Beyond this many tokens, looking for a run by reading through the reference takes longer than counting.
LONG = 1024

Code = str | list[int]


class Coded(NamedTuple):
    """A reference as a string, one character for each token: C code can search it and compare it.

    With more tokens than there are characters it is a list of numbers.
    """

    codes: dict[str, str] | dict[str, int]
    text: Code

    def encode(self, tokens: Iterable[str]) -> Code:
        """`tokens` in the reference's code. Tokens it lacks all look the same: they match nothing anyway."""
        if isinstance(self.text, str):
            return "".join(map(self.codes.get, tokens, repeat(UNKNOWN)))  # type: ignore[arg-type]
        return list(map(self.codes.get, tokens, repeat(0)))  # type: ignore[arg-type]


def coded(reference: Sequence[str]) -> Coded:
    if len(reference) > MOST_SYMBOLS:
        numbers: dict[str, int] = {}
        return Coded(numbers, list(map(numbers.setdefault, reference, count(1))))
    symbols: dict[str, str] = {}
    names = SYMBOLS if len(reference) <= len(SYMBOLS) else map(chr, range(1, MOST_SYMBOLS + 1))
    return Coded(symbols, "".join(map(symbols.setdefault, reference, names)))


def count_shared(tokens: Sequence[Hashable], reference: Sequence[Hashable], n: int) -> int:
    """The number of n-grams that both sequences have."""
    matching = Counter(filter(set(_grams(reference, n)).__contains__, _grams(tokens, n)))
    shared = matching.total()
    repeated = {gram for gram, times in matching.items() if times > 1}
    if repeated:  # which the reference may have less often
        expected = Counter(filter(repeated.__contains__, _grams(reference, n)))
        shared -= sum([max(0, matching[gram] - expected[gram]) for gram in repeated])
    return shared


def _grams(tokens: Sequence[Hashable], n: int) -> Iterable[Hashable]:
    return zip(*(tokens[start:] for start in range(n)), strict=False) if n > 1 else tokens


def count_all_shared(text: Code, reference: Code, longest: int) -> list[int]:
    """The numbers of 1-grams, 2-grams ... up to `longest` that two coded texts have both."""
    if len(reference) > LONG or not isinstance(text, str) or not isinstance(reference, str):
        return [count_shared(text, reference, n) for n in range(1, longest + 1)]
    lengths = _match_lengths(text, reference, longest)
    shared = [lengths.count(n) for n in range(1, longest + 1)]
    for n in reversed(range(1, longest)):
        shared[n - 1] += shared[n]  # where an n-gram matches, an (n-1)-gram ends too
    # So far a repeated n-gram counts every time, however often the reference has it.
    counts = Counter(text)
    del counts[UNKNOWN]
    repeated = {token for token, times in counts.items() if times > 1}
    for token in repeated:
        shared[0] -= max(0, counts[token] - reference.count(token))
    # Only in repeated tokens can a repeated 2-gram be, only in repeated 2-grams a repeated 3-gram ...
    ends = [
        end
        for end, (length, first, second) in enumerate(zip(lengths[1:], text, text[1:], strict=False), start=2)
        if length > 1 and first in repeated and second in repeated
    ]
    for n in range(2, longest + 1):
        grams = [text[end - n : end] for end in ends]
        counts = Counter(grams)
        if len(counts) == len(grams):
            break
        for gram, times in counts.items():
            if times > 1:
                shared[n - 1] -= max(0, times - _count_overlapping(gram, reference))
        ends = [end for end, gram in zip(ends, grams, strict=True) if counts[gram] > 1 and lengths[end - 1] > n]
    return shared


def _match_lengths(text: str, reference: str, longest: int) -> list[int]:
    """For each token of `text`: how many tokens, up to it and at most `longest`, stand together in
    `reference`."""
    lengths: list[int] = []
    append = lengths.append
    for run in text.split(UNKNOWN):
        start = 0
        for end in range(1, len(run) + 1):
            while run[start:end] not in reference:
                start += 1
            append(end - start)
            if end - start == longest:
                start += 1
        append(0)  # the unknown token that ends the run
    lengths.pop()
    return lengths


def _count_overlapping(gram: str, text: str) -> int:
    count = 0
    place = text.find(gram)
    while place >= 0:
        count += 1
        place = text.find(gram, place + 1)
    return count
