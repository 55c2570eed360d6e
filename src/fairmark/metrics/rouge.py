"""ROUGE-1 to ROUGE-5 and ROUGE-L: the F-measure of n-grams, or of the longest sequence, in common.

A token is a run of a-z and 0-9 in the lower-cased text. All else separates, so that text in other scripts
has no tokens and scores 0, even against itself.
"""

try:
    from fairmark.metrics._rouge import overlaps
except ImportError:  # installed where there was no C compiler
    from fairmark.metrics.rouge_plain import overlaps

LONGEST = 5
NATIVE = overlaps.__module__ != "fairmark.metrics.rouge_plain"
"""Whether the compiled core is used. The scores are the same without it, only slower."""


def rouge_1(input: str, reference: str) -> float:  # noqa: A002 - the grader's own word for it
    """The share of tokens in common, from 0 to 1. Symmetric, like all of these."""
    return _rouge_n(input, reference, 1)


def rouge_2(input: str, reference: str) -> float:  # noqa: A002
    """The share of pairs of neighbouring tokens in common. Texts of fewer than 2 tokens score 0."""
    return _rouge_n(input, reference, 2)


def rouge_3(input: str, reference: str) -> float:  # noqa: A002
    """The share of runs of 3 tokens in common. Texts of fewer than 3 tokens score 0."""
    return _rouge_n(input, reference, 3)


def rouge_4(input: str, reference: str) -> float:  # noqa: A002
    """The share of runs of 4 tokens in common. Texts of fewer than 4 tokens score 0."""
    return _rouge_n(input, reference, 4)


def rouge_5(input: str, reference: str) -> float:  # noqa: A002
    """The share of runs of 5 tokens in common. Texts of fewer than 5 tokens score 0."""
    return _rouge_n(input, reference, 5)


def rouge_l(input: str, reference: str) -> float:  # noqa: A002
    """The share of tokens in the longest sequence of tokens that both texts have in the same order."""
    length, reference_length, _, common = overlaps(input, reference, 1, 0, True)
    return _f_measure(common, length, reference_length)


def scores(input: str, reference: str) -> dict[str, float]:  # noqa: A002
    """All six by name, faster than one by one."""
    length, reference_length, shared, common = overlaps(input, reference, 1, LONGEST, True)
    result = {
        f"rouge_{n}": _f_measure(matches, length - n + 1, reference_length - n + 1)
        for n, matches in enumerate(shared, start=1)
    }
    result["rouge_l"] = _f_measure(common, length, reference_length)
    return result


def _rouge_n(text: str, reference: str, n: int) -> float:
    length, reference_length, (shared,), _ = overlaps(text, reference, n, n, False)
    return _f_measure(shared, length - n + 1, reference_length - n + 1)


def _f_measure(matches: int, total: int, reference_total: int) -> float:
    if not matches:
        return 0.0
    # Exactly these operations in this order: others would differ in the last bit.
    precision = matches / total
    recall = matches / reference_total
    return 2 * precision * recall / (precision + recall)
