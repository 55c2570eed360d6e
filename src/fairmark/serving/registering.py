"""Graders that clients want to keep: the way into the registry, and the answer where it does not take one."""

from starlette.requests import Request

from fairmark.errors import (
    ApiError,
    DuplicateKey,
    FairmarkError,
    InvalidGrader,
    InvalidKey,
    LockedGrader,
    VersionConflict,
)
from fairmark.refusals import invalid, invalid_grader
from fairmark.registry.functions import FunctionRefused
from fairmark.registry.keeping import Registration
from fairmark.serving.wire import state


def registration(request: Request) -> Registration:
    shared = state(request)
    return Registration(shared.store.graders, shared.registry)


def refusal(error: FairmarkError, root: str = "grader") -> FairmarkError:
    """The answer to those who wanted to keep a grader that cannot be kept."""
    match error:
        case InvalidGrader():
            return invalid_grader(error, root)
        case InvalidKey():
            return invalid(str(error), "key")
        case FunctionRefused():
            checks = [each._asdict() for each in error.found.checks]
            extra = {"checks": checks, "warnings": error.found.warnings, "valid": False}
            param = (root + error.path.removeprefix("$")).removeprefix(".")
            return ApiError(400, str(error), param=param, code="function_check_failed", extra=extra)
        case DuplicateKey():
            return ApiError(409, str(error), param="key", code="duplicate_key")
        case VersionConflict():
            return ApiError(409, str(error), param="version", code="version_conflict")
        case LockedGrader():
            return ApiError(423, str(error), param="key", code="locked")
        case _:
            return error
