"""What callers get: registered graders, their versions, and pushed scores."""

from typing import Annotated, Any, TypeVar

import msgspec

from fairmark.errors import ServerFailed

LONGEST_SAMPLE_ID = 512


class Project(msgspec.Struct, frozen=True):
    id: str
    key: str
    name: str


class Metric(msgspec.Struct, frozen=True):
    """Where a grader's scores are kept."""

    id: str
    key: str
    name: str
    kind: str
    """BOOL or SCALAR."""
    scoring_type: str


class RegisteredGrader(msgspec.Struct, frozen=True, kw_only=True):
    """A grader under its key."""

    id: str
    key: str
    name: str
    description: str | None
    version: int
    locked: bool
    grader: dict[str, Any]
    """Its JSON in this version."""
    grader_type: str
    """FUNCTION, JUDGE, PREBUILT, REMOTE or CUSTOM; of all other kinds, the type in capitals."""
    grader_config: dict[str, Any]
    project: Project
    metric: Metric
    created_at: int
    """In seconds since 1970, as all times are."""
    updated_at: int
    warnings: tuple[str, ...] = ()
    """What is legal and yet probably not meant. Told to whoever creates or changes it, and not kept."""


class GraderVersion(msgspec.Struct, frozen=True):
    version: int
    grader: dict[str, Any]
    created_at: int


class Score(msgspec.Struct, frozen=True, omit_defaults=True):
    """What somebody else's grader gave a sample."""

    sample_id: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_SAMPLE_ID)]
    value: float
    reasoning: str | None = None
    created_at: int | None = None
    """When it was pushed; set by the registry."""


Record = TypeVar("Record", bound=msgspec.Struct)


def read(kind: type[Record], answer: Any) -> Record:
    """Raises ServerFailed for what no Fairmark server says."""
    try:
        return msgspec.convert(answer, kind)
    except msgspec.ValidationError as error:
        raise ServerFailed(f"the server's answer is no {kind.__name__}: {error}.") from None
