"""BLEU of one sentence: the share of matching 1- to 4-grams, smoothed, less a penalty for brevity."""

from math import exp, fsum, log

from fairmark.metrics.overlap import overlap

# Chen and Cherry (2014), method 4: n-grams without a match count as a little, the less the shorter the text.
SMOOTHING = 5


def bleu(input: str, reference: str) -> float:  # noqa: A002 - the grader's own word for it
    """How much of `input` is in `reference`, from 0 to 1. Case sensitive, not symmetric.

    Equal texts of fewer than four tokens score below 1: two tokens 0.22, three 0.58, but one token 1.
    """
    matches, length, reference_length = overlap(input, reference)
    if not matches[0]:
        return 0.0
    logarithms = []
    zeros = 0
    # Exactly these operations in this order: others would differ in the last bit.
    for n, matched in enumerate(matches):
        total = max(1, length - n)
        if matched:
            precision = matched / total
        elif length > 1:
            zeros += 1
            precision = 1 / (2**zeros * SMOOTHING / log(length)) / total
        else:
            continue
        logarithms.append(0.25 * log(precision))
    penalty = 1.0 if length > reference_length else exp(1 - reference_length / length)
    return penalty * exp(fsum(logarithms))
