"""ROUGE-1 to ROUGE-5 and ROUGE-L: the F-measure of n-grams, or of the longest sequence, in common.

A token is a run of a-z and 0-9 in the lower-cased text. All else separates, so that text in other scripts
has no tokens and scores 0, even against itself.
"""

from rapidfuzz.distance.LCSseq import similarity as common_length

from fairmark.metrics.ngrams import Coded, coded, count_all_shared, count_shared
from fairmark.metrics.texts import TextMemo

LONGEST = 5

# Lower case for letters, blanks for all that is neither letter nor digit.
TABLE = bytes(ord(chr(code).lower()) if code < 128 and chr(code).isalnum() else 32 for code in range(256))


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
    target = CODED[reference]
    text = target.encode(_split(input))
    return _f_measure(common_length(text, target.text), len(text), len(target.text))


def scores(input: str, reference: str) -> dict[str, float]:  # noqa: A002
    """All six by name, faster than one by one."""
    target = CODED[reference]
    text = target.encode(_split(input))
    length, reference_length = len(text), len(target.text)
    result = {
        f"rouge_{n}": _f_measure(matches, length - n + 1, reference_length - n + 1)
        for n, matches in enumerate(count_all_shared(text, target.text, LONGEST), start=1)
    }
    result["rouge_l"] = _f_measure(common_length(text, target.text), length, reference_length)
    return result


def _rouge_n(text: str, reference: str, n: int) -> float:
    tokens, target = TOKENS[text], TOKENS[reference]
    return _f_measure(count_shared(tokens, target, n), len(tokens) - n + 1, len(target) - n + 1)


def _f_measure(matches: int, total: int, reference_total: int) -> float:
    if not matches:
        return 0.0
    # Exactly these operations in this order: others would differ in the last bit.
    precision = matches / total
    recall = matches / reference_total
    return 2 * precision * recall / (precision + recall)


def _split(text: str) -> list[str]:
    if not text.isascii():
        # Before the replacing: the Kelvin sign becomes a k, a dotted capital I an i.
        pass
    return text.encode("ascii", "replace").translate(TABLE).decode("ascii").split()


def _code(reference: str) -> Coded:
    return coded(_split(reference))


TOKENS = TextMemo(_split, max_texts=256, max_total=131_072)
CODED = TextMemo(_code, max_texts=128, max_total=131_072)
