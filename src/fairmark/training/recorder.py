"""What the rewards of a step come to, for training and for validation apart: the data of a job's metrics events."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from fairmark.errors import NO_ERRORS
from fairmark.judgement import Usage, usage_per_model
from fairmark.result import Result
from fairmark.spec import GraderSpec

Mode = Literal["train", "valid"]
ERRORS = tuple(name for name, value in NO_ERRORS.items() if value is False)
"""The flags of failures that are true or false."""


LONGEST_REASON = 500


class StepTally:
    """Of the rows that were graded in one step, or in one validation."""

    def __init__(self) -> None:
        self.rows = 0
        self.graded = 0
        self.rewards = 0.0
        self.parts: Counter[str] = Counter()
        self.flags: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.usage: dict[str, Usage] = {}
        self.latency_s = 0.0
        self.completions = 0
        self.tokens = 0

    def add(self, results: Sequence[Result]) -> None:
        for result in results:
            self.rows += 1
            self.latency_s += result.execution_time
            for model, usage in usage_per_model(result.judgements).items():
                self.usage[model] = self.usage.get(model, Usage()).plus(usage)
            if result.ok:
                self.graded += 1
                self.rewards += result.reward
                self.parts.update({key: _finite(value) for key, value in result.grade.sub_rewards.items()})
            else:
                last_line = (result.error or result.skipped or "").strip().rpartition("\n")[2]
                self.reasons[last_line[:LONGEST_REASON]] += 1
                self.flags.update(flag for flag in result.grade.flags if flag in ERRORS)

    def add_tokens(self, lengths: Sequence[int]) -> None:
        self.completions += len(lengths)
        self.tokens += sum(lengths)

    @property
    def mean(self) -> float | None:
        """Over the rows that were graded; None without any: there is no reward then, not a reward of 0."""
        return self.rewards / self.graded if self.graded else None

    def part_mean(self, key: str) -> float | None:
        return self.parts[key] / self.graded if self.graded else None

    def share(self, flag: str) -> float | None:
        return self.flags[flag] / self.rows if self.rows else None

    @property
    def tokens_mean(self) -> float | None:
        return self.tokens / self.completions if self.completions else None

    @property
    def reason(self) -> str | None:
        """Why most of those rows were not graded that were not."""
        return self.reasons.most_common(1)[0][0] if self.reasons else None


class Recorder:
    """Gathers what is graded until somebody takes it."""

    def __init__(self) -> None:
        self._tallies: dict[Mode, StepTally] = {}

    def of(self, mode: Mode) -> StepTally:
        return self._tallies.setdefault(mode, StepTally())

    def take(self, mode: Mode) -> StepTally | None:
        """What was gathered since it was taken last; None where that is nothing."""
        return self._tallies.pop(mode, None)


def metrics(
    spec: GraderSpec,
    step: int,
    total_steps: int | None,
    tallies: Mapping[Mode, StepTally | None],
    seconds: Mapping[str, float | None],
    more: Mapping[str, Any],
) -> dict[str, Any]:
    """The data of a step's event, in OpenAI's names. `more`: what the trainer itself tells, such as its loss; ours."""
    train, valid = tallies.get("train"), tallies.get("valid")
    means = _both(train, valid, "reward_mean", lambda tally: tally.mean)
    whole = {"name": spec.name, "type": spec.type}
    return {
        "step": step,
        "total_steps": total_steps,
        "train_mean_reward": means["train_reward_mean"],
        "full_valid_mean_reward": means["valid_reward_mean"],
        "full_valid_mean_parse_error": valid and valid.share("sample_parse_error"),
        "mean_unresponsive_rewards": train and train.share("unresponsive_reward_error"),
        "reasoning_tokens_mean": None,  # a completion is one text here
        "completion_tokens_mean": train and train.tokens_mean,
        "scores": {**means, "graders": list(_scores(spec, train, valid))},
        "errors": {"graders": [{**whole, **_errors(train, valid)}]},
        "usage": {"graders": [{**whole, **_usage(train, valid)}]},
        "timing": {
            "step": {name: _rounded(seconds.get(name)) for name in ("sampling", "training", "eval", "full_iteration")},
            "graders": [{**whole, **_both(train, valid, "execution_latency_mean", _latency)}],
        },
        "model_graders_token_usage": _by_model(train, valid),
        "graded": {
            name: {"rows": tally.rows, "graded": tally.graded, "most_frequent_error": tally.reason}
            for name, tally in (("train", train), ("valid", valid))
            if tally
        },
        "trainer": {name: value for name, value in more.items() if _is_number(value)},
    }


def _scores(spec: GraderSpec, train: StepTally | None, valid: StepTally | None) -> Iterator[dict[str, Any]]:
    for key, child in spec.children.items():
        means = _both(train, valid, "reward_mean", lambda tally, key=key: tally.part_mean(key))
        yield {"name": child.name, "type": child.type, **means}
    if not spec.children:
        yield {"name": spec.name, "type": spec.type, **_both(train, valid, "reward_mean", lambda tally: tally.mean)}


def _errors(train: StepTally | None, valid: StepTally | None) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for flag in ERRORS:
        told |= _both(train, valid, f"{flag}_mean", lambda tally, flag=flag: tally.share(flag))
        told |= _both(train, valid, f"{flag}_count", lambda tally, flag=flag: tally.flags[flag])
    return told


def _usage(train: StepTally | None, valid: StepTally | None) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for name in ("prompt_tokens", "completion_tokens"):

        def count(tally: StepTally, name: str = name) -> int:
            return sum(getattr(usage, name) for usage in tally.usage.values())

        told |= _both(train, valid, f"{name}_mean", lambda tally, count=count: count(tally) / tally.rows)
        told |= _both(train, valid, f"{name}_count", count)
    return told


def _by_model(train: StepTally | None, valid: StepTally | None) -> dict[str, dict[str, int]]:
    told: dict[str, dict[str, int]] = {}
    for prefix, tally in (("train", train), ("eval", valid)):
        for model, usage in (tally.usage if tally else {}).items():
            tokens = {"prompt": usage.prompt_tokens, "completion": usage.completion_tokens}
            tokens["cached"] = usage.cached_tokens
            told.setdefault(model, {}).update({f"{prefix}_{name}_tokens": count for name, count in tokens.items()})
    return told


def _latency(tally: StepTally) -> float:
    return tally.latency_s / tally.rows


def _both(train: StepTally | None, valid: StepTally | None, name: str, value: Any) -> dict[str, Any]:
    """The same of both; None of what was not graded in this step."""
    return {
        f"train_{name}": value(train) if train and train.rows else None,
        f"valid_{name}": value(valid) if valid and valid.rows else None,
    }


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(max(0.0, seconds), 4)
