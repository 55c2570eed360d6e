"""What comes out: a kind makes a Grade of a row; with its grader's name and its time that is a Result."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar

from fairmark import jsontext
from fairmark.errors import NO_ERRORS, GradingFailed
from fairmark.judgement import Judgement, total_cost, total_usage, usage_per_model
from fairmark.spec import GraderSpec

T = TypeVar("T")

_NOTHING: Mapping[str, Any] = MappingProxyType({})


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
                "sampled_model_name": next((each.sampled_model for each in judgements if each.sampled_model), None),
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

    def __repr__(self) -> str:
        more = f", passed={self.passed}" if self.passed is not None else ""
        more += f", error={self.error!r}" if self.error else ""
        return f"Result(reward={self.reward!r}, status={self.status!r}{more})"
