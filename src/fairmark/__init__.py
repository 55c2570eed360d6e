"""Fairmark grades what language models say, with the grader JSON you already have."""

from typing import TYPE_CHECKING

from fairmark.errors import EvaluationFailed, FairmarkError, GradingFailed, InvalidData, InvalidGrader, Problem
from fairmark.judgement import Judgement, Usage
from fairmark.judges.base import Budget
from fairmark.parse import Validation
from fairmark.registry.specify import validate
from fairmark.result import Result
from fairmark.run import agrade, agrade_many, agrade_stream, grade, grade_many, grade_stream

if TYPE_CHECKING:
    from fairmark import metrics as metrics
    from fairmark.client import AsyncClient, Client
    from fairmark.evaluation import evaluate
    from fairmark.judges.fake import FakeAnswer, FakeJudge
    from fairmark.registry.functions import FunctionCheck, check_function
    from fairmark.sandbox.inside.adaptive_harmony import StringThread

__version__ = "0.1.0"

__all__ = [
    "AsyncClient",
    "Budget",
    "Client",
    "EvaluationFailed",
    "FairmarkError",
    "FakeAnswer",
    "FakeJudge",
    "FunctionCheck",
    "GradingFailed",
    "InvalidData",
    "InvalidGrader",
    "Judgement",
    "Problem",
    "Result",
    "StringThread",
    "Usage",
    "Validation",
    "agrade",
    "agrade_many",
    "agrade_stream",
    "check_function",
    "evaluate",
    "grade",
    "grade_many",
    "grade_stream",
    "validate",
]


# Imported when somebody asks for them: most never do, and imports take time.
_LATER = {
    "AsyncClient": "fairmark.client",
    "Client": "fairmark.client",
    "FakeAnswer": "fairmark.judges.fake",
    "FakeJudge": "fairmark.judges.fake",
    "FunctionCheck": "fairmark.registry.functions",
    "StringThread": "fairmark.sandbox.inside.adaptive_harmony",
    "check_function": "fairmark.registry.functions",
    "evaluate": "fairmark.evaluation",
}


def __getattr__(name: str) -> object:
    if name in _LATER:
        from importlib import import_module

        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'fairmark' has no attribute {name!r}")
