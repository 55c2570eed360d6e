"""What a sandbox is asked and what it answers, whichever backend runs it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from fairmark.sandbox.patience import Patience

MB = 1024 * 1024

Isolation = Literal["auto", "per_grader", "per_grade"]
Calls = Literal["python", "function"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one grade may use. A grade that needs more fails; nobody else notices."""

    wall_s: float
    memory_bytes: int
    disk_bytes: int
    cpus: int
    threads: int = 32
    inodes: int = 16_384


@dataclass(frozen=True, slots=True)
class Policy:
    """How untrusted code is run unless its grader says otherwise."""

    isolation: Isolation = "auto"
    python: Limits = Limits(wall_s=120.0, memory_bytes=2048 * MB, disk_bytes=1024 * MB, cpus=2)
    function: Limits = Limits(wall_s=10.0, memory_bytes=512 * MB, disk_bytes=64 * MB, cpus=1)
    timeouts_in_a_row: int = 3
    """After so many a grader is given up for its call or run; 0 is never."""
    warning: str | None = None
    """What every result must tell about it."""


@dataclass(frozen=True, slots=True)
class Program:
    """Source to run, and where: programs that are equal may share a process, others never do."""

    source: str
    calls: Calls
    """How `grade` is called: with a sample and an item, or with a thread."""
    limits: Limits
    strict: bool
    """A fresh process for every grade."""
    image: str | None = None
    """The image whose packages it sees; None for the standard library alone."""
    packages: frozenset[str] = field(default_factory=frozenset)
    """The packages of the image that are worth having imported before it starts."""
    owner: str = ""


Failure = Literal["error", "timeout", "oom", "died", "sandbox"]


class Outcome(NamedTuple):
    """What came of one call: a reward, or a failure with its details."""

    reward: float = 0.0
    failure: Failure | None = None
    """error: the source raised or returned no number. oom, timeout: it went over a limit. died: its process ended.
    sandbox: it could not be started at all."""
    details: str = ""
    printed: str = ""
    at_load: bool = False
    """The failure came before any row: running the source's own body."""


class Talker(Protocol):
    """A process that is asked again and again, and keeps what it knows."""

    async def ask(self, row: Sequence[Any], limit_s: float) -> Outcome:
        """What calling its `grade` comes to. After a failure other than `error` it has ended."""
        ...

    def end(self) -> None: ...


class Talk(Protocol):
    """What a conversation may do: start processes of its own, which end with it."""

    async def start(self, program: Program) -> "Talker | Outcome":
        """A fresh process with the program loaded, or why there is none."""
        ...


T = TypeVar("T")


class Sandbox(Protocol):
    """Runs programs. One call may carry many rows; the order is kept, and a row's failure is its own."""

    @property
    def policy(self) -> Policy: ...

    async def run(
        self, program: Program, rows: Sequence[Sequence[Any]], patience: "Patience | None" = None
    ) -> list[Outcome]:
        """The outcomes of calling the program's `grade` with each row's arguments.

        `patience`: what the call or run that these rows belong to has seen of its programs; without it, they are all.
        """
        ...

    async def converse(self, owner: str, conversation: Callable[[Talk], Awaitable[T]]) -> T:
        """What a conversation with several programs at once comes to. It takes one place of its owner's: whoever
        talks with two processes has them work in turns."""
        ...
