"""What is refused at every door alike."""

import errno
import json
from typing import Any

import pytest

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
    Problem,
    Refusal,
    StoreUnavailable,
    UnknownCursor,
    VersionConflict,
)
from fairmark.evals.eval_calls import read_name
from fairmark.graders.function import Check
from fairmark.refusals import answer_to, cannot_keep, check_name, detail_of, not_routed
from fairmark.registry.functions import FunctionCheck


def test_a_name_of_256_characters_is_taken_and_a_longer_one_is_told_with_the_limit() -> None:
    assert read_name({"name": "é" * 256}) == "é" * 256
    check_name(None)
    with pytest.raises(ApiError) as refused:
        read_name({"name": "é" * 257})
    assert (refused.value.status, refused.value.param) == (400, "name")
    assert refused.value.message == "name: it has 257 characters. A name has at most 256."


@pytest.mark.parametrize(
    ("error", "status", "code", "param"),
    [
        (
            InvalidGrader.at("$.operation", "missing.", "missing_required_parameter"),
            400,
            "missing_required_parameter",
            "grader.operation",
        ),
        (InvalidData("line 3: no object.", 3), 400, "invalid_value", None),
        (UnknownCursor("x", "before"), 400, "invalid_value", "before"),
        (DiskFull("no room."), 507, "disk_full", None),
        (OSError(errno.ENOSPC, "no space left"), 507, "disk_full", None),
        (StoreUnavailable("locked."), 503, "store_unavailable", None),
        (OSError(errno.EPERM, "not permitted"), 500, "internal_error", None),
        (KeyError("price"), 500, "internal_error", None),
    ],
)
def test_whatever_is_raised_on_a_request_has_its_answer(
    error: Exception, status: int, code: str, param: str | None
) -> None:
    answer = answer_to(error, "req_1")
    assert (answer.status, answer.code, answer.param) == (status, code, param)
    assert answer.type == ("invalid_request_error" if status == 400 else "server_error")


def test_an_answer_is_its_own_and_a_bug_is_told_by_its_request_alone() -> None:
    refusal = ApiError(418, "a teapot.")
    assert answer_to(refusal, "req_1") is refusal
    bug = answer_to(KeyError("secret"), "req_1")
    assert "req_1" in bug.message
    assert "secret" not in bug.message
    assert bug.headers == {"x-should-retry": "false"}


def test_reward_servers_tell_a_bug_by_its_kind_alone() -> None:
    refusal = Refusal(404, "Not Found.")
    assert detail_of(refusal) is refusal
    assert (detail_of(KeyError("secret")).status, detail_of(KeyError("secret")).detail) == (
        500,
        "internal error: KeyError",
    )


def test_a_grader_that_cannot_be_kept_is_answered_and_other_errors_go_on_their_way() -> None:
    locked = cannot_keep(LockedGrader("it is locked."))
    assert isinstance(locked, ApiError)
    assert (locked.status, locked.code, locked.param) == (423, "locked", "key")
    away = StoreUnavailable("locked.")
    assert cannot_keep(away) is away


def test_a_wrong_path_and_a_wrong_method_are_told_apart() -> None:
    unknown = not_routed(404, "Not Found", "GET /v1/x", {})
    assert (unknown.code, unknown.message) == ("unknown_url", "Unknown route: GET /v1/x. /openapi.json lists all.")
    wrong = not_routed(405, "Method Not Allowed", "PUT /v1/evals", {"Allow": "GET"})
    assert (wrong.code, wrong.headers) == ("method_not_allowed", {"Allow": "GET"})
    assert not_routed(400, "odd", "GET /", {}).message == "odd"


def answer(error: FairmarkError, root: str = "grader") -> tuple[int, dict[str, Any]]:
    refused = cannot_keep(error, root)
    assert isinstance(refused, ApiError)
    return refused.status, json.loads(refused.body())


def test_every_problem_of_a_grader_is_told_with_its_place_in_the_request() -> None:
    error = InvalidGrader([Problem("$.input", "missing.", "missing"), Problem("$", "no object.")])
    status, body = answer(error)
    assert (status, body["error"]["param"], body["error"]["code"]) == (400, "grader.input", "missing")
    assert [problem["path"] for problem in body["problems"]] == ["grader.input", "grader"]
    assert answer(error, "graders[2].grader")[1]["error"]["param"] == "graders[2].grader.input"
    assert answer(error, "")[1]["error"]["param"] == "input"


def test_a_function_that_failed_its_checks_is_refused_with_all_of_them() -> None:
    checks = [Check("parses", True, "it is Python"), Check("runs", False, "it raised")]
    status, body = answer(FunctionRefused("$.source", FunctionCheck(False, checks, ["slow"])))
    assert (status, body["error"]["param"], body["error"]["code"]) == (400, "grader.source", "function_check_failed")
    assert [(check["name"], check["passed"]) for check in body["checks"]] == [("parses", True), ("runs", False)]
    assert (body["warnings"], body["valid"]) == (["slow"], False)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (InvalidKey("no key"), 400, InvalidKey.code),
        (DuplicateKey("there twice"), 409, "duplicate_key"),
        (VersionConflict("changed meanwhile"), 409, "version_conflict"),
        (LockedGrader("locked"), 423, "locked"),
    ],
)
def test_what_the_registry_refuses_has_its_status_and_code(error: FairmarkError, status: int, code: str) -> None:
    found, body = answer(error)
    assert (found, body["error"]["code"], body["error"]["message"]) == (status, code, str(error))


def test_anything_else_is_somebody_elses_to_answer() -> None:
    error = StoreUnavailable("away")
    assert cannot_keep(error) is error
