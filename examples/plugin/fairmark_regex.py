"""regex_match: search a text for a regular expression. The reward is 1.0 or 0.0."""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Strict

from fairmark.plugin import Context, Grade, GraderSpec, GradingFailed, Kind, Problem, Row, Template

FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}
MAX_TEXT_CHARS = 20_000
"""Keeps patterns whose time grows by the square of the text to seconds. README tells what it does not keep."""


def compiled(pattern: str, flags: str) -> re.Pattern[str]:
    """Raises ValueError with the reason."""
    try:
        return re.compile(pattern, sum(FLAGS[letter] for letter in set(flags)))
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from None


class RegexMatch(GraderSpec):
    """Search a text for a regular expression; the reward is 1 or 0."""

    type: Literal["regex_match"]
    input: Template
    pattern: Annotated[str, Strict()]
    flags: Annotated[str, Strict()] = ""

    @property
    def threshold(self) -> float:
        """A match passes, whatever pass_threshold says."""
        return 1.0

    @cached_property
    def regex(self) -> re.Pattern[str]:
        return compiled(self.pattern, self.flags)

    @classmethod
    def cross_check(cls, fields: dict[str, Any]) -> Iterator[Problem]:
        """Compiles once while parsing: a pattern that cannot be read is refused before any row is graded."""
        pattern, flags = fields.get("pattern"), fields.get("flags", "")
        if not isinstance(pattern, str) or not isinstance(flags, str):
            return  # told where the field itself was read
        if not set(flags) <= set(FLAGS):
            yield Problem(".flags", f'found "{flags}". It takes letters of: {", ".join(FLAGS)}.')
            return
        try:
            compiled(pattern, flags)
        except ValueError as error:
            yield Problem(".pattern", f"not a regular expression: {error}.")


def grade(spec: RegexMatch, row: Row, ctx: Context) -> Grade:
    text = spec.input.render(row)
    if len(text) > MAX_TEXT_CHARS:
        raise GradingFailed(f"the text has {len(text)} characters; regex_match takes up to {MAX_TEXT_CHARS}.")
    return Grade(1.0 if spec.regex.search(text) else 0.0)


KIND = Kind(RegexMatch, pure=grade)
