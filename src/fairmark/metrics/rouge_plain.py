"""The core of ROUGE in Python, for where the compiled one, _rouge, is not there. Both count the same, exactly."""

from rapidfuzz.distance.LCSseq import similarity

from fairmark.metrics.ngrams import Coded, coded, count_all_shared, count_shared
from fairmark.metrics.texts import TextMemo

# Lower case for letters, blanks for all that is neither letter nor digit.
TABLE = bytes(ord(chr(code).lower()) if code < 128 and chr(code).isalnum() else 32 for code in range(256))


def overlaps(
    text: str, reference: str, shortest: int, longest: int, sequence: bool, /
) -> tuple[int, int, tuple[int, ...], int]:
    """How many tokens each text has, how many runs of `shortest` ... `longest` tokens they share (no runs are
    counted where longest is 0), and the length of the longest sequence of tokens that both have in the same
    order; 0 unless `sequence` is asked for."""
    tokens = _split(text)
    if shortest == longest and not sequence:  # faster for one length, slower for several
        target = _split(reference)
        return len(tokens), len(target), (count_shared(tokens, target, longest),), 0
    coded_reference = CODED[reference]
    codes, expected = coded_reference.encode(tokens), coded_reference.text
    shared = count_all_shared(codes, expected, longest)[shortest - 1 :] if longest else []
    return len(codes), len(expected), tuple(shared), similarity(codes, expected) if sequence else 0


def _split(text: str) -> list[str]:
    if not text.isascii():
        # Before the replacing: the Kelvin sign becomes a k, a dotted capital I an i.
        text = text.lower()
    return text.encode("ascii", "replace").translate(TABLE).decode("ascii").split()


def _code(reference: str) -> Coded:
    return coded(_split(reference))


# One reference is often compared with many inputs.
CODED = TextMemo(_code, max_texts=128, max_total=131_072)
