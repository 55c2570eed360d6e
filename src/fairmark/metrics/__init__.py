"""Text metrics: plain functions (input, reference) -> number from 0 to 1.

Nothing is loaded before a metric is asked for.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairmark.metrics.bleu import bleu as bleu
    from fairmark.metrics.fuzzy import fuzzy_match as fuzzy_match
    from fairmark.metrics.gleu import gleu as gleu
    from fairmark.metrics.meteor import meteor as meteor
    from fairmark.metrics.rouge import rouge_1 as rouge_1
    from fairmark.metrics.rouge import rouge_2 as rouge_2
    from fairmark.metrics.rouge import rouge_3 as rouge_3
    from fairmark.metrics.rouge import rouge_4 as rouge_4
    from fairmark.metrics.rouge import rouge_5 as rouge_5
    from fairmark.metrics.rouge import rouge_l as rouge_l

Metric = Callable[[str, str], float]

MODULES = {
    "fuzzy_match": "fuzzy",
    "bleu": "bleu",
    "gleu": "gleu",
    "meteor": "meteor",
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


class _Metrics(ModuleType):
    """Makes `fairmark.metrics.bleu` the function, loaded when first used, although there is a module of that
    name: importing a module makes it an attribute of its package, which is ignored here."""

    def __getattr__(self, name: str) -> Metric:
        if name not in MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        metric = load(name)
        setattr(self, name, metric)
        return metric

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in MODULES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Metrics
