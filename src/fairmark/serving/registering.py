"""Graders that clients want to keep: the way into the registry, and the answer where it does not take one."""

from starlette.requests import Request

from fairmark.errors import (
    ApiError,
    DuplicateKey,
    FairmarkError,
    FunctionRefused,
    InvalidGrader,
    InvalidKey,
    LockedGrader,
    VersionConflict,
)
from fairmark.refusals import invalid_grader, refused
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
        case FunctionRefused():
            checks = [each._asdict() for each in error.found.checks]
            extra = {"checks": checks, "warnings": error.found.warnings, "valid": False}
            param = (root + error.path.removeprefix("$")).removeprefix(".")
            return ApiError(error.status, str(error), param=param, code=error.code, extra=extra)
        case InvalidKey() | DuplicateKey() | VersionConflict() | LockedGrader():
            return refused(error)
        case _:
            return error
