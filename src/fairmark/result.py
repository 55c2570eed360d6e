"""What comes out: a kind makes a Grade of a row; with its grader's name and its time that is a Result.

An Encoder writes the results of one grader as the wire has them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from fairmark import frames, jsontext
from fairmark.errors import NO_ERRORS, GradingFailed
from fairmark.judgement import Judgement, total_cost, total_usage, usage_per_model
from fairmark.spec import GraderSpec

T = TypeVar("T")
MOST_PARTS = 20
"""Of a result, as a notebook shows it."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})


def is_split(spread: Any) -> bool:
    """Whether several judges, or several answers of one, were not of one mind, by a result's `spread`, where it has
    one. Those that were written before they said so tell it by their agreement."""
    if not isinstance(spread, Mapping):
        return False
    split, agreement = spread.get("split"), spread.get("agreement")
    return split if isinstance(split, bool) else isinstance(agreement, (int, float)) and agreement < 1


class Grade(NamedTuple):
    """What a kind makes of one row. A grade with an `error` is a failure, whatever its reward; one that is `skipped`
    is neither a failure nor a grade."""

    reward: float
    sub_rewards: Mapping[str, float] = _NOTHING
    error: str | None = None
    """What went wrong, for people."""
    flags: Mapping[str, bool | str] = _NOTHING
    """What went wrong, in the wire's keys; only those that are set."""
    printed: str | None = None
    """What the grader's own code printed."""
    skipped: str | None = None
    """Why the row was left out on purpose."""
    judgements: tuple[Judgement, ...] = ()
    """What judges said, in the order they were asked."""
    spread: Mapping[str, Any] | None = None
    """How far several judges, or several answers of one, lay apart."""
    seconds: float | None = None
    """What this row alone took, where the kind knows it."""

    def __reduce__(self) -> tuple[type["Grade"], tuple[Any, ...]]:
        """For pickle and copy, which do not take the mapping that stands for nothing."""
        return Grade, tuple(dict(field) if type(field) is MappingProxyType else field for field in self)

    @classmethod
    def failed(cls, failure: GradingFailed, printed: str | None = None) -> "Grade":
        return cls(0.0, error=str(failure), flags=failure.flags(), printed=printed)


class Result:
    """The grade of one row by one grader. `model_dump()` is the wire answer of `/graders/run` plus our extras."""

    __slots__ = ("execution_time", "grade", "row_warnings", "spec")

    def __init__(self, spec: GraderSpec, grade: Grade, execution_time: float, warnings: tuple[str, ...] = ()) -> None:
        self.spec = spec
        self.grade = grade
        self.execution_time = execution_time
        """Seconds. Rows graded together in one batch share its time evenly."""
        self.row_warnings = warnings
        """What was noticed about this row, without what is to be said about its grader."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was noticed and does not stop a grade: about the grader, then about this row."""
        return self.spec.all_warnings + self.row_warnings

    @property
    def ok(self) -> bool:
        """Whether the reward is one: the row was graded, and neither failed nor left out."""
        return self.grade.error is None and self.grade.skipped is None

    def reward_or(self, default: T) -> float | T:
        """The reward; `default` where there is none, so that a failure cannot pass for a bad answer."""
        return self.grade.reward if self.ok else default

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def type(self) -> str:
        return self.spec.type

    @property
    def reward(self) -> float:
        return self.grade.reward

    @property
    def sub_rewards(self) -> dict[str, float]:
        return dict(self.grade.sub_rewards)

    @property
    def status(self) -> Literal["graded", "error", "skipped"]:
        if self.grade.error is not None:
            return "error"
        return "graded" if self.grade.skipped is None else "skipped"

    @property
    def skipped(self) -> str | None:
        """Why the row was left out on purpose; None where it was not."""
        return self.grade.skipped

    @property
    def judgements(self) -> tuple[Judgement, ...]:
        """What judges said about the row: messages, answer, tokens, cost and time of each question."""
        return self.grade.judgements

    @property
    def spread(self) -> Mapping[str, Any] | None:
        """How far several judges lay apart, who said what and who disagreed; None where one alone was asked."""
        return self.grade.spread

    @property
    def split(self) -> bool:
        """Whether the judges were not of one mind."""
        return is_split(self.grade.spread)

    @property
    def cost(self) -> float | None:
        """Dollars spent on judges; None where no price is known."""
        return total_cost(self.grade.judgements)

    @property
    def error(self) -> str | None:
        """What went wrong, in words; None when the row was graded."""
        return self.grade.error

    @property
    def errors(self) -> dict[str, bool | str | None]:
        """The 14 error keys of the wire format, always all of them."""
        return {**NO_ERRORS, **self.grade.flags}

    @property
    def printed(self) -> str | None:
        """What the grader's own code printed; it is no part of the grade."""
        return self.grade.printed

    @property
    def passed(self) -> bool | None:
        """Whether the reward reaches the grader's threshold; None where it has none. An error never passes."""
        if self.grade.error is not None:
            return False
        if self.grade.skipped is not None:
            return None
        threshold = self.spec.threshold
        return None if threshold is None else self.grade.reward >= threshold

    def model_dump(self) -> dict[str, Any]:
        grade = self.grade
        judgements = grade.judgements
        return {
            "reward": grade.reward,
            "metadata": {
                "name": self.spec.name,
                "type": self.spec.type,
                "errors": self.errors,
                "execution_time": self.execution_time,
                "scores": dict(grade.sub_rewards),
                "token_usage": total_usage(judgements).dump() if judgements else None,
                "sampled_model_name": next(
                    (judgement.sampled_model for judgement in judgements if judgement.sampled_model), None
                ),
            },
            "sub_rewards": dict(grade.sub_rewards),
            "model_grader_token_usage_per_model": {
                model: usage.dump() for model, usage in usage_per_model(judgements).items()
            },
            "status": self.status,
            "passed": self.passed,
            "error": grade.error,
            "warnings": list(self.warnings),
            "printed": grade.printed,
            "skipped": grade.skipped,
            "cost": total_cost(judgements),
            "spread": grade.spread,
            "judgements": [judgement.dump() for judgement in judgements],
            **({"registered": self.spec.registered} if self.spec.registered else {}),
        }

    def model_dump_json(self) -> str:
        return jsontext.encode(self.model_dump()).decode()

    @property
    def verdict(self) -> str:
        """The short of it, for people: passed, failed, graded (where nothing says what passes), error or skipped."""
        if self.status != "graded" or self.passed is None:
            return self.status
        return "passed" if self.passed else "failed"

    def _repr_html_(self) -> str:
        from fairmark import fragments, reason  # for notebooks; whoever only grades does not wait for them

        facts = {
            "reward": fragments.cell(self.reward_or(None)),
            "verdict": self.verdict,
            "grader": f"{self.name} ({self.type})" if self.name != self.type else self.type,
            "why": reason.reason(self),
            **{
                f"reward of {name}": f"{reward:.4g}"
                for name, reward in islice(self.grade.sub_rewards.items(), MOST_PARTS)
            },
            "judges": ", ".join(dict.fromkeys(judgement.name for judgement in self.judgements)),
            "tokens": f"{total_usage(self.judgements).total_tokens:,}" if self.judgements else "",
            "cost": "" if self.cost is None else f"${self.cost:.4f}",
            "warnings": " ".join(self.warnings),
        }
        return fragments.whole(
            [fragments.table(("", ""), [(name, fragments.cell(text)) for name, text in facts.items() if text], set())]
        )

    def __repr__(self) -> str:
        more = f", passed={self.passed}" if self.passed is not None else ""
        more += f", error={self.error!r}" if self.error else ""
        more += f", warnings={[*self.warnings]!r}" if self.warnings else ""
        return f"Result(reward={self.reward!r}, status={self.status!r}{more})"


class Results(list[Result]):
    """The results of many rows, in their order: a list, that can be had as a data frame."""

    def records(self) -> list[dict[str, Any]]:
        """A flat dict a row: reward (None where it was not graded), passed, status, error, warnings, and the parts."""
        parts = list(dict.fromkeys(name for result in self for name in result.grade.sub_rewards))
        return [
            {
                "reward": result.reward_or(None),
                "passed": result.passed,
                "status": result.status,
                "error": result.error or result.skipped,
                "warnings": "; ".join(result.warnings) or None,
                **{f"reward.{name}": result.grade.sub_rewards.get(name) for name in parts},
            }
            for result in self
        ]

    def _repr_html_(self) -> str:
        from fairmark import fragments, reason  # as above

        rewards = [result.reward for result in self if result.ok]
        verdicts = Counter(result.verdict for result in self)
        told = ", ".join(f"{count:,} {verdict}" for verdict, count in verdicts.most_common())
        parts = [fragments.line(f"{len(self):,} results" + (f": {told}" if told else "") + ".")]
        if rewards:
            parts.append(fragments.rewards_plot(rewards))
        lines = [
            (str(number), fragments.cell(result.reward_or(None)), result.verdict, fragments.cell(reason.reason(result)))
            for number, result in enumerate(self[: fragments.MOST_ROWS])
        ]
        parts.append(fragments.table(("", "reward", "verdict", "why"), lines, {0, 1}))
        first = next((number for number, result in enumerate(self) if result.error is not None), 0)
        if first >= fragments.MOST_ROWS:
            why = fragments.cell(self[first].error)
            parts.append(fragments.line(f"The first that could not be graded is {first}: {why}", "bad"))
        left_out = len(self) - fragments.MOST_ROWS
        if left_out > 0:
            parts.append(fragments.line(f"… {left_out:,} more; .to_pandas() and .to_polars() have all."))
        return fragments.whole(parts)

    def to_pandas(self) -> Any:
        """A row each in a pandas.DataFrame."""
        return frames.to_pandas(self.records())

    def to_polars(self) -> Any:
        """A row each in a polars.DataFrame."""
        return frames.to_polars(self.records())


_NOTHING_ELSE = Grade(0.0)[1:]
_GAP = b"\0"
"""Stands where a value will be; no JSON text holds it."""


def wire_form(result: Result) -> dict[str, Any]:
    """What a client gets: the result, and its reward once more under the name that some guides use."""
    return {**result.model_dump(), "score": result.grade.reward}


class Encoder:
    """The results of one grader as JSON. The most frequent ones are a text that is ready but for three values."""

    def __init__(self, spec: GraderSpec) -> None:
        self._threshold = spec.threshold
        self._parts: tuple[str, ...] | None = None
        gap = msgspec.Raw(_GAP)
        form = wire_form(Result(spec, Grade(0.0), 0.0))
        form.update(reward=gap, passed=gap, score=gap)
        form["metadata"]["execution_time"] = gap
        try:
            self._parts = tuple(msgspec.json.encode(form).decode().split(_GAP.decode()))
        except UnicodeEncodeError:  # half an emoji in the grader's name: every result goes the long way
            pass

    def encode(self, result: Result) -> bytes:
        reward = result.grade.reward
        parts = self._parts
        if (
            parts is None
            or result.row_warnings
            or result.grade[1:] != _NOTHING_ELSE
            or type(reward) is not float
            or not -1e300 < reward < 1e300
        ):
            return jsontext.encode(wire_form(result))
        threshold = self._threshold
        passed = "null" if threshold is None else "true" if reward >= threshold else "false"
        before, seconds, between, again, after = parts
        text = f"{before}{reward!r}{seconds}{result.execution_time!r}{between}{passed}{again}{reward!r}{after}"
        return text.encode()

    def encode_all(self, results: Iterable[Result]) -> list[bytes]:
        return [self.encode(result) for result in results]
