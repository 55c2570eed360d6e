"""The client, for everybody else: `AsyncClient` call by call. It works inside a running event loop too."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from msgspec import UNSET, UnsetType

from fairmark.client.asynchronous import (
    AsyncClient,
    AsyncCreate,
    AsyncGraders,
    Example,
    Function,
    Prebuilt,
    plain,
    read_scores,
    source,
)
from fairmark.client.records import GraderVersion, RegisteredGrader, Score
from fairmark.endpoints import Offline, Online
from fairmark.parse import Grader
from fairmark.work.eventloop import run


class Client:
    __doc__ = AsyncClient.__doc__

    def __init__(self, base_url: str | None = None, api_key: str | None = None, project: str | None = None) -> None:
        """Without an api_key, FAIRMARK_API_KEY is sent to a server. Raises ValueError."""
        self._client = AsyncClient(base_url, api_key, project)
        self.graders = Graders(self._client.graders)

    def close(self) -> None:
        """The client takes no more calls. What it holds open is the process's, and ends by itself."""
        run(self._client.aclose())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self._client).removeprefix("Async")


class Create:
    __doc__ = AsyncCreate.__doc__

    def __init__(self, create: AsyncCreate) -> None:
        self._create = create

    def __call__(
        self,
        *,
        key: str,
        grader: Grader,
        name: str | None = None,
        description: str | None = None,
        project: str | None = None,
    ) -> RegisteredGrader:
        # Read here, so that warnings point to the caller.
        fields = plain(grader)
        return run(self._create(key=key, grader=fields, name=name, description=description, project=project))

    def function(
        self,
        *,
        key: str,
        fn: Function,
        description: str | None = None,
        name: str | None = None,
        project: str | None = None,
    ) -> RegisteredGrader:
        # Read here, so that warnings point to the caller.
        text = source(fn)
        return run(self._create.function(key=key, fn=text, description=description, name=name, project=project))

    def binary_judge(
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
        return run(
            self._create.binary_judge(
                key=key,
                criteria=criteria,
                judge_model=judge_model,
                name=name,
                examples=examples,
                feedback_key=feedback_key,
                system_template=system_template,
                user_template=user_template,
                template_variables=template_variables,
                project=project,
            )
        )

    def prebuilt_judge(
        self,
        *,
        key: str,
        type: Prebuilt,  # noqa: A002  # Adaptive's word
        judge_model: str,
        name: str | None = None,
        project: str | None = None,
    ) -> RegisteredGrader:
        return run(self._create.prebuilt_judge(key=key, type=type, judge_model=judge_model, name=name, project=project))

    def external_endpoint(
        self, *, key: str, url: str, name: str | None = None, project: str | None = None
    ) -> RegisteredGrader:
        return run(self._create.external_endpoint(key=key, url=url, name=name, project=project))

    def custom(
        self, *, key: str, description: str | None = None, name: str | None = None, project: str | None = None
    ) -> RegisteredGrader:
        return run(self._create.custom(key=key, description=description, name=name, project=project))


class Graders:
    __doc__ = AsyncGraders.__doc__

    def __init__(self, graders: AsyncGraders) -> None:
        self._graders = graders
        self.create = Create(graders.create)

    def list(self, *, project: str | None = None) -> Sequence[RegisteredGrader]:
        return run(self._graders.list(project=project))

    def get(
        self, *, grader_key: str, version: int | None = None, project: str | None = None
    ) -> RegisteredGrader | None:
        return run(self._graders.get(grader_key=grader_key, version=version, project=project))

    def update(
        self,
        *,
        grader_key: str,
        grader: Grader | UnsetType = UNSET,
        name: str | UnsetType | None = UNSET,
        description: str | UnsetType | None = UNSET,
        version: int | None = None,
        project: str | None = None,
    ) -> RegisteredGrader:
        fields = grader if isinstance(grader, UnsetType) else plain(grader)
        return run(
            self._graders.update(
                grader_key=grader_key,
                grader=fields,
                name=name,
                description=description,
                version=version,
                project=project,
            )
        )

    def lock(self, *, grader_key: str, locked: bool, project: str | None = None) -> RegisteredGrader:
        return run(self._graders.lock(grader_key=grader_key, locked=locked, project=project))

    def versions(self, *, grader_key: str, project: str | None = None) -> Sequence[GraderVersion]:
        return run(self._graders.versions(grader_key=grader_key, project=project))

    def delete(self, *, grader_key: str, project: str | None = None) -> bool:
        return run(self._graders.delete(grader_key=grader_key, project=project))

    def push_scores(
        self, *, grader_key: str, scores: Iterable[Score | Mapping[str, Any]], project: str | None = None
    ) -> int:
        # Read here: what a caller's own iterator does is not for the loop's thread.
        pushed = read_scores(scores)
        return run(self._graders.push_scores(grader_key=grader_key, scores=pushed, project=project))

    def scores(self, *, grader_key: str, project: str | None = None) -> Sequence[Score]:
        return run(self._graders.scores(grader_key=grader_key, project=project))

    def export(self, *, project: str | None = None) -> dict[str, Any]:
        return run(self._graders.export(project=project))

    def import_(self, *, pack: Mapping[str, Any], update: bool = False, project: str | None = None) -> dict[str, str]:
        return run(self._graders.import_(pack=pack, update=update, project=project))

    def test_external_endpoint(self, url: str) -> Online | Offline:
        return run(self._graders.test_external_endpoint(url))


def _mirror() -> None:
    """The words on each call are the same for both clients."""
    for ours, theirs in ((Create, AsyncCreate), (Graders, AsyncGraders)):
        for name, method in vars(ours).items():
            if callable(method) and method.__doc__ is None and name != "__init__":
                method.__doc__ = getattr(theirs, name).__doc__


_mirror()
