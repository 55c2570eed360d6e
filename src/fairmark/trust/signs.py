"""What answers look like when a reward is gamed: figures of single answers, which are signs and never proof."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache

from fairmark.trust.places import Places
from fairmark.trust.results import GradedRow

_PLACES = Places()
_REFUSAL = re.compile(
    r"\b(?:i(?:'|’)?m sorry|i am sorry|i can(?:no|')t (?:help|assist|answer)|as an ai|unable to (?:help|assist))\b",
    re.IGNORECASE,
)
_SHELL = re.compile(r"^\s*(?:#{1,6}\s|[-*•]\s|\d+[.)]\s|\*\*[^*]+\*\*)", re.MULTILINE)
_MOST_WORDS = 2_000
"""Of an answer and of what it may copy; what is longer is looked at from its start."""


def words_of(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())[:_MOST_WORDS]


def length(row: GradedRow) -> float:
    return float(len(row.text.split()))


def repetition(row: GradedRow) -> float:
    """The share of runs of four words that were there before."""
    words = words_of(row.text)
    grams = list(zip(words, words[1:], words[2:], words[3:], strict=False))
    return 1 - len(set(grams)) / len(grams) if grams else 0.0


def refusal(row: GradedRow) -> float:
    return float(_REFUSAL.search(row.text[:400]) is not None)


def copying(row: GradedRow) -> float:
    """The longest run of words in common with the question or the reference, as a share of the answer."""
    words = words_of(row.text)
    if not words:
        return 0.0
    sources = (_PLACES.question_of(row.item), _PLACES.reference_of(row.item))
    return max(_longest_common(words, words_of(source)) for source in ("", *filter(None, sources))) / len(words)


def _longest_common(first: list[str], second: list[str]) -> int:
    longest = 0
    before: dict[int, int] = {}
    places: dict[str, list[int]] = {}
    for place, word in enumerate(second):
        places.setdefault(word, []).append(place)
    for word in first:
        now = {place: before.get(place - 1, 0) + 1 for place in places.get(word, ())}
        longest = max([longest, *now.values()])
        before = now
    return longest


def shell(row: GradedRow) -> float:
    """The share of lines that are headings, bullets or bold openings."""
    lines = [line for line in row.text.splitlines() if line.strip()]
    return len(_SHELL.findall(row.text)) / len(lines) if lines else 0.0


def stuffing(criteria: str) -> Callable[[GradedRow], float]:
    """The share of the criteria's longer words that the answer holds."""
    wanted = {word for word in words_of(criteria) if len(word) > 4}

    def share(row: GradedRow) -> float:
        return len(wanted & set(words_of(row.text))) / len(wanted) if wanted else 0.0

    return share


def identical(rows: list[GradedRow]) -> float:
    """The share of answers that another item has got word by word."""
    counts = Counter(row.text for row in rows)
    return sum(count for count in counts.values() if count > 1) / len(rows) if rows else 0.0


@cache
def signs_for(criteria: str) -> Mapping[str, Callable[[GradedRow], float]]:
    signs: dict[str, Callable[[GradedRow], float]] = {
        "length": length, "repetition": repetition, "refusals": refusal, "copying": copying, "format shells": shell,
    }  # fmt: skip
    if criteria:
        signs["stuffing"] = stuffing(criteria)
    return signs
