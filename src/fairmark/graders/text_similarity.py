"""text_similarity: how alike two texts are, by one of the metrics. The reward is between 0 and 1."""

from collections.abc import Callable
from functools import cached_property
from typing import ClassVar, Literal

from fairmark import metrics
from fairmark.context import Context
from fairmark.errors import JudgeFailed
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.spec import GraderSpec
from fairmark.template import Template

MetricName = Literal[
    "fuzzy_match", "bleu", "gleu", "meteor", "cosine",
    "rouge_1", "rouge_2", "rouge_3", "rouge_4", "rouge_5", "rouge_l",
]  # fmt: skip


class TextSimilarity(GraderSpec):
    """Measure how alike two texts are; the reward is between 0 and 1."""

    other_names: ClassVar[dict[str, str]] = {"evaluation": "evaluation_metric"}

    type: Literal["text_similarity"]
    input: Template
    reference: Template
    evaluation_metric: MetricName

    @cached_property
    def metric(self) -> Callable[[str, str], float]:
        if self.evaluation_metric == "cosine":
            raise JudgeFailed("cosine needs an embedding model, and none is configured.")
        return metrics.load(self.evaluation_metric)


def grade(spec: TextSimilarity, row: Row, ctx: Context) -> Grade:
    return Grade(spec.metric(spec.input.render(row), spec.reference.render(row)))
