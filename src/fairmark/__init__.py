"""Fairmark grades what language models say, with the grader JSON you already have."""

from fairmark.errors import FairmarkError, GradingFailed, InvalidData, InvalidGrader, Problem
from fairmark.functions import FunctionCheck, check_function
from fairmark.parse import Validation, validate
from fairmark.result import Result
from fairmark.run import agrade, agrade_many, agrade_stream, grade, grade_many, grade_stream

__version__ = "0.1.0"

__all__ = [
    "FairmarkError",
    "FunctionCheck",
    "GradingFailed",
    "InvalidData",
    "InvalidGrader",
    "Problem",
    "Result",
    "Validation",
    "agrade",
    "agrade_many",
    "agrade_stream",
    "check_function",
    "grade",
    "grade_many",
    "grade_stream",
    "validate",
]
