"""text_similarity: how alike two texts are, by one of the metrics. The reward is between 0 and 1."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from operator import mul
from typing import Annotated, ClassVar, Literal

from pydantic import Strict

from fairmark import metrics
from fairmark.context import Context
from fairmark.errors import GradingFailed, NotGraded
from fairmark.failures import as_grade
from fairmark.judgement import Judgement
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.spec import GraderSpec
from fairmark.text.template import Template

MetricName = Literal[
    "fuzzy_match", "bleu", "gleu", "meteor", "cosine",
    "rouge_1", "rouge_2", "rouge_3", "rouge_4", "rouge_5", "rouge_l",
]  # fmt: skip
EMBEDDING_MODEL = "text-embedding-3-large"


class TextSimilarity(GraderSpec):
    """Measure how alike two texts are; the reward is between 0 and 1."""

    other_names: ClassVar[dict[str, str]] = {"evaluation": "evaluation_metric"}

    type: Literal["text_similarity"]
    input: Template
    reference: Template
    evaluation_metric: MetricName
    embedding_model: Annotated[str, Strict()] = EMBEDDING_MODEL
    """Which model makes the vectors of cosine; an extension of ours."""

    @property
    def reward_range(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def models(self) -> Mapping[str, str]:
        return {".embedding_model": self.embedding_model} if self.evaluation_metric == "cosine" else {}

    @cached_property
    def metric(self) -> Callable[[str, str], float]:
        return metrics.load(self.evaluation_metric)


def needs_vectors(spec: TextSimilarity) -> bool:
    return spec.evaluation_metric == "cosine"


def grade(spec: TextSimilarity, row: Row, ctx: Context) -> Grade:
    return Grade(spec.metric(spec.input.render(row), spec.reference.render(row)))


async def grade_by_vectors(spec: TextSimilarity, rows: Sequence[Row], ctx: Context) -> list[Grade]:
    """cosine: all texts of the rows are embedded together. An empty text is like nothing, not even itself."""
    pairs: list[tuple[str, str] | Grade] = []
    for row in rows:
        try:
            texts = spec.input.render(row), spec.reference.render(row)
        except GradingFailed as failure:
            pairs.append(Grade.failed(failure))
            continue
        pairs.append(texts if all(texts) else Grade(0.0))
    wanted = list(dict.fromkeys(text for pair in pairs if not isinstance(pair, Grade) for text in pair))
    if not wanted:
        return [pair for pair in pairs if isinstance(pair, Grade)]
    try:
        embedded = await ctx.judge.embed(spec.embedding_model, wanted, ctx.budget)
    except (GradingFailed, NotGraded) as error:
        return [pair if isinstance(pair, Grade) else as_grade(error) for pair in pairs]
    vectors = dict(zip(wanted, embedded.vectors, strict=True))
    # The rows were asked about together, so the first of them carries what that cost.
    free = None if embedded.cost is None else 0.0
    asked = Judgement(spec.embedding_model, [], sampled_model=embedded.sampled_model, cost=free)
    bill = replace(asked, usage=embedded.usage, cost=embedded.cost, attempts=embedded.requests)
    grades: list[Grade] = []
    for pair in pairs:
        if isinstance(pair, Grade):
            grades.append(pair)
            continue
        reward = max(0.0, cosine(vectors[pair[0]], vectors[pair[1]]))
        grades.append(Grade(reward, judgements=(bill,)))
        bill = asked
    return grades


def cosine(first: Sequence[float], second: Sequence[float]) -> float:
    """1.0 for the same direction, 0.0 where a vector has none."""
    if first == second and any(first):
        return 1.0
    lengths = math.sqrt(math.fsum(map(mul, first, first))) * math.sqrt(math.fsum(map(mul, second, second)))
    return min(1.0, math.fsum(map(mul, first, second)) / lengths) if lengths else 0.0
