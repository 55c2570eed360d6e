"""The client, for callers that have an event loop. All logic is here; the work is done on the process's own loop."""

import json
import math
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, get_args

import msgspec
from msgspec import UNSET, UnsetType

from fairmark import jsontext
from fairmark.client.backend import Backend, Json
from fairmark.client.records import GraderVersion, RegisteredGrader, Score, read
from fairmark.endpoints import Offline, Online
from fairmark.errors import InvalidData, InvalidGrader, UnknownGrader
from fairmark.parse import Grader
from fairmark.parse import read as read_grader
from fairmark.references import KEY
from fairmark.sandbox.callables import source_of
from fairmark.spec import GraderSpec
from fairmark.work.eventloop import on_own_loop

Prebuilt = Literal["FAITHFULNESS", "CONTEXT_RELEVANCY", "ANSWER_RELEVANCY"]
"""The judges that need no criteria, by the names that Adaptive has for them."""
Example = Mapping[str, Any]
"""input (messages), output, passes and, if there is one, reasoning."""
Function = str | Callable[..., Any]
MOST_SCORES = 10_000
"""How many scores may be pushed at once."""


class AsyncClient:
    """Registered graders, on a server or, without a base_url, in this machine's own store.

    A key opens one project of a server, and `project` is needed there by nobody; who names one means that one, or is
    told. In the local store it is `default` where none is named. Nothing is asked before the first call.
    """

    def __init__(self, base_url: str | None = None, api_key: str | None = None, project: str | None = None) -> None:
        """Without an api_key, FAIRMARK_API_KEY is sent to a server. Raises ValueError."""
        _check_project(project)
        self._where = "the local store" if base_url is None else base_url
        self._door = _Door(_backend(base_url, api_key), project)
        self.graders = AsyncGraders(self._door)

    async def aclose(self) -> None:
        """The client takes no more calls. What it holds open is the process's, and ends by itself."""
        self._door.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._where})"


class _Door:
    """The way to a backend, as long as it is open."""

    def __init__(self, backend: Backend, project: str | None) -> None:
        self._backend: Backend | None = backend
        self._project = project

    @property
    def backend(self) -> Backend:
        if self._backend is None:
            raise InvalidData("this client is closed. Make another one.")
        return self._backend

    def project(self, project: str | None) -> str | None:
        _check_project(project)
        return self._project if project is None else project

    def close(self) -> None:
        self._backend = None


class AsyncCreate:
    """Puts graders under keys. Everything is checked first, and nothing is kept that fails."""

    def __init__(self, door: _Door) -> None:
        self._door = door

    async def __call__(
        self,
        *,
        key: str,
        grader: Grader,
        name: str | None = None,
        description: str | None = None,
        project: str | None = None,
    ) -> RegisteredGrader:
        """A grader of any kind; the source of a function grader may be the function itself.

        Raises ValueError with what is wrong with it, or DuplicateKey.
        """
        fields = plain(grader)
        _check_text("name", name)
        _check_text("description", description)
        made = self._door.backend.create(self._door.project(project), key, fields, name, description)
        return read(RegisteredGrader, await on_own_loop(made))

    async def function(
        self,
        *,
        key: str,
        fn: Function,
        description: str | None = None,
        name: str | None = None,
        project: str | None = None,
    ) -> RegisteredGrader:
        """`async def grade(thread: StringThread) -> float`, as a function or as its source.

        Raises ValueError with the check that failed: size, syntax, structure, signature, execution or test_run.
        """
        grader = {"type": "function", "source": source(fn)}
        return await self(key=key, grader=grader, name=name, description=description, project=project)

    async def binary_judge(
        self,
        *,
        key: str,
        criteria: str,
        judge_model: str,
        name: str | None = None,
        examples: Sequence[Example] | None = None,
        feedback_key: str | None = None,
        system_template: str | None = None,
        user_template: str | None = None,
        template_variables: Mapping[str, Any] | None = None,
        project: str | None = None,
    ) -> RegisteredGrader:
        """A judge that says PASS, FAIL or NA. `feedback_key` names its metric; without it, the key does."""
        _check_text("feedback_key", feedback_key)
        optional = {
            "examples": None if examples is None else list(examples),
            "feedback_key": feedback_key,
            "system_template": system_template,
            "user_template": user_template,
            "template_variables": template_variables,
        }
        options = {field: value for field, value in optional.items() if value is not None}
        grader = {"type": "binary_judge", "criteria": criteria, "model": judge_model, **options}
        return await self(key=key, grader=grader, name=name, project=project)

    async def prebuilt_judge(
        self,
        *,
        key: str,
        type: Prebuilt,  # noqa: A002  # Adaptive's word
        judge_model: str,
        name: str | None = None,
        project: str | None = None,
    ) -> RegisteredGrader:
        """A judge of replies from retrieved documents."""
        if type not in get_args(Prebuilt):
            shown = jsontext.describe(type)
            raise InvalidData(f"type: found {shown}. Use one of: {', '.join(get_args(Prebuilt))}.")
        grader = {"type": type.lower(), "model": judge_model}
        return await self(key=key, grader=grader, name=name, project=project)

    async def external_endpoint(
        self, *, key: str, url: str, name: str | None = None, project: str | None = None
    ) -> RegisteredGrader:
        """A reward server. One that does not answer is kept all the same, with a warning."""
        return await self(key=key, grader={"type": "endpoint", "url": url}, name=name, project=project)

    async def custom(
        self, *, key: str, description: str | None = None, name: str | None = None, project: str | None = None
    ) -> RegisteredGrader:
        """A place for scores that are computed elsewhere and pushed in."""
        return await self(key=key, grader={"type": "custom"}, name=name, description=description, project=project)


class AsyncGraders:
    """The graders of a project. `grader_key` is a grader's key, or its id."""

    def __init__(self, door: _Door) -> None:
        self._door = door
        self.create = AsyncCreate(door)

    async def list(self, *, project: str | None = None) -> Sequence[RegisteredGrader]:
        """All of them, in the order in which they were created."""
        graders = await on_own_loop(self._door.backend.list(self._door.project(project)))
        return [read(RegisteredGrader, grader) for grader in graders]

    async def get(
        self, *, grader_key: str, version: int | None = None, project: str | None = None
    ) -> RegisteredGrader | None:
        """In its newest version, or in this one; None where there is none."""
        _check_version(version)
        backend, where = self._door.backend, self._door.project(project)
        if not _is_key(grader_key):
            return None
        grader = await on_own_loop(backend.get(where, grader_key, version))
        return None if grader is None else read(RegisteredGrader, grader)

    async def update(
        self,
        *,
        grader_key: str,
        grader: Grader | UnsetType = UNSET,
        name: str | UnsetType | None = UNSET,
        description: str | UnsetType | None = UNSET,
        version: int | None = None,
        project: str | None = None,
    ) -> RegisteredGrader:
        """What is not given stays as it is; a grader that differs becomes the next version, and the old one is kept.

        With a name of None it is called by its key again.

        `version`: the one that the change was made to. Raises VersionConflict where there is a newer one by now,
        LockedGrader, UnknownGrader, and ValueError as `create` does.
        """
        _check_version(version)
        changes: Json = {}
        if not isinstance(grader, UnsetType):
            changes["grader"] = plain(grader)
        if not isinstance(name, UnsetType):
            _check_text("name", name)
            changes["name"] = name
        if not isinstance(description, UnsetType):
            _check_text("description", description)
            changes["description"] = description
        if version is not None:
            changes["version"] = version
        return await self._change(grader_key, changes, project)

    async def lock(self, *, grader_key: str, locked: bool, project: str | None = None) -> RegisteredGrader:
        """A locked grader is neither changed nor deleted until it is unlocked. Raises UnknownGrader."""
        if not isinstance(locked, bool):
            raise InvalidData(f"locked: found {jsontext.describe(locked)}. It takes True or False.")
        return await self._change(grader_key, {"locked": locked}, project)

    async def versions(self, *, grader_key: str, project: str | None = None) -> Sequence[GraderVersion]:
        """The newest first. Raises UnknownGrader."""
        backend, where = self._door.backend, self._door.project(project)
        versions = await on_own_loop(backend.versions(where, _key(grader_key)))
        if versions is None:
            raise _unknown(grader_key)
        return [read(GraderVersion, version) for version in versions]

    async def delete(self, *, grader_key: str, project: str | None = None) -> bool:
        """True. Raises LockedGrader, and UnknownGrader where there is none: a False is easily overlooked, and a
        mistyped key would pass for a grader that is gone."""
        backend, where = self._door.backend, self._door.project(project)
        if not await on_own_loop(backend.delete(where, _key(grader_key))):
            raise _unknown(grader_key)
        return True

    async def push_scores(
        self, *, grader_key: str, scores: Iterable[Score | Mapping[str, Any]], project: str | None = None
    ) -> int:
        """Gives a custom grader its scores, all or none; a sample's later score takes the place of its earlier one.

        How many were taken. Raises UnknownGrader, and ValueError for what is no score or no custom grader.
        """
        pushed = read_scores(scores)
        backend, where = self._door.backend, self._door.project(project)
        if not await on_own_loop(backend.push_scores(where, _key(grader_key), pushed)):
            raise _unknown(grader_key)
        return len(pushed)

    async def scores(self, *, grader_key: str, project: str | None = None) -> Sequence[Score]:
        """All that were pushed, in the order in which the samples first had one. Raises UnknownGrader."""
        backend, where = self._door.backend, self._door.project(project)
        scores = await on_own_loop(backend.scores(where, _key(grader_key)))
        if scores is None:
            raise _unknown(grader_key)
        return [read(Score, score) for score in scores]

    async def export(self, *, project: str | None = None) -> Json:
        """All graders as a pack, which is JSON to be kept in a file."""
        return await on_own_loop(self._door.backend.pack(self._door.project(project)))

    async def import_(
        self, *, pack: Mapping[str, Any], update: bool = False, project: str | None = None
    ) -> dict[str, str]:
        """Brings in all graders of a pack or none: key -> created, updated or unchanged.

        Raises DuplicateKey for one that is there and differs, unless `update` allows to change it, and LockedGrader.
        """
        if not isinstance(pack, Mapping):
            raise InvalidData(f"pack: found {jsontext.describe(pack)}. It takes what export gives.")
        fields = _as_json(dict(pack), "the pack")
        backend, where = self._door.backend, self._door.project(project)
        return await on_own_loop(backend.bring(where, fields, update=bool(update)))

    async def test_external_endpoint(self, url: str) -> Online | Offline:
        """Whether a reward server answers there, as seen from where graders are kept. Nothing is scored."""
        if not isinstance(url, str):
            raise InvalidData(f"url: found {jsontext.describe(url)}. It takes the address of a reward server.")
        return await on_own_loop(self._door.backend.test_endpoint(url))

    async def _change(self, grader_key: str, changes: Json, project: str | None) -> RegisteredGrader:
        backend, where = self._door.backend, self._door.project(project)
        changed = await on_own_loop(backend.update(where, _key(grader_key), changes))
        if changed is None:
            raise _unknown(grader_key)
        return read(RegisteredGrader, changed)


def source(fn: Function, stacklevel: int = 3) -> str:
    """The source of a function grader. What it would miss in the sandbox is warned of. Raises ValueError."""
    if isinstance(fn, str):
        return fn
    text, missing = source_of(fn)
    _warn_of(missing, stacklevel + 1)
    return text


def plain(grader: Any, stacklevel: int = 3) -> Json:
    """A grader as callers pass it -> its JSON, and nothing but JSON: it is the same wherever it is sent.

    What a function in it would miss in the sandbox is warned of. Raises ValueError.
    """
    missing: list[str] = []
    fields = read_grader(grader.echo() if isinstance(grader, GraderSpec) else grader)
    told = _as_json(_with_sources(fields, missing), "the grader")
    _warn_of(missing, stacklevel + 1)
    return told


def _with_sources(node: Any, missing: list[str]) -> Any:
    """The same with the text of a function wherever a function grader has the function itself for its source."""
    match node:
        case {"type": "function", "source": fn} if callable(fn):
            text, lacks = source_of(fn)
            missing += lacks
            return {**node, "source": text}
        case Mapping():
            return {key: _with_sources(value, missing) for key, value in node.items()}
        case [*values]:
            return [_with_sources(value, missing) for value in values]
        case _:
            return node


def _warn_of(missing: Iterable[str], stacklevel: int) -> None:
    for name in missing:
        warnings.warn(f"{name}; in the sandbox there is no such name.", UserWarning, stacklevel=stacklevel)


def read_scores(values: Iterable[Any]) -> Sequence[Json]:
    """What is to be pushed, checked. Raises ValueError."""
    try:
        scores = msgspec.convert([msgspec.to_builtins(value) for value in values], list[Score])
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidData(f"scores: {str(error).rstrip('.')}.") from None
    if len(scores) > MOST_SCORES:
        raise InvalidData(f"scores: found {len(scores)}. Push at most {MOST_SCORES} at once.")
    for index, score in enumerate(scores):
        if not math.isfinite(score.value):
            raise InvalidData(f"scores[{index}].value: found {score.value}. It takes a finite number.")
    return [{"sample_id": score.sample_id, "value": score.value, "reasoning": score.reasoning} for score in scores]


def _backend(base_url: str | None, api_key: str | None) -> Backend:
    if base_url is not None:
        from fairmark.client.remote import RemoteBackend

        return RemoteBackend(base_url, api_key or os.environ.get("FAIRMARK_API_KEY") or None)
    if api_key is not None:
        raise ValueError("api_key: only a server takes one. Give its address as base_url.")
    try:
        from fairmark.client.local import LocalBackend
    except ModuleNotFoundError as error:
        message = f"The local store needs {error.name}: pip install 'fairmark[server]'. Or name a server by base_url."
        raise InvalidData(message) from None
    return LocalBackend()


def _check_project(project: Any) -> None:
    if project is not None and (not isinstance(project, str) or not project):
        raise ValueError(f"project: found {jsontext.describe(project)}. It takes a project's name, or is left out.")


def _check_text(field: str, value: Any) -> None:
    if value is not None and not isinstance(value, str):
        raise InvalidData(f"{field}: found {jsontext.describe(value)}. It takes a string.")


def _check_version(version: Any) -> None:
    if version is not None and (not isinstance(version, int) or isinstance(version, bool) or not 0 < version < 2**31):
        raise InvalidData(f"version: found {jsontext.describe(version)}. It takes a whole number from 1.")


def _is_key(key: Any) -> bool:
    if not isinstance(key, str):
        raise InvalidData(f"grader_key: found {jsontext.describe(key)}. It takes a grader's key or id.")
    return KEY.fullmatch(key) is not None


def _key(value: Any) -> str:
    """The key, for a request: what can be no key is not sent."""
    if not _is_key(value):
        raise _unknown(value)
    key: str = value
    return key


def _unknown(key: str) -> UnknownGrader:
    return UnknownGrader(f"there is no registered grader {jsontext.quote(key)}.")


def _as_json(value: Json, what: str) -> Json:
    try:
        told: Json = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidGrader.at("$", f"{what} is not JSON: {str(error).rstrip('.')}.", "invalid_grader") from None
    return told
