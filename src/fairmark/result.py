"""What comes out: a kind makes a Grade of a row; with its grader's name and its time that is a Result."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from fairmark import jsontext
from fairmark.errors import NO_ERRORS, GradingFailed
from fairmark.spec import GraderSpec

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Grade(NamedTuple):
    """What a kind makes of one row. A grade with an `error` is a failure, whatever its reward."""

    reward: float
    sub_rewards: Mapping[str, float] = _NOTHING
    error: str | None = None
    """What went wrong, for people."""
    flags: Mapping[str, bool | str] = _NOTHING
    """What went wrong, in the wire's keys; only those that are set."""
    printed: str | None = None
    """What the grader's own code printed."""

    @classmethod
    def failed(cls, failure: GradingFailed, printed: str | None = None) -> "Grade":
        return cls(0.0, error=str(failure), flags=failure.flags(), printed=printed)


class Result:
    """The grade of one row by one grader. `model_dump()` is the wire answer of `/graders/run` plus our extras."""

    __slots__ = ("execution_time", "grade", "spec", "warnings")

    def __init__(self, spec: GraderSpec, grade: Grade, execution_time: float, warnings: tuple[str, ...] = ()) -> None:
        self.spec = spec
        self.grade = grade
        self.execution_time = execution_time
        """Seconds. Rows graded together in one batch share its time evenly."""
        self.warnings = warnings

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
    def status(self) -> Literal["graded", "error"]:
        return "graded" if self.grade.error is None else "error"

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
        threshold = self.spec.threshold
        return None if threshold is None else self.grade.reward >= threshold

    def model_dump(self) -> dict[str, Any]:
        grade = self.grade
        return {
            "reward": grade.reward,
            "metadata": {
                "name": self.spec.name,
                "type": self.spec.type,
                "errors": self.errors,
                "execution_time": self.execution_time,
                "scores": dict(grade.sub_rewards),
                "token_usage": None,
                "sampled_model_name": None,
            },
            "sub_rewards": dict(grade.sub_rewards),
            "model_grader_token_usage_per_model": {},
            "status": self.status,
            "passed": self.passed,
            "error": grade.error,
            "warnings": list(self.warnings),
            "printed": grade.printed,
        }

    def model_dump_json(self) -> str:
        return jsontext.encode(self.model_dump()).decode()

    def __repr__(self) -> str:
        more = f", passed={self.passed}" if self.passed is not None else ""
        more += f", error={self.error!r}" if self.error else ""
        return f"Result(reward={self.reward!r}, status={self.status!r}{more})"
