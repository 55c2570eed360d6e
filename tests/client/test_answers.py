"""What a server answered, and the error that it means: the one that the local store would have raised."""

import json
from typing import Any

import pytest

from fairmark import errors
from fairmark.client.answers import understood


def answer(status: int, code: str | None = None, param: str | None = None, **more: Any) -> Any:
    error = {"message": "in words", "type": "invalid_request_error", "param": param, "code": code}
    return understood("http://there", status, json.dumps({"error": error, **more}).encode())


def test_an_object_is_the_answer_and_an_unknown_grader_is_none() -> None:
    assert understood("http://there", 201, b'{"key": "a"}') == {"key": "a"}
    assert answer(404, "not_found") is None


@pytest.mark.parametrize(
    ("status", "code", "param", "kind"),
    [
        (409, "duplicate_key", None, errors.DuplicateKey),
        (409, "version_conflict", None, errors.VersionConflict),
        (423, "locked", None, errors.LockedGrader),
        (400, "not_custom", None, errors.InvalidData),
        (401, "invalid_api_key", None, errors.AccessDenied),
        (403, None, None, errors.AccessDenied),
        (400, "invalid_value", "key", errors.InvalidKey),
        (400, "invalid_value", "scores[0].value", errors.InvalidData),
        (413, "request_too_large", None, errors.InvalidData),
        (404, "unknown_url", None, errors.ServerFailed),
        (503, "store_unavailable", None, errors.ServerAway),
    ],
)
def test_a_refusal_is_the_error_that_it_means(
    status: int, code: str | None, param: str | None, kind: type[Exception]
) -> None:
    with pytest.raises(kind, match="in words") as raised:
        answer(status, code, param)
    assert type(raised.value) is kind


def test_problems_of_a_grader_keep_their_places_and_the_first_its_code() -> None:
    problems = [{"path": "grader.input", "message": "missing."}, {"path": "grader", "message": "no."}, "odd"]
    with pytest.raises(errors.InvalidGrader) as raised:
        answer(400, "missing", "grader.input", problems=problems)
    assert [tuple(problem) for problem in raised.value.problems] == [
        ("$.input", "missing.", "missing"),
        ("$", "no.", raised.value.problems[1].code),
    ]


def test_a_function_that_was_refused_brings_its_checks() -> None:
    checks = [{"name": "parses", "passed": True, "message": "yes"}, {"name": "runs", "passed": False, "message": "no"}]
    with pytest.raises(errors.FunctionRefused) as raised:
        answer(400, "function_check_failed", "grader.source", checks=checks, warnings=["slow", 5])
    assert (raised.value.path, [check.passed for check in raised.value.found.checks]) == ("$.source", [True, False])
    assert raised.value.found.warnings == ["slow"]


@pytest.mark.parametrize(
    ("status", "data"),
    [(200, b"<html>hello</html>"), (200, b"[1]"), (500, b""), (404, b'{"detail": "no"}'), (400, b'{"error": {}}')],
)
def test_what_no_fairmark_server_says_is_told_with_what_was_said(status: int, data: bytes) -> None:
    with pytest.raises(errors.ServerFailed, match=rf"^http://there answered {status} with .* Check base_url\.$"):
        understood("http://there", status, data)
