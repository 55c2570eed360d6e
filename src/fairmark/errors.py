"""Every error, as a tree, and the 14 error keys of a result.

Two families. `InvalidGrader`: the grader's JSON is wrong, nothing runs. `GradingFailed`: this row could not be
graded; it is recorded on the row's result and the rest goes on. Each leaf of the second names its wire flag here
and nowhere else. `NotGraded` is neither: the row was left out on purpose. The others belong to a room; those that a
request may meet name the HTTP status and the code that it is answered with.

Exceptions that only carry a message from one function of a room to another are no errors, and stay there.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from fairmark import jsontext

# The keys of `metadata.errors`, in the order of the wire format. A key ending in "_type" or "_details" explains
# the flag it is named after and is null unless that flag is set; every other key is true or false.
ERROR_KEYS = (
    "formula_parse_error",
    "sample_parse_error",
    "truncated_observation_error",
    "unresponsive_reward_error",
    "invalid_variable_error",
    "other_error",
    "python_grader_server_error",
    "python_grader_server_error_type",
    "python_grader_runtime_error",
    "python_grader_runtime_error_details",
    "model_grader_server_error",
    "model_grader_refusal_error",
    "model_grader_parse_error",
    "model_grader_server_error_details",
)
NO_ERRORS: dict[str, bool | str | None] = {
    key: None if key.endswith(("_type", "_details")) else False for key in ERROR_KEYS
}


class FairmarkError(Exception):
    """The root: whoever catches this catches all that Fairmark raises on purpose."""

    status: int = 400
    """What a request that meets it is answered with."""
    code: str | None = "invalid_value"
    param: str | None = None
    """Which part of the request it is about, where that is always the same."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pools of processes and Ray send errors home by pickle, which would call `__init__` with the message alone."""
        return _made_again, (type(self), self.args), self.__dict__


def _made_again(kind: type[FairmarkError], args: tuple[Any, ...]) -> FairmarkError:
    return kind.__new__(kind, *args)


class Problem(NamedTuple):
    """One thing that is wrong with a grader."""

    path: str
    """Where, as a JSON path: `$.graders.email.operation`. Problems found below a path begin with "." or "["."""
    message: str
    """What was found and what is allowed."""
    code: str = "invalid_value"
    """The wire's `error.code`: invalid_value, invalid_type, missing_required_parameter or invalid_grader."""

    def below(self, path: str) -> "Problem":
        return self._replace(path=path + self.path)

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


# A grader, and one row of it


class InvalidGrader(FairmarkError, ValueError):
    """The grader's JSON is wrong. `problems` holds everything that is wrong with it, not only the first thing."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems

    @classmethod
    def at(cls, path: str, message: str, code: str = "invalid_value") -> "InvalidGrader":
        """With a single problem."""
        return cls([Problem(path, message, code)])


class GradingFailed(FairmarkError):
    """This row could not be graded."""

    flag: ClassVar[str] = "other_error"
    details_key: ClassVar[str | None] = None

    def flags(self) -> dict[str, bool | str]:
        """What this failure sets in `metadata.errors`."""
        flags: dict[str, bool | str] = {self.flag: True}
        if self.details_key:
            flags[self.details_key] = str(self)
        return flags


class NotGraded(FairmarkError):
    """This row was left out on purpose: a budget is spent, or a judge says that its criterion does not apply.

    Its result has status `skipped`: neither graded nor failed.
    """


class VariableMissing(GradingFailed):
    """A template names a field that this row does not have."""

    flag = "invalid_variable_error"


class SampleNotJson(GradingFailed):
    """A template asks for `sample.output_json` and the sample is not JSON."""

    flag = "sample_parse_error"


class FormulaFailed(GradingFailed):
    """A formula has no finite value for these rewards: division by zero, overflow, log of a negative …"""

    flag = "formula_parse_error"


class TookTooLong(GradingFailed):
    """Computing this row's grade was stopped at its deadline."""

    flag = "unresponsive_reward_error"


class TakesLonger(GradingFailed):
    """Computing this row's grade takes longer than `Context.turn_s`: it is graded again in another process."""


# Judges


class JudgeFailed(GradingFailed):
    """A model that this grade needs cannot be asked, or its server answered with an error."""

    flag = "model_grader_server_error"
    details_key = "model_grader_server_error_details"


class JudgeTimedOut(JudgeFailed):
    """A judge did not answer in time."""

    def flags(self) -> dict[str, bool | str]:
        return {**super().flags(), "unresponsive_reward_error": True}


class JudgeRefused(GradingFailed):
    """A judge would not answer."""

    flag = "model_grader_refusal_error"


class JudgeCutOff(GradingFailed):
    """A judge's answer was cut off by a token limit."""

    flag = "truncated_observation_error"


class JudgeUnreadable(GradingFailed):
    """A judge's answer does not have the form that was asked for."""

    flag = "model_grader_parse_error"


class Rejected(JudgeFailed):
    """The server will not take this request, however often it is sent."""

    def __init__(self, message: str, status: int, error: dict[str, Any]) -> None:
        super().__init__(message)
        self.status = status
        self.param = error.get("param") if isinstance(error.get("param"), str) else None
        self.code = error.get("code") if isinstance(error.get("code"), str) else None
        self.said = error.get("message") if isinstance(error.get("message"), str) else ""


class UnknownModel(JudgeFailed):
    """No model of this name is configured."""


class LocalModelUnavailable(JudgeFailed):
    """A model cannot be run here. The message says why and what to do; asking again does not help."""


class NotAnAnswer(FairmarkError, ValueError):
    """A structured answer that does not fit: the message says what was found and what would fit."""


class NoSuchModel(FairmarkError, LookupError):
    """The catalogue has no model of that name. The message names those it has."""


class PullFailed(FairmarkError):
    """The model could not be fetched. The message says why and what to do; what was there before still is."""


# Reward servers


class EndpointFailed(GradingFailed):
    """A reward server would not score this row, or answered with what is no reward."""


class EndpointUnresponsive(EndpointFailed):
    """A reward server cannot be reached, or did not answer in time."""

    flag = "unresponsive_reward_error"


# The HTTP client under both


class Unanswered(FairmarkError):
    """A server that was asked over HTTP gave no answer that can be used. Whoever asked says who it was, and which flag
    that sets."""

    def __init__(self, why: str, *, late: bool = False, reached: bool = True) -> None:
        super().__init__(why)
        self.late = late
        """Whether it was the time that ran out."""
        self.reached = reached
        """Whether there was a connection at all; if not, the address may be wrong."""


class AnswerTooLarge(FairmarkError):
    """A server's answer is larger than what we are willing to hold; so would the next be."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__(f"the answer is larger than {most_bytes / 1_000_000:g} MB.")


# The sandbox


class CodeFailed(GradingFailed):
    """The grader's own code raised, or returned no finite number."""

    flag = "python_grader_runtime_error"
    details_key = "python_grader_runtime_error_details"


class SandboxFailed(GradingFailed):
    """The grader's code could not be run to its end: `reason` is timeout, oom, died or sandbox."""

    flag = "python_grader_server_error"

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason

    def flags(self) -> dict[str, bool | str]:
        flags = {**super().flags(), "python_grader_server_error_type": self.reason}
        return {**flags, "unresponsive_reward_error": True} if self.reason == "timeout" else flags


class NoSuchImage(FairmarkError, LookupError):
    """There is no image of that tag. The message names those there are."""


class BuildFailed(FairmarkError):
    """The image could not be built; what was there before still is. The message says why and what to do."""


# Data and settings


class InvalidData(FairmarkError, ValueError):
    """A data file, or one row of it, cannot be read. `row` is its number in the file, counted from 1."""

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row

    @classmethod
    def unusable(cls, path: str, error: OSError, more: str = "") -> "InvalidData":
        """A file that the operating system will not let us use, with its reason."""
        if not path:  # which the system takes for the current folder: a variable of a shell that is not set, mostly
            return cls(f"the name of a file is empty.{more}")
        return cls(f"{path}: {(error.strerror or str(error)).lower()}.{more}")


class InvalidArchive(FairmarkError, ValueError):
    """A folder that is to be moved in is no archive, or holds what is none of its parts."""


class KeyRefused(FairmarkError, PermissionError):
    """A hosted service does not let this key in at all."""


class CannotRead(FairmarkError):
    """The service does not give this: it refuses, or it fails again and again. The rest goes on."""

    def __init__(self, why: str, status: int | None = None) -> None:
        super().__init__(why)
        self.http_status = status


class InvalidSettings(FairmarkError, ValueError):
    """A setting has a value it cannot have. The message says which, where and what is allowed."""


class EvaluationFailed(FairmarkError):
    """A call of `evaluate` cannot be done: a wrong argument, data that cannot be read, a target that always fails.

    `result` holds what was evaluated, where only saving it failed.
    """

    result: dict[str, Any] | None = None


# The registry


class InvalidKey(FairmarkError, ValueError):
    """A grader cannot be registered under this key."""

    param = "key"


class DuplicateKey(FairmarkError):
    """There is a registered grader of this key already."""

    status = 409
    code = "duplicate_key"
    param = "key"


class LabelTaken(FairmarkError):
    """Another label has this id: of another row, run, rater or project."""

    status = 409
    code = "duplicate_id"
    param = "id"


class LockedGrader(FairmarkError):
    """A locked grader is neither changed nor deleted."""

    status = 423
    code = "locked"
    param = "key"


class VersionConflict(FairmarkError):
    """Somebody else changed this grader in the meantime."""

    status = 409
    code = "version_conflict"
    param = "version"


class UnknownGrader(FairmarkError, LookupError):
    """There is no registered grader of this key or id."""

    status = 404
    code = "not_found"


class FunctionRefused(FairmarkError, ValueError):
    """A function grader failed one of its checks; nothing was kept."""

    code = "function_check_failed"

    def __init__(self, path: str, found: Any) -> None:
        """`found`: the FunctionCheck, whose last check is the one that failed."""
        self.path = path
        self.found = found
        failed = found.checks[-1]
        where = "" if path == "$.source" else f"{path}: "
        super().__init__(f"{where}{failed.name}: {failed.message}")


# The store


class NotNow(FairmarkError):
    """Something outside cannot be used at the moment. Nothing is wrong with what was asked; it may succeed later."""

    status = 503
    code = "unavailable"


class ClusterUnusable(FairmarkError, ValueError):
    """Rows cannot be graded on this cluster: nobody is at its address, a package is missing, or its Fairmark is another
    one. The message says what to do."""


class ClusterLost(NotNow):
    """For a long time nobody in the cluster has answered. What was graded is kept by whoever has it; the rest can be
    graded later."""

    code = "cluster_unavailable"


class PullStopped(NotNow):
    """Reading a hosted service has ended early, in good order: the same command goes on where it stopped."""

    code = "stopped"


class StoreUnavailable(NotNow):
    """The database cannot be reached, is locked or its disk is full. The same call may succeed later."""

    code = "store_unavailable"


class DiskFull(StoreUnavailable):
    """There is no room to store anything. Reading goes on."""

    status = 507
    code = "disk_full"


class InvalidDatabase(FairmarkError, ValueError):
    """This database cannot be used at all: a wrong URL, another server on its file, tables of a newer Fairmark."""


class InvalidProject(FairmarkError, ValueError):
    """A project cannot have this name."""


class UnknownEval(FairmarkError, LookupError):
    """The eval of a new run is not there, or no longer."""

    status = 404
    code = "not_found"


class UnknownCursor(FairmarkError, ValueError):
    """`after` or `before` names nothing that is or was in this list."""

    def __init__(self, id_: str, name: str = "after") -> None:
        self.name = name
        which = "last" if name == "after" else "first"
        super().__init__(
            f"{name}: there is no {jsontext.quote(id_)} in this list. Use the id of the {which} entry seen."
        )


class InvalidCursor(FairmarkError, ValueError):
    """This is no place in this list."""

    def __init__(self, at: str) -> None:
        super().__init__(
            f"at: {jsontext.quote(at)} is no place in this list. Use what a page gave as its previous or next one."
        )


class InvalidView(FairmarkError, ValueError):
    """No rows can be chosen or sorted in this way."""


# Runs


class InvalidSource(FairmarkError, ValueError):
    """A data source that cannot be used. `path` is where, below `data_source`."""

    code: str

    def __init__(self, path: str, message: str, code: str = "invalid_value") -> None:
        super().__init__(f"data_source{path}: {message}")
        self.path = f"data_source{path}"
        self.code = code


# Servers and their clients


class CannotServe(FairmarkError):
    """The server cannot start; the message says why and what would help."""


class ApiError(FairmarkError):
    """An answer that is an error, in the wire's words. `extra`: keys beside "error"."""

    def __init__(
        self,
        status: int,
        message: str,
        type: str = "invalid_request_error",  # noqa: A002  # the wire's word
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.type = type
        self.param = param
        self.code = code
        self.headers = dict(headers or {})
        self.extra = dict(extra or {})

    def body(self) -> bytes:
        error = {"message": self.message, "type": self.type, "param": self.param, "code": self.code}
        return jsontext.encode({"error": error, **self.extra})


class Refusal(FairmarkError):
    """An answer that is an error. `detail` is FastAPI's, which is what clients of this contract are used to."""

    def __init__(self, status: int, detail: Any, headers: dict[str, str] | None = None) -> None:
        super().__init__(str(detail))
        self.status = status
        self.detail = detail
        self.headers = headers or {}


class ServerFailed(FairmarkError):
    """The server cannot be reached, took too long, or did not answer as a Fairmark server does."""


class ServerAway(ServerFailed, NotNow):
    """Nobody answers there, or only that it cannot be done now. The same call may succeed later."""

    status = 503


class LeaseLost(FairmarkError):
    """The job that a worker trains is not the worker's any more: cancelled, paused, or another's."""


class AccessDenied(FairmarkError, PermissionError):
    """The server does not let this key in, or not into this project."""
