"""What the specs of all kinds share. A spec is a grader's JSON, checked and typed; it never changes."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, Strict

from fairmark.errors import Problem
from fairmark.references import NOTE
from fairmark.text.template import Template

Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
"""A JSON number: no string that looks like one, no true, no NaN."""


QUICK = 1 / 16
"""What a character costs a grader that compares, beside one that measures."""


class GraderSpec(BaseModel):
    """The fields every kind has. Keys that a kind does not know are kept and given back."""

    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True)

    other_names: ClassVar[dict[str, str]] = {}
    """Other spellings of fields that are accepted: spelling -> field. The field's own name wins."""

    is_quick: ClassVar[bool] = False
    """Whether it goes through its texts once, and not by the product of their lengths."""

    type: str
    name: str
    pass_threshold: Number | None = None

    @property
    def threshold(self) -> float | None:
        """The least reward that passes; None where nobody said."""
        return self.pass_threshold

    @property
    def reward_range(self) -> tuple[float, float] | None:
        """The least and the greatest reward it can give; None where nobody can know."""
        return None

    @property
    def children(self) -> "Mapping[str, GraderSpec]":
        """The graders inside this one, by key."""
        return {}

    @property
    def models(self) -> Mapping[str, str]:
        """The models that it asks itself, by the place where each is named: {".model": "gpt-6-luna"}."""
        return {}

    @property
    def code(self) -> tuple[str, str | None] | None:
        """The source that it runs in the sandbox, and the image whose packages that may import; None without any."""
        return None

    @cached_property
    def registered(self) -> list[dict[str, Any]]:
        """The registered graders that this one and those inside it were made of: id, key and version of each."""
        note = (self.model_extra or {}).get(NOTE)
        inside = [registered for child in self.children.values() for registered in child.registered]
        return [*([note] if note else []), *inside]

    @cached_property
    def effort(self) -> float:
        """How many times as much as a row's own characters it goes through, where a quick look counts little."""
        if self.children:
            return sum(child.effort for child in self.children.values())
        variables = (variable for template in self.own_templates for variable in template.variables)
        fills = Counter((variable.namespace, *variable.steps[:1]) for variable in variables)
        return max(fills.values(), default=1) * (QUICK if self.is_quick else 1.0)

    @cached_property
    def own_chars(self) -> int:
        """How long the texts are that it brings along itself."""
        inside = sum(child.own_chars for child in self.children.values())
        return inside + sum(len(template.source) for template in self.own_templates)

    @property
    def own_templates(self) -> list[Template]:
        """Its texts, without those of graders inside it."""
        return [value for value in self.__dict__.values() if isinstance(value, Template)]

    @classmethod
    def cross_check(cls, fields: dict[str, Any]) -> Iterator[Problem]:
        """What is wrong between fields, seen on the raw JSON, so that it is told together with wrong fields."""
        yield from ()

    def warnings(self) -> Iterator[str]:
        """What is legal and yet probably not meant."""
        for name in type(self).model_fields:
            value = getattr(self, name)
            if isinstance(value, Template):
                for text in value.stray():
                    yield f"$.{name}: {text} is taken as plain text; a variable stands in two braces on both sides."
        if self.reward_range is not None and self.pass_threshold is not None:
            low, high = self.reward_range
            if not low <= self.pass_threshold <= high:
                yield f"$.pass_threshold: {self.pass_threshold:g} is outside the range {low:g} to {high:g}."

    def remarks(self) -> Iterator[str]:
        """What could be written better and changes no reward: told where a grader is validated, and nowhere else."""
        yield from ()

    @cached_property
    def all_warnings(self) -> tuple[str, ...]:
        """All that is told about the grader wherever it grades: its warnings, and keys that look like misspelt ones."""
        return (*self.warnings(), *self.misspelt)

    @property
    def misspelt(self) -> tuple[str, ...]:
        """Keys that look like misspelt fields, and so do not do what they are meant to."""
        return tuple(self._typos("$"))

    def _typos(self, path: str) -> Iterator[str]:
        """Unknown keys that look like a misspelt field. Other unknown keys are nobody's business."""
        extra = self.model_extra
        if extra:
            from difflib import get_close_matches  # most graders have no such keys

            for key in extra:
                near = get_close_matches(key, type(self).model_fields, n=1, cutoff=0.8)
                if near:
                    yield f"{path}.{key}: unknown field, kept but not used. Did you mean {near[0]}?"
        for key, child in self.children.items():
            yield from child._typos(f"{path}.graders.{key}")  # noqa: SLF001  # of its own kind

    def echo(self) -> dict[str, Any]:
        """The normalised grader JSON: canonical names, unknown keys kept, what was not given left out."""
        return self.model_dump(exclude_unset=True)
