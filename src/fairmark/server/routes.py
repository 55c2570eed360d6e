"""Every route: its method, its path, its handler and what it is for. The OpenAPI document is made from this table."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from fairmark.server import (
    checks,
    completions,
    evals,
    files,
    finetuning,
    graders,
    health,
    imports,
    labels,
    models,
    passing,
    registry,
    runs,
)

Handler = Callable[[Request], Awaitable[Response]]
HotHandler = Callable[[Scope, bytes, Receive, Send], Awaitable[None]]
"""What answers the most frequent requests: it gets the whole body, and no framework stands before it."""

_EVAL = "/v1/evals/{eval_id}"
_RUN = f"{_EVAL}/runs/{{run_id}}"
_FILE = "/v1/files/{file_id}"
_CHAT = f"{passing.CHAT}/{{chat_completion_id}}"
_RESPONSE = f"{passing.RESPONSES}/{{response_id}}"
_GRADER = "/v1/graders/{key}"
_IMPORT = "/v1/imports/{import_id}"
_CHECK = "/v1/judge_checks/{check_id}"
_REPORT = "/v1/hacking_reports/{report_id}"
_LABELS = "/v1/labels"
_JOBS = "/v1/fine_tuning/jobs"
_JOB = f"{_JOBS}/{{fine_tuning_job_id}}"


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
    does_without: bool = False
    """Whether its body may be left out."""
    or_gives: str | None = None
    """What it gives, with 200, where it is only asked what it would do."""


class HotOperation(NamedTuple):
    """The same for a handler that skips the framework."""

    path: str
    handler: HotHandler
    summary: str
    gives: str
    takes: str
    also: tuple[int, ...] = ()


_PASSED = (404, 502, 504)
HOT = [
    HotOperation(graders.RUN, graders.run, "Grade one sample", "Result", "GraderRun", also=(409,)),
    HotOperation(graders.VALIDATE, graders.validate_grader, "Check a grader", "ValidGrader", "GraderToValidate"),
    HotOperation(graders.REWARDS, graders.rewards, "Grade many rows", "Rewards", "RewardsRequest", also=(409,)),
    HotOperation(passing.CHAT, passing.chat, "Ask a model", "ChatCompletion", "ChatRequest", also=_PASSED),
    HotOperation(passing.RESPONSES, passing.responses, "Ask a model", "Response", "ResponseRequest", also=_PASSED),
    HotOperation(passing.EMBEDDINGS, passing.embeddings, "Ask for vectors", "Passed", "EmbeddingRequest", also=_PASSED),
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
    Operation(
        "POST",
        f"{_RUN}/regrade",
        runs.regrade,
        "Grade a run's answers again, by other criteria or judges",
        "Run",
        "Regrade",
        status=201,
        also=(409,),
        does_without=True,
    ),
    Operation("DELETE", _RUN, runs.delete, "Delete a run with its output items", "Deleted"),
    Operation(
        "GET",
        f"{_RUN}/output_items",
        runs.list_items,
        "List a run's output items",
        "OutputItemList",
        query=(*_PAGE, "status_of_items", "split"),
    ),
    Operation("GET", f"{_RUN}/output_items/{{output_item_id}}", runs.retrieve_item, "Get an output item", "OutputItem"),
    Operation(
        "GET",
        f"{_RUN}/corrected",
        labels.corrected,
        "Get a run's rate, corrected by labels",
        "CorrectedRate",
        query=("criterion", "kind_of_labels", "rater", "grader"),
        also=(409,),
    ),
    Operation("POST", _LABELS, labels.create, "Label a row of a run", "Label", "NewLabel", status=201, also=(404, 409)),
    Operation("GET", _LABELS, labels.list_, "List labels", "LabelList", query=(*_PAGE, "run_id", "rater"), also=(404,)),
    Operation(
        "GET",
        f"{_LABELS}/export",
        labels.export,
        "Export a run's labels as JSONL",
        "LabelLines",
        query=("run_id", "criterion", "kind_of_labels", "rater", "grader"),
        also=(404, 409),
    ),
    Operation(
        "POST",
        f"{_LABELS}/import",
        labels.import_,
        "Take labels in from JSONL",
        "LabelImport",
        "LabelText",
        query=("run_id", "criterion", "rater", "other_run_id"),
        also=(404,),
    ),
    Operation("GET", f"{_LABELS}/{{label_id}}", labels.retrieve, "Get a label", "Label"),
    Operation("DELETE", f"{_LABELS}/{{label_id}}", labels.delete, "Take a label back", "Deleted"),
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
    Operation("POST", _JOBS, finetuning.create, "Create a fine-tuning job", "FineTuningJob", "NewFineTuningJob"),
    Operation(
        "GET",
        _JOBS,
        finetuning.list_,
        "List fine-tuning jobs",
        "FineTuningJobList",
        query=("after", "limit", "metadata"),
    ),
    Operation("GET", _JOB, finetuning.retrieve, "Get a fine-tuning job", "FineTuningJob"),
    Operation("POST", f"{_JOB}/cancel", finetuning.cancel, "Cancel a fine-tuning job", "FineTuningJob"),
    Operation("POST", f"{_JOB}/pause", finetuning.pause, "Pause a fine-tuning job", "FineTuningJob", also=(400,)),
    Operation("POST", f"{_JOB}/resume", finetuning.resume, "Resume a fine-tuning job", "FineTuningJob", also=(400,)),
    Operation(
        "GET",
        f"{_JOB}/events",
        finetuning.list_events,
        "List a job's events",
        "FineTuningEventList",
        query=("after", "limit"),
    ),
    Operation(
        "GET",
        f"{_JOB}/checkpoints",
        finetuning.list_checkpoints,
        "List a job's checkpoints",
        "FineTuningCheckpointList",
        query=("after", "limit"),
    ),
    Operation(
        "POST",
        f"{_JOB}/progress",
        finetuning.progress,
        "Tell how a job that is being trained goes on",
        "FineTuningJob",
        "FineTuningProgress",
        also=(409,),
    ),
    Operation(
        "POST",
        "/v1/fine_tuning/workers/take",
        finetuning.take,
        "Take a job to train",
        "FineTuningLease",
        "FineTuningWorker",
        also=(409,),
    ),
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
    Operation("POST", "/v1/imports", imports.create, "Begin an import", "Import", "NewImport", status=201, also=(409,)),
    Operation("GET", "/v1/imports", imports.list_, "List imports", "ImportList", query=("after", "limit")),
    Operation(
        "POST",
        "/v1/imports/file",
        imports.create_from_file,
        "Import a file of another tool",
        "Import",
        "ImportUpload",
        status=201,
        also=(409,),
    ),
    Operation("GET", _IMPORT, imports.retrieve, "Get an import", "Import"),
    Operation("POST", f"{_IMPORT}/cancel", imports.cancel, "Cancel an import", "Import", also=(409,)),
    Operation("POST", f"{_IMPORT}/continue", imports.continue_, "Go on with an import", "Import", also=(409,)),
    Operation(
        "POST",
        "/v1/judge_checks",
        checks.create,
        "Check a judge against people and against itself",
        "JudgeCheck",
        "NewJudgeCheck",
        status=201,
        or_gives="JudgeCheckPlan",
    ),
    Operation(
        "GET",
        "/v1/judge_checks",
        checks.list_,
        "List judge checks",
        "JudgeCheckList",
        query=(*_PAGE, "grader_of_checks"),
        also=(404,),
    ),
    Operation("GET", _CHECK, checks.retrieve, "Get a judge check with its report", "JudgeCheck"),
    Operation("GET", f"{_CHECK}/report", checks.report, "Get the report of a judge check as a page", "Page"),
    Operation("POST", f"{_CHECK}/cancel", checks.cancel, "Cancel a judge check", "JudgeCheck"),
    Operation("DELETE", _CHECK, checks.delete, "Delete a judge check", "Deleted"),
    Operation(
        "POST",
        "/v1/hacking_reports",
        checks.create_report,
        "Hold the reward of a series of runs against gold",
        "HackingReport",
        "NewHackingReport",
        status=201,
        also=(404,),
        or_gives="HackingReportPlan",
    ),
    Operation(
        "GET",
        "/v1/hacking_reports",
        checks.list_reports,
        "List hacking reports",
        "HackingReportList",
        query=(*_PAGE, "eval_of_reports"),
    ),
    Operation("GET", _REPORT, checks.retrieve_report, "Get a hacking report", "HackingReport"),
    Operation("GET", f"{_REPORT}/report", checks.report_page, "Get a hacking report as a page", "Page"),
    Operation("POST", f"{_REPORT}/cancel", checks.cancel_report, "Cancel a hacking report", "HackingReport"),
    Operation("DELETE", _REPORT, checks.delete_report, "Delete a hacking report", "Deleted"),
    Operation("POST", "/v1/endpoint_test", registry.test_endpoint, "Try an endpoint", "EndpointTest", "EndpointToTest"),
    Operation(
        "GET",
        passing.CHAT,
        completions.list_chats,
        "List stored chat completions",
        "ChatCompletionList",
        query=(*_PAGE, "model", "metadata_of_completions"),
    ),
    Operation("GET", _CHAT, completions.retrieve_chat, "Get a stored chat completion", "ChatCompletion"),
    Operation("POST", _CHAT, completions.update_chat, "Change its metadata", "ChatCompletion", "CompletionUpdate"),
    Operation("DELETE", _CHAT, completions.delete_chat, "Delete a stored chat completion", "Deleted"),
    Operation(
        "GET", f"{_CHAT}/messages", completions.list_messages, "List what was asked", "ChatMessageList", query=_PAGE
    ),
    Operation("GET", _RESPONSE, completions.retrieve_response, "Get a stored response", "Response"),
    Operation("DELETE", _RESPONSE, completions.delete_response, "Delete a stored response", "Deleted"),
    Operation(
        "GET",
        f"{_RESPONSE}/input_items",
        completions.list_input_items,
        "List what was asked",
        "InputItemList",
        query=_PAGE,
    ),
    Operation("GET", "/v1/models", models.list_, "List the configured models", "ModelList"),
    Operation("GET", "/v1/models/{model:path}", models.retrieve, "Get a model", "Model"),
    Operation("GET", "/healthz", health.alive, "Whether the server is alive", "Health"),
    Operation("GET", "/readyz", health.ready, "Whether the store can be reached", "Health"),
    Operation("GET", "/metrics", health.metrics, "Metrics for Prometheus", "Text"),
]
