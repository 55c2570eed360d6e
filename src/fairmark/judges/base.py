"""What a kind asks of a model and what it gets back. The kinds know this much of judges and no more."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from fairmark.errors import GradingFailed, NotGraded
from fairmark.judgement import NO_USAGE, Judgement, Usage


class Shape(Protocol):
    """The form of an answer: a JSON schema for the model, and a reader that is lenient where models are sloppy."""

    @property
    def name(self) -> str: ...

    @property
    def schema(self) -> Mapping[str, Any]: ...

    def read(self, value: Any) -> dict[str, Any]:
        """The answer in its canonical form. Raises NotAnAnswer."""
        ...

    def read_bare(self, text: str) -> dict[str, Any] | None:
        """The answer out of a text that is nothing but the result itself; None where it is not."""
        ...


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to ask one model."""

    model: str
    messages: Sequence[Mapping[str, Any]]
    """Chat messages, filled in, exactly as they shall go out."""
    shape: Shape
    sampling: Mapping[str, Any] = field(default_factory=dict)
    """Only what the grader set, under the names of `sampling_params`."""
    repeat: int = 0
    """Which of several askings of the same question this is; they are cached apart."""
    identity: Sequence[Mapping[str, Any]] | None = None
    """The messages without what is random in them, where something is: equal questions have equal identities."""
    quoted: Callable[[], Sequence[str]] = tuple
    """The texts of the row that stand in the messages. A verdict found inside one of them is none."""
    logprobs: bool = False
    """Whether to ask for the probabilities of tokens too; a server that has none answers without."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text to be got from a model under test, as opposed to a question to a judge."""

    model: str
    messages: Sequence[Mapping[str, Any]]
    sampling: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    """What else the request holds: `response_format`, `tools`."""
    hosted: Sequence[str] = ()
    """Tools that the provider has to run itself, as its responses API lets it; `more` is in the words of that API."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered to a prompt, in the form of the chat completions API, and what it cost."""

    reply: Mapping[str, Any]
    usage: Usage = NO_USAGE
    cost: float | None = None
    latency_s: float = 0.0
    attempts: int = 0
    failure: GradingFailed | None = None


class Embedded(NamedTuple):
    """Vectors in the order of the texts, and what they cost."""

    vectors: list[Sequence[float]]
    sampled_model: str | None = None
    usage: Usage = NO_USAGE
    cost: float | None = None
    requests: int = 0


class Budget:
    """What a run may spend on models. Shared by all that is asked for the run; what is under way still finishes."""

    def __init__(self, tokens: int | None = None, dollars: float | None = None) -> None:
        for name, limit in (("tokens", tokens), ("dollars", dollars)):
            if limit is not None and not limit >= 0:
                raise ValueError(f"Budget({name}={limit}): it takes a number, 0 or more.")
        self.tokens = tokens
        self.dollars = dollars
        self.spent_tokens = 0
        self.spent_dollars = 0.0

    def spend(self, usage: Usage, cost: float | None) -> None:
        """What was asked for just now has cost so much."""
        self.count(usage, cost)

    def count(self, usage: Usage, cost: float | None) -> None:
        """What was spent before belongs to this budget too."""
        self.spent_tokens += usage.total_tokens
        self.spent_dollars += cost or 0.0

    def check(self) -> None:
        """Raises NotGraded where nothing may be spent any more."""
        if self.tokens is not None and self.spent_tokens >= self.tokens:
            raise NotGraded(f"not asked: the budget of {self.tokens:,} tokens is spent.")
        if self.dollars is not None and self.spent_dollars >= self.dollars:
            raise NotGraded(f"not asked: the budget of ${self.dollars:g} is spent.")

    def left(self) -> "tuple[float | None, float | None]":
        """Tokens and dollars that may still be spent, 0 or more; None where there is no limit."""
        return (
            None if self.tokens is None else max(0, self.tokens - self.spent_tokens),
            None if self.dollars is None else max(0.0, self.dollars - self.spent_dollars),
        )

    def __repr__(self) -> str:
        return f"Budget(tokens={self.tokens}, dollars={self.dollars}, spent {self.spent_tokens} tokens)"


class Judge(Protocol):
    """Asks models. Whatever goes wrong with one question stands on its judgement and leaves the others alone."""

    async def ask(self, questions: Sequence[Question], budget: Budget | None) -> list[Judgement | NotGraded]: ...

    async def complete(self, prompts: Sequence[Prompt], budget: Budget | None) -> list[Completion | NotGraded]: ...

    async def embed(self, model: str, texts: Sequence[str], budget: Budget | None) -> Embedded:
        """Raises GradingFailed or NotGraded."""
        ...
