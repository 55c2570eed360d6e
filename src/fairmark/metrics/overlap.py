"""What bleu and gleu share: how many 1-, 2-, 3- and 4-grams of two texts match."""

from typing import NamedTuple

from fairmark.metrics.ngrams import Coded, coded, count_all_shared
from fairmark.metrics.texts import TextMemo
from fairmark.metrics.tokens import tokenize

LONGEST = 4


class Overlap(NamedTuple):
    matches: list[int]
    """For n from 1 to 4: how many n-grams both texts have, repeated ones as often as both have them."""
    input_length: int
    reference_length: int


def overlap(input: str, reference: str) -> Overlap:  # noqa: A002 - the grader's own word for it
    tokens = tokenize(input)
    target = CODED[reference]
    matches = count_all_shared(target.encode(tokens), target.text, LONGEST)
    return Overlap(matches, len(tokens), len(target.text))


def _code(reference: str) -> Coded:
    return coded(tokenize(reference))


# One reference is often compared with many inputs.
CODED = TextMemo(_code, max_texts=128, max_total=131_072)
