"""Fairmark grades what language models say, with the grader JSON you already have."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairmark import metrics as metrics
    from fairmark.client import AsyncClient, Client
    from fairmark.data.comparison import Comparison
    from fairmark.errors import EvaluationFailed, FairmarkError, GradingFailed, InvalidData, InvalidGrader, Problem
    from fairmark.evaluation import evaluate
    from fairmark.judgement import Judgement, Usage
    from fairmark.judges.base import Budget
    from fairmark.judges.fake import FakeAnswer, FakeJudge
    from fairmark.kept.calls import compare, find_run, runs
    from fairmark.kept.found import KeptRun
    from fairmark.parse import Validation
    from fairmark.registry.functions import FunctionCheck, check_function
    from fairmark.registry.specify import validate
    from fairmark.result import Result
    from fairmark.run import agrade, agrade_many, agrade_stream, grade, grade_many, grade_stream
    from fairmark.sandbox.inside.adaptive_harmony import StringThread
    from fairmark.trust.check import JudgeCheck, acheck_judge, check_judge

__version__ = "0.1.0"

__all__ = [
    "AsyncClient",
    "Budget",
    "Client",
    "Comparison",
    "EvaluationFailed",
    "FairmarkError",
    "FakeAnswer",
    "FakeJudge",
    "FunctionCheck",
    "GradingFailed",
    "InvalidData",
    "InvalidGrader",
    "JudgeCheck",
    "Judgement",
    "KeptRun",
    "Problem",
    "Result",
    "StringThread",
    "Usage",
    "Validation",
    "acheck_judge",
    "agrade",
    "agrade_many",
    "agrade_stream",
    "check_function",
    "check_judge",
    "compare",
    "evaluate",
    "find_run",
    "grade",
    "grade_many",
    "grade_stream",
    "runs",
    "validate",
]


# Imported when somebody asks for them: who imports the package to grade later, as plugins and trainers do, waits then.
_MODULES = {
    "fairmark.client": ("AsyncClient", "Client"),
    "fairmark.data.comparison": ("Comparison",),
    "fairmark.errors": (
        "EvaluationFailed",
        "FairmarkError",
        "GradingFailed",
        "InvalidData",
        "InvalidGrader",
        "Problem",
    ),
    "fairmark.evaluation": ("evaluate",),
    "fairmark.judgement": ("Judgement", "Usage"),
    "fairmark.judges.base": ("Budget",),
    "fairmark.judges.fake": ("FakeAnswer", "FakeJudge"),
    "fairmark.kept.calls": ("compare", "find_run", "runs"),
    "fairmark.kept.found": ("KeptRun",),
    "fairmark.parse": ("Validation",),
    "fairmark.registry.functions": ("FunctionCheck", "check_function"),
    "fairmark.registry.specify": ("validate",),
    "fairmark.result": ("Result",),
    "fairmark.run": ("agrade", "agrade_many", "agrade_stream", "grade", "grade_many", "grade_stream"),
    "fairmark.sandbox.inside.adaptive_harmony": ("StringThread",),
    "fairmark.trust.check": ("JudgeCheck", "acheck_judge", "check_judge"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        value = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return value
    raise AttributeError(f"module 'fairmark' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
