"""Text metrics against the libraries that define them: speed, and equality of every score.

Cold: texts not seen before, in a process that has just started. Warm: the same texts again, soon after, as
when several metrics grade one pair or one reference serves many inputs.
"""

import gc
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from bench.corpus import pairs

PAIRS = 5000
# Pairs after which the warm pass goes over them again: what the memos are meant to hold.
BLOCK = 50

Pair = tuple[str, str]
Score = Callable[[str, str], Any]

ROUGE = ["rouge_1", "rouge_2", "rouge_3", "rouge_4", "rouge_5", "rouge_l"]


class Row(NamedTuple):
    metric: str
    ours_us: float
    """Microseconds a pair, cold."""
    warm_us: float
    reference_us: float
    required: float
    """How many times faster than the reference it has to be, cold."""
    required_warm: float
    equal: bool

    @property
    def ratio(self) -> float:
        return self.reference_us / self.ours_us

    @property
    def ratio_warm(self) -> float:
        return self.reference_us / self.warm_us

    @property
    def ok(self) -> bool:
        return self.equal and self.ratio >= self.required and self.ratio_warm >= self.required_warm


# Metric -> how many times faster than its reference, cold and warm.
REQUIRED = {
    "fuzzy_match": (1, 1),  # the same call of the same library: the wrapper has to cost nothing
    "bleu": (2, 4),
    "gleu": (2, 4),
    "meteor": (6, 6),
    "rouge_1": (4, 4),
    "rouge_2": (4, 4),
    "rouge_3": (4, 4),
    "rouge_4": (4, 4),
    "rouge_5": (4, 4),
    "rouge_l": (200, 200),
    "rouge (all six)": (100, 100),
}


def reference(metric: str) -> Score:
    """The metric as the library that defines it computes it, from the same two strings."""
    # Here, and not above: they take seconds to import.
    from nltk import word_tokenize
    from nltk.tokenize.nist import NISTTokenizer
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
    from nltk.translate.gleu_score import sentence_gleu
    from nltk.translate.meteor_score import meteor_score
    from rapidfuzz.fuzz import ratio
    from rouge_score.rouge_scorer import RougeScorer

    international = NISTTokenizer()
    smoothing = SmoothingFunction().method4

    def tokens(text: str) -> list[str]:
        words: list[str] = word_tokenize(text) if text.isascii() else international.international_tokenize(text)
        return words

    def rouge(names: list[str]) -> Score:
        kinds = {name: f"rouge{name[6:].upper()}" for name in names}
        scorer = RougeScorer(list(kinds.values()), use_stemmer=False)

        def score(text: str, target: str) -> Any:
            found = scorer.score(target, text)
            values = {name: found[kind].fmeasure for name, kind in kinds.items()}
            return values if len(names) > 1 else values[names[0]]

        return score

    if metric in ROUGE:
        return rouge([metric])
    return {
        "fuzzy_match": lambda text, target: ratio(text, target) / 100,
        "bleu": lambda text, target: sentence_bleu([tokens(target)], tokens(text), smoothing_function=smoothing),
        "gleu": lambda text, target: sentence_gleu([tokens(target)], tokens(text)),
        "meteor": lambda text, target: meteor_score([tokens(target)], tokens(text)),
        "rouge (all six)": rouge(ROUGE),
    }[metric]


def ours(metric: str) -> Score:
    from fairmark import metrics

    if metric == "rouge (all six)":
        from fairmark.metrics.rouge import scores

        return scores
    return metrics.load(metric)


def timed(score: Score, texts: list[Pair]) -> tuple[float, list[Any]]:
    start = time.perf_counter()
    results = [score(text, target) for text, target in texts]
    return time.perf_counter() - start, results


def measure(metric: str, count: int = PAIRS) -> Row:
    """One metric in this process, which should be fresh. Loading the data is not counted.

    Ours and the reference take turns, also at being first: who comes second finds the texts in the processor's cache.
    """
    texts = pairs(count)
    score, theirs = ours(metric), reference(metric)
    for either in (score, theirs):
        either("Loads, once, what it needs.", "Naïve, e.g. on Jan. 5. Yes.")
    cold = warm = peer = 0.0
    equal = True
    gc.collect()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the reference warns of short texts
        for start in range(0, count, BLOCK):
            block = texts[start : start + BLOCK]
            theirs_first = start // BLOCK % 2 == 1
            if theirs_first:
                seconds, expected = timed(theirs, block)
                peer += seconds
            seconds, scores = timed(score, block)
            cold += seconds
            if not theirs_first:
                seconds, expected = timed(theirs, block)
                peer += seconds
            seconds, again = timed(score, block)
            warm += seconds
            equal = equal and scores == again == expected
    micro = 1e6 / count
    return Row(metric, cold * micro, warm * micro, peer * micro, *REQUIRED[metric], equal)


def run(count: int = PAIRS) -> list[Row]:
    """A row for each metric, each measured in a process of its own."""
    rows = []
    for metric in REQUIRED:
        command = [sys.executable, "-m", "bench.metrics", metric, str(count)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        rows.append(Row(*json.loads(done.stdout)))
        print(shown(rows[-1]), file=sys.stderr)
    return rows


HEADER = "metric            ours µs  warm µs  reference µs  ratio cold  ratio warm  required    equal  ok"


def shown(row: Row) -> str:
    return (
        f"{row.metric:16} {row.ours_us:8.1f} {row.warm_us:8.1f} {row.reference_us:13.1f} {row.ratio:11.2f} "
        f"{row.ratio_warm:11.2f}  {row.required:g} / {row.required_warm:<7g} {row.equal!s:6} {row.ok}"
    )


def main(count: int = PAIRS) -> dict[str, Any]:
    print(HEADER, file=sys.stderr)
    rows = run(count)
    return {
        row.metric: row._asdict() | {"ratio": row.ratio, "ratio_warm": row.ratio_warm, "ok": row.ok} for row in rows
    }


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
    else:
        print(json.dumps(main(), indent=2))
