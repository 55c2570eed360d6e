"""What a server answered -> its JSON, or the error that it means: the one that the local store would have raised."""

import re
from collections.abc import Mapping
from typing import Any

from fairmark import jsontext
from fairmark.client.backend import Json
from fairmark.errors import (
    AccessDenied,
    DuplicateKey,
    FairmarkError,
    FunctionRefused,
    InvalidData,
    InvalidGrader,
    InvalidKey,
    LeaseLost,
    LockedGrader,
    Problem,
    ServerAway,
    ServerFailed,
    VersionConflict,
)
from fairmark.graders.function import Check
from fairmark.registry.functions import FunctionCheck

_BY_CODE: dict[str, type[FairmarkError]] = {
    "duplicate_key": DuplicateKey,
    "version_conflict": VersionConflict,
    "locked": LockedGrader,
    "lease_lost": LeaseLost,
    "not_custom": InvalidData,
    "no_labels": InvalidData,
    "several_subjects": InvalidData,
}


def understood(place: str, status: int, data: bytes) -> Json | None:
    """The JSON object; None where the server knows no such grader. Raises FairmarkError."""
    try:
        body = jsontext.decode(data)
    except jsontext.NotJson:
        body = None
    if 200 <= status < 300 and isinstance(body, dict):
        return body
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(error, dict) or not isinstance(error.get("message"), str):
        said = jsontext.quote(" ".join(data[:2000].decode("utf-8", "replace").split()))
        raise ServerFailed(
            f"{place} answered {status} with {said}, which is not what a Fairmark server says. Check base_url."
        )
    if status == 404 and error.get("code") == "not_found":
        return None
    raise _refusal(place, status, error, body)


def _refusal(place: str, status: int, error: Mapping[str, Any], body: Mapping[str, Any]) -> FairmarkError:
    message, code, param = error["message"], error.get("code"), error.get("param")
    if code in _BY_CODE:
        return _BY_CODE[code](message)
    if status in (401, 403):
        return AccessDenied(message)
    if status not in (400, 413):
        failed = ServerAway if status in (429, 503) else ServerFailed
        return failed(f"{place} answered {status}: {jsontext.shorten(message, 500)}")
    if code == "function_check_failed" and (checks := _checks(body)):
        return FunctionRefused(_path(param), FunctionCheck(False, checks, _texts(body.get("warnings"))))
    if problems := _problems(body, code):
        return InvalidGrader(problems)
    return InvalidKey(message) if param == "key" else InvalidData(message)


def _checks(body: Mapping[str, Any]) -> list[Check]:
    checks = body.get("checks")
    return [
        Check(str(check.get("name")), check.get("passed") is True, str(check.get("message")))
        for check in (checks if isinstance(checks, list) else [])
        if isinstance(check, dict)
    ]


def _problems(body: Mapping[str, Any], code: Any) -> list[Problem]:
    """The envelope names the first one's code, and the other problems tell none."""
    entries = body.get("problems")
    problems = [
        Problem(_path(problem.get("path")), str(problem.get("message")))
        for problem in (entries if isinstance(entries, list) else [])
        if isinstance(problem, dict)
    ]
    if problems and isinstance(code, str):
        problems[0] = problems[0]._replace(code=code)
    return problems


def _path(path: Any) -> str:
    """From where it stands in a request to where it stands in the grader, or in the pack."""
    place = re.sub(r"^grader(?=[.\[]|$)", "$", str(path or "grader"))
    return place if place.startswith("$") else f"$.{place}"


def _texts(values: Any) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []
