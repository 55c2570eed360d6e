"""Text metrics: plain functions (input, reference) -> number from 0 to 1.

Nothing is loaded before a metric is asked for.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairmark.metrics.bleu_score import bleu as bleu
    from fairmark.metrics.fuzzy import fuzzy_match as fuzzy_match
    from fairmark.metrics.gleu_score import gleu as gleu
    from fairmark.metrics.meteor_score import meteor as meteor
    from fairmark.metrics.rouge import rouge_1 as rouge_1
    from fairmark.metrics.rouge import rouge_2 as rouge_2
    from fairmark.metrics.rouge import rouge_3 as rouge_3
    from fairmark.metrics.rouge import rouge_4 as rouge_4
    from fairmark.metrics.rouge import rouge_5 as rouge_5
    from fairmark.metrics.rouge import rouge_l as rouge_l

Metric = Callable[[str, str], float]

# Metric -> its module, which must not have the metric's own name: importing it would hide the function.
MODULES = {
    "fuzzy_match": "fuzzy",
    "bleu": "bleu_score",
    "gleu": "gleu_score",
    "meteor": "meteor_score",
    "rouge_1": "rouge",
    "rouge_2": "rouge",
    "rouge_3": "rouge",
    "rouge_4": "rouge",
    "rouge_5": "rouge",
    "rouge_l": "rouge",
}
METRICS = tuple(MODULES)


def load(name: str) -> Metric:
    """The metric called `name`, one of METRICS. KeyError if there is none."""
    metric: Metric = getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
    return metric


def __getattr__(name: str) -> Metric:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    metric = globals()[name] = load(name)  # the next one finds it without asking here
    return metric
