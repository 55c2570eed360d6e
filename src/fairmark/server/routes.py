"""Every route: its method, its path, its handler and what it is for. The OpenAPI document is made from this table."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from fairmark.server import evals, files, graders, health, models, registry, runs

Handler = Callable[[Request], Awaitable[Response]]

_EVAL = "/v1/evals/{eval_id}"
_RUN = f"{_EVAL}/runs/{{run_id}}"
_FILE = "/v1/files/{file_id}"
_GRADER = "/v1/graders/{key}"


class Operation(NamedTuple):
    """One method on one path. `takes` and `gives` name schemas of the OpenAPI document, `query` its parameters."""

    method: str
    path: str
    handler: Handler
    summary: str
    gives: str
    takes: str | None = None
    query: tuple[str, ...] = ()
    status: int = 200
    also: tuple[int, ...] = ()
    """How it refuses, besides what others like it do."""


class HotOperation(NamedTuple):
    """The same for a handler that skips the framework."""

    path: str
    handler: ASGIApp
    summary: str
    gives: str
    takes: str
    also: tuple[int, ...] = ()


HOT = [
    HotOperation(graders.RUN, graders.run, "Grade one sample", "Result", "GraderRun", also=(409,)),
    HotOperation(graders.VALIDATE, graders.validate_grader, "Check a grader", "ValidGrader", "GraderToValidate"),
    HotOperation(graders.REWARDS, graders.rewards, "Grade many rows", "Rewards", "RewardsRequest", also=(409,)),
]

_PAGE = ("after", "before", "limit", "order")

OPERATIONS = [
    Operation("POST", "/v1/evals", evals.create, "Create an eval", "Eval", "NewEval", status=201),
    Operation("GET", "/v1/evals", evals.list_, "List evals", "EvalList", query=(*_PAGE, "order_by")),
    Operation("GET", _EVAL, evals.retrieve, "Get an eval", "Eval"),
    Operation("POST", _EVAL, evals.update, "Change an eval's name or metadata", "Eval", "EvalUpdate"),
    Operation("DELETE", _EVAL, evals.delete, "Delete an eval with its runs", "Deleted"),
    Operation("POST", f"{_EVAL}/runs", runs.create, "Start a run", "Run", "NewRun", status=201),
    Operation("GET", f"{_EVAL}/runs", runs.list_, "List an eval's runs", "RunList", query=(*_PAGE, "status_of_runs")),
    Operation("GET", _RUN, runs.retrieve, "Get a run", "Run"),
    Operation("POST", f"{_RUN}/cancel", runs.cancel, "Cancel a run", "Run"),
    Operation("POST", _RUN, runs.cancel, "Cancel a run, as older clients do", "Run"),
    Operation("DELETE", _RUN, runs.delete, "Delete a run with its output items", "Deleted"),
    Operation(
        "GET",
        f"{_RUN}/output_items",
        runs.list_items,
        "List a run's output items",
        "OutputItemList",
        query=(*_PAGE, "status_of_items"),
    ),
    Operation("GET", f"{_RUN}/output_items/{{output_item_id}}", runs.retrieve_item, "Get an output item", "OutputItem"),
    Operation("POST", "/v1/files", files.create, "Upload a file", "File", "Upload"),
    Operation(
        "GET",
        "/v1/files",
        files.list_,
        "List files",
        "FileList",
        query=("after", "before", "limit_of_files", "order", "purpose"),
    ),
    Operation("GET", _FILE, files.retrieve, "Get what is known of a file", "File"),
    Operation("GET", f"{_FILE}/content", files.content, "Get a file's content", "Bytes"),
    Operation("DELETE", _FILE, files.delete, "Delete a file", "Deleted"),
    Operation(
        "POST",
        "/v1/graders",
        registry.create,
        "Register a grader",
        "RegisteredGrader",
        "NewGrader",
        status=201,
        also=(409,),
    ),
    Operation("GET", "/v1/graders", registry.list_, "List registered graders", "RegisteredGraderList", query=_PAGE),
    Operation("GET", _GRADER, registry.retrieve, "Get a registered grader", "RegisteredGrader", query=("version",)),
    Operation(
        "PATCH",
        _GRADER,
        registry.update,
        "Change, lock or unlock a registered grader",
        "RegisteredGrader",
        "GraderUpdate",
        also=(409, 423),
    ),
    Operation("DELETE", _GRADER, registry.delete, "Delete a registered grader", "Deleted", also=(423,)),
    Operation(
        "GET", f"{_GRADER}/versions", registry.versions, "List a grader's versions", "GraderVersionList", query=_PAGE
    ),
    Operation(
        "POST",
        f"{_GRADER}/scores",
        registry.push_scores,
        "Push scores of a custom grader",
        "ScoresAccepted",
        "NewScores",
        also=(409,),
    ),
    Operation("GET", f"{_GRADER}/scores", registry.list_scores, "List the scores pushed", "ScoreList", query=_PAGE),
    Operation("GET", "/v1/grader_pack", registry.export_pack, "Export all registered graders", "GraderPack"),
    Operation(
        "POST",
        "/v1/grader_pack",
        registry.import_pack,
        "Register the graders of a pack",
        "ImportedPack",
        "GraderPackToImport",
        also=(409, 423),
    ),
    Operation("POST", "/v1/endpoint_test", registry.test_endpoint, "Try an endpoint", "EndpointTest", "EndpointToTest"),
    Operation("GET", "/v1/models", models.list_, "List the configured models", "ModelList"),
    Operation("GET", "/v1/models/{model:path}", models.retrieve, "Get a model", "Model"),
    Operation("GET", "/healthz", health.alive, "Whether the server is alive", "Health"),
    Operation("GET", "/readyz", health.ready, "Whether the store can be reached", "Health"),
    Operation("GET", "/metrics", health.metrics, "Metrics for Prometheus", "Text"),
]
