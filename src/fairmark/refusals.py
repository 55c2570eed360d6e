"""How a request is refused: the API's errors, in the wire's words. Whoever is asked over HTTP raises these.

What is raised without a thought of HTTP becomes an answer here and nowhere else: `answer_to`.
"""

import errno
from collections.abc import Mapping
from typing import Any

from fairmark import jsontext
from fairmark.errors import (
    ApiError,
    DiskFull,
    DuplicateKey,
    FairmarkError,
    FunctionRefused,
    InvalidData,
    InvalidGrader,
    InvalidKey,
    LockedGrader,
    Refusal,
    StoreUnavailable,
    UnknownCursor,
    VersionConflict,
)

LONGEST_NAME = 256
"""In characters: of evals, runs and registered graders."""


def invalid(message: str, param: str | None = None, code: str = "invalid_value") -> ApiError:
    """400: something in the request is wrong."""
    return ApiError(400, message, param=param, code=code)


def refused(error: FairmarkError) -> ApiError:
    """The answer that an error names itself."""
    return ApiError(error.status, str(error), param=error.param, code=error.code)


def missing(param: str, wanted: str) -> ApiError:
    return invalid(f"{param}: missing. {wanted}", param, "missing_required_parameter")


def wrong_type(param: str, wanted: str, value: Any) -> ApiError:
    message = f"Invalid type for '{param}': expected {wanted}, but found {jsontext.describe(value)} instead."
    return invalid(message, param, "invalid_type")


def check_name(name: str | None) -> None:
    """Raises ApiError for a name that is longer than any list could show."""
    if name is not None and len(name) > LONGEST_NAME:
        raise invalid(f"name: it has {len(name)} characters. A name has at most {LONGEST_NAME}.", "name")


def not_found(what: str, id: str) -> ApiError:  # noqa: A002  # the wire's word
    return ApiError(404, f"No {what} found with id {jsontext.quote(id)}.", param="id", code="not_found")


def cannot_grade() -> ApiError:
    """409: there is nothing to compute."""
    message = (
        "a custom grader cannot be asked to grade: its scores are computed elsewhere and pushed in. To have Fairmark "
        "compute them, use a python, function or endpoint grader."
    )
    return ApiError(409, message, param="grader", code="not_gradable")


def invalid_grader(error: InvalidGrader, root: str = "grader") -> ApiError:
    """400 with every problem in the message; `param` and `code` are the first one's.

    `root`: where its grader is in the body; "" where it is all of it.
    """
    problems = [
        problem._replace(path=(root + problem.path.removeprefix("$")).removeprefix(".")) for problem in error.problems
    ]
    return ApiError(
        400,
        "\n".join(map(str, problems)),
        param=problems[0].path,
        code=problems[0].code,
        extra={"problems": [{"path": problem.path, "message": problem.message} for problem in problems]},
    )


def cannot_keep(error: FairmarkError, root: str = "grader") -> FairmarkError:
    """The answer to those who wanted to keep a grader that cannot be kept; `root` as above."""
    match error:
        case InvalidGrader():
            return invalid_grader(error, root)
        case FunctionRefused():
            checks = [check._asdict() for check in error.found.checks]
            extra = {"checks": checks, "warnings": error.found.warnings, "valid": False}
            param = (root + error.path.removeprefix("$")).removeprefix(".")
            return ApiError(error.status, str(error), param=param, code=error.code, extra=extra)
        case InvalidKey() | DuplicateKey() | VersionConflict() | LockedGrader():
            return refused(error)
        case _:
            return error


def too_long(limit: int) -> ApiError:
    return ApiError(413, f"The body is longer than {limit // 1_000_000} MB.", code="request_too_large")


def not_routed(status: int, detail: str, where: str, headers: Mapping[str, str]) -> ApiError:
    """Nothing answers there, or not to this method. `where`: both of the request."""
    if status == 404:
        return ApiError(404, f"Unknown route: {where}. /openapi.json lists all.", code="unknown_url", headers=headers)
    if status == 405:
        return ApiError(405, f"Not allowed: {where}.", code="method_not_allowed", headers=headers)
    return ApiError(status, detail, headers=headers)


# What is no fault of the request


def answer_to(error: Exception, request_id: str) -> ApiError:
    """The answer to a request on which this was raised, whatever it is."""
    match error:
        case ApiError():
            return error
        case InvalidGrader():
            return invalid_grader(error)
        case InvalidData():
            return refused(error)
        case UnknownCursor():
            return invalid(str(error), error.name)
        case DiskFull() | OSError(errno=errno.ENOSPC | errno.EDQUOT):
            return disk_full()
        case StoreUnavailable():
            message = "The store cannot be reached at the moment. Try again."
            return _not_now(error.status, message, error.code, retry_after="1")
        case _:
            return ApiError(
                500,
                f"The server failed on this request, which is a bug. Its log tells more of {request_id}.",
                "server_error",
                code="internal_error",
                headers={"x-should-retry": "false"},
            )


def detail_of(error: Exception) -> Refusal:
    """The same in the words of reward servers."""
    return error if isinstance(error, Refusal) else Refusal(500, f"internal error: {type(error).__name__}")


def disk_full(status: int = 507) -> ApiError:
    message = (
        "The server's disk is full: nothing can be stored until there is room. What is stored can be read, and runs "
        "go on by themselves then."
    )
    return _not_now(status, message, "disk_full", retry_after="10")


def memory_full() -> ApiError:
    message = "Other requests' bodies fill the memory that is set aside for them. Try again."
    return _not_now(503, message, "overloaded", retry_after="2")


def shutting_down() -> ApiError:
    message = "The server is shutting down, and this request took too long to be waited for."
    refusal = _not_now(503, message, "shutting_down", retry_after="2")
    refusal.headers["connection"] = "close"
    return refusal


def _not_now(status: int, message: str, code: str | None, retry_after: str) -> ApiError:
    return ApiError(status, message, "server_error", code=code, headers={"retry-after": retry_after})
