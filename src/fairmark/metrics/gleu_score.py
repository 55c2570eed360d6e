"""GLEU, Google's BLEU for single sentences: matching 1- to 4-grams, out of those of the longer text."""

from fairmark.metrics.overlap import LONGEST, overlap


def gleu(input: str, reference: str) -> float:  # noqa: A002 - the grader's own word for it
    """How much two texts have in common, from 0 to 1. Case sensitive, symmetric. Texts without words: 0."""
    matches, length, reference_length = overlap(input, reference)
    total = sum(max(0, max(length, reference_length) - n) for n in range(LONGEST))
    return sum(matches) / total if total else 0.0
