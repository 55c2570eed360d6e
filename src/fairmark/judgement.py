"""What a judge said about one row, and what it cost: the part of a result that graders without a model do not have."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fairmark.errors import GradingFailed


class Usage(NamedTuple):
    """Tokens spent. `cached_tokens` are those of the prompt that the provider had in its own cache."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    cached_tokens: int = 0

    def plus(self, other: "Usage") -> "Usage":
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.total_tokens + other.total_tokens,
            self.cached_tokens + other.cached_tokens,
        )

    def dump(self) -> dict[str, int]:
        return self._asdict()


NO_USAGE = Usage()


class Listed(NamedTuple):
    """The token that holds the first character of a verdict, and what else was listed in its place, by log
    probability."""

    chosen: str
    tokens: Mapping[str, float]


class Weighed(NamedTuple):
    """The expectation over the verdicts that a judge could have given."""

    expected: float
    spread: float
    coverage: float
    """The share of probability that the listed, permitted verdicts had before it was made 1."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """One question to one judge and what came of it. Tokens, cost and seconds include attempts that failed."""

    model: str
    """As the grader names it."""
    messages: Sequence[Mapping[str, Any]]
    """What the judge was sent."""
    sampling: Mapping[str, Any] = field(default_factory=dict)
    sampled_model: str | None = None
    """As the provider names the model that answered."""
    output: str = ""
    """The judge's own words, unchanged."""
    value: Mapping[str, Any] = field(default_factory=dict)
    """The structured answer: `steps`, `result` and whatever else the question asked for."""
    finish_reason: str | None = None
    usage: Usage = NO_USAGE
    cost: float | None = None
    """Dollars; None where the model has no price."""
    latency_s: float = 0.0
    attempts: int = 0
    """Requests sent; 0 where the answer came from our cache."""
    warning: str | None = None
    failure: GradingFailed | None = None
    listed: Listed | None = None
    """The tokens that could have stood where the verdict begins; None where nobody asked, or the server has none."""
    weighed: Weighed | None = None
    """What came of them."""

    @property
    def name(self) -> str:
        """The model by the best name we have for it."""
        return self.sampled_model or self.model

    def dump(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "sampled_model_name": self.sampled_model,
            "result": self.value.get("result"),
            "steps": self.value.get("steps") or [],
            "input": list(self.messages),
            "output": self.output,
            "finish_reason": self.finish_reason,
            "sampling_params": dict(self.sampling),
            "usage": self.usage.dump(),
            "cost": self.cost,
            "latency": self.latency_s,
            "attempts": self.attempts,
            "cached": self.attempts == 0 and self.failure is None,
            "error": None if self.failure is None else str(self.failure),
            **({} if self.weighed is None else self.weighed._asdict()),
        }


def load_judgement(dumped: Mapping[str, Any]) -> Judgement:
    """What `dump` wrote, as far as it tells: the messages may have been left out."""
    error = dumped.get("error")
    return Judgement(
        model=dumped["model"],
        messages=dumped.get("input") or [],
        sampling=dumped.get("sampling_params") or {},
        sampled_model=dumped.get("sampled_model_name"),
        output=dumped.get("output") or "",
        value={name: dumped.get(name) for name in ("result", "steps")},
        finish_reason=dumped.get("finish_reason"),
        usage=Usage(**dumped.get("usage") or {}),
        cost=dumped.get("cost"),
        latency_s=dumped.get("latency") or 0.0,
        attempts=dumped.get("attempts") or 0,
        failure=None if error is None else GradingFailed(error),
    )


def total_usage(judgements: Iterable[Judgement]) -> Usage:
    total = NO_USAGE
    for judgement in judgements:
        total = total.plus(judgement.usage)
    return total


def usage_per_model(judgements: Iterable[Judgement]) -> dict[str, Usage]:
    usages: dict[str, Usage] = {}
    for judgement in judgements:
        usages[judgement.name] = usages.get(judgement.name, NO_USAGE).plus(judgement.usage)
    return usages


def total_cost(judgements: Iterable[Judgement]) -> float | None:
    """Dollars; None where no price is known for any of them."""
    costs = [judgement.cost for judgement in judgements if judgement.cost is not None]
    return sum(costs) if costs else None
