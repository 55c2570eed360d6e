"""How a request is refused: the API's errors, in the wire's words. Whoever is asked over HTTP raises these."""

from typing import Any

from fairmark import jsontext
from fairmark.errors import ApiError, FairmarkError, InvalidGrader

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


def wrong_type(param: str, wanted: str, found: Any) -> ApiError:
    message = f"Invalid type for '{param}': expected {wanted}, but found {jsontext.describe(found)} instead."
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
