"""fuzzy_match: how alike two texts are, character by character."""

from rapidfuzz.fuzz import ratio


def fuzzy_match(input: str, reference: str) -> float:  # noqa: A002 - the grader's own word for it
    """Twice the length of the longest common subsequence over both lengths, from 0 to 1.

    Case sensitive, symmetric. Two empty texts score 1, here and in no other metric.
    """
    return ratio(input, reference) / 100
