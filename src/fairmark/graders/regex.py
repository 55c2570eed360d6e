"""regex: whether a pattern is found in a text, or what it captures is the reference. The reward is 1.0 or 0.0."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import PlainSerializer, PlainValidator, Strict

from fairmark import jsontext
from fairmark.context import Context
from fairmark.errors import GradingFailed, InvalidGrader, Problem, TakesLonger, TookTooLong
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.spec import GraderSpec
from fairmark.text.template import Template

if TYPE_CHECKING:  # imported by those who have such a grader: it takes a while
    from regex import Match, Pattern

MATCH_S = 2.0
"""What a pattern may take of the processor on one text."""
MOST_PATTERN_CHARS = 4_000
MOST_UNROLLED = 10_000
"""Counted repetitions are written out while a pattern is compiled: a few characters could take all memory."""
FLAGS = {"ignore_case": "IGNORECASE", "multiline": "MULTILINE", "dot_all": "DOTALL", "verbose": "VERBOSE"}


def _read_flags(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise InvalidGrader.at("", f"found {jsontext.describe(value)}. {_FLAGS_TAKEN}", "invalid_type")
    for index, flag in enumerate(value):
        if not isinstance(flag, str) or flag not in FLAGS:
            shown = jsontext.quote(flag) if isinstance(flag, str) else jsontext.describe(flag)
            raise InvalidGrader.at(f"[{index}]", f"unknown flag {shown}. {_FLAGS_TAKEN}")
    return tuple(value)


_FLAGS_TAKEN = f"It takes a list of: {', '.join(FLAGS)}."


def _read_group(value: Any) -> str | int | None:
    if value is None or isinstance(value, str) or (type(value) is int and value >= 0):
        return value
    message = f"found {jsontext.describe(value)}. It takes the number of a group, or its name."
    raise InvalidGrader.at("", message, "invalid_type")


class Regex(GraderSpec):
    """Find a pattern in a text, or compare what it captures; the reward is 1 or 0."""

    is_quick = True

    type: Literal["regex"]
    input: Template
    pattern: Template
    match: Literal["search", "full"] = "search"
    flags: Annotated[Sequence[str], PlainValidator(_read_flags), PlainSerializer(list)] = ()
    negate: Annotated[bool, Strict()] = False
    reference: Template | None = None
    group: Annotated[str | int | None, PlainValidator(_read_group)] = None
    occurrence: Literal["first", "last"] = "first"

    @property
    def reward_range(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def threshold(self) -> float:
        """It passes when it holds; a pass_threshold has nothing to add."""
        return 1.0

    @cached_property
    def compiled(self) -> "Pattern[str] | None":
        """The pattern, where it is the same for all rows."""
        return None if self.pattern.variables else _compile(self.pattern.source, tuple(self.flags))

    @cached_property
    def is_whole_pattern(self) -> bool:
        """Whether a row brings its whole pattern along; otherwise what it fills in stands for itself."""
        return (
            len(self.pattern.variables) == 1
            and self.pattern.source.strip().startswith("{{")
            and (self.pattern.source.strip().endswith("}}") and self.pattern.source.count("{{") == 1)
        )

    @classmethod
    def cross_check(cls, fields: dict[str, Any]) -> Iterator[Problem]:
        """The pattern is tried, and the group looked for in it."""
        pattern = fields.get("pattern")
        if fields.get("reference") is None:
            for name in ("group", "occurrence"):
                if fields.get(name) is not None:
                    yield Problem(f".{name}", "it says what is compared with a reference, and there is none.")
        elif fields.get("negate") is True:
            yield Problem(".negate", "it does not go with a reference. Leave one of them out.")
        if not isinstance(pattern, str):
            return
        try:
            if Template(pattern).variables:
                return
            compiled = _compile(pattern, _read_flags(fields.get("flags") or ()))
        except InvalidGrader as error:
            if not error.problems[0].path:
                yield from (problem.below(".pattern") for problem in error.problems)
            return
        group = fields.get("group")
        if fields.get("reference") is not None and group is not None and not _has_group(compiled, group):
            yield Problem(".group", f"the pattern has no group {jsontext.write(group)}. {_groups_of(compiled)}")


def _groups_of(compiled: "Pattern[str]") -> str:
    names = [f'"{name}"' for name in compiled.groupindex]
    numbers = f"1 to {compiled.groups}" if compiled.groups > 1 else "1" if compiled.groups else ""
    told = ", ".join(filter(None, [numbers, *names]))
    return f"It has: {told}, and 0 for the whole." if told else "It has none; 0 is the whole."


def _has_group(compiled: "Pattern[str]", group: Any) -> bool:
    return (
        group in compiled.groupindex if isinstance(group, str) else isinstance(group, int) and group <= compiled.groups
    )


_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(|\)|\{(\d*)(?:,\d*)?\}|.", re.DOTALL)


def _unrolled(pattern: str) -> int:
    """How many characters the pattern stands for, where {3} is three times what is before it. Rather too many."""
    sizes = [0]
    last = 0
    for piece in _PIECE.finditer(pattern):
        sign = piece[0]
        if sign == "(":
            sizes.append(0)
            last = 0
        elif sign == ")" and len(sizes) > 1:
            last = sizes.pop()
            sizes[-1] += last
        elif piece[1] is not None:
            more = last * (int(piece[1][:9] or 0) - 1)
            if more > 0:
                sizes[-1] += more
                last += more
        else:
            last = 1
            sizes[-1] += 1
    return sum(sizes)


@lru_cache(maxsize=512)
def _compile(pattern: str, flags: tuple[str, ...]) -> "Pattern[str]":
    import regex

    if len(pattern) > MOST_PATTERN_CHARS:
        raise InvalidGrader.at("", f"it has {len(pattern):,} characters. It may have {MOST_PATTERN_CHARS:,}.")
    if _unrolled(pattern) > MOST_UNROLLED:
        message = f"its counted repetitions stand for more than {MOST_UNROLLED:,} characters. Use smaller counts."
        raise InvalidGrader.at("", message)
    chosen = regex.VERSION0
    for flag in flags:
        chosen |= getattr(regex, FLAGS[flag])
    try:
        return regex.compile(pattern, chosen)
    except regex.error as error:
        where = "" if error.pos is None else f" at character {error.pos + 1}"
        raise InvalidGrader.at("", f"not a regular expression: {error.msg}{where}.") from None
    except (RecursionError, OverflowError, MemoryError):
        raise InvalidGrader.at("", "not a regular expression that can be used: it is nested too deeply.") from None


def grade(spec: Regex, row: Row, ctx: Context) -> Grade:
    compiled = spec.compiled or _pattern_for(spec, row)
    text = spec.input.render(row)
    reference = None if spec.reference is None else spec.reference.render(row)
    limit_s = MATCH_S if ctx.turn_s is None else ctx.turn_s
    try:
        match = _matched(spec, compiled, text, limit_s)
    except TimeoutError:
        if ctx.turn_s is not None:
            raise TakesLonger from None
        raise TookTooLong(
            f"the pattern took longer than {MATCH_S:g} s on a text of {len(text):,} characters. One that can match the "
            "same text in many ways, such as (a+)+, does that."
        ) from None
    if reference is None:
        return Grade(float((match is not None) != spec.negate))
    return Grade(float(match is not None and _captured(spec, compiled, match) == reference))


def _pattern_for(spec: Regex, row: Row) -> "Pattern[str]":
    import regex

    source = spec.pattern.render(row) if spec.is_whole_pattern else spec.pattern.render_with(row, regex.escape)
    try:
        return _compile(source, tuple(spec.flags))
    except InvalidGrader as error:
        raise GradingFailed(f"pattern: {error.problems[0].message} It is: {jsontext.quote(source)}.") from None


def _matched(spec: Regex, compiled: "Pattern[str]", text: str, limit_s: float) -> "Match[str] | None":
    """Raises TimeoutError: the engine looks at the time itself, and counts that of the processor."""
    if spec.match == "full":
        return compiled.fullmatch(text, timeout=limit_s)
    if spec.occurrence == "first":
        return compiled.search(text, timeout=limit_s)
    last = None
    for match in compiled.finditer(text, timeout=limit_s):
        last = match
    return last


def _captured(spec: Regex, compiled: "Pattern[str]", match: "Match[str]") -> str | None:
    """What the group holds, None where it took no part in the match: the chosen one, else the first, else the whole."""
    group = min(1, compiled.groups) if spec.group is None else spec.group
    if not _has_group(compiled, group):  # a pattern that the row brought along
        shown = jsontext.write(group)
        raise GradingFailed(f"group: the row's pattern has no group {shown}. {_groups_of(compiled)}")
    captured: str | None = match[group]
    return captured
