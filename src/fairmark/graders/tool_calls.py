"""tool_calls: compare the tools that a model called with the expected calls. The reward is between 0 and 1."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Strict

from fairmark import jsontext
from fairmark.context import Context
from fairmark.errors import GradingFailed, InvalidGrader, Problem, TakesLonger
from fairmark.graders.compared import Fields, JsonComparison, Rules, Tolerance, best_pairs
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.spec import GraderSpec, Number
from fairmark.text.template import Template, fixed_text

_SHAPE = 'a list of calls, {"name": "…", "arguments": {…}} each'
MOST_CALLS = 200
ARGUMENTS = ("arguments", "args", "input", "parameters")
"""Where the arguments of a call may stand."""


def _share(value: float) -> float:
    if not 0 <= value <= 1:
        raise InvalidGrader.at("", f"found {value:g}. It takes a number from 0 to 1.")
    return value


class ToolCalls(GraderSpec):
    """Compare the tools that were called with the expected calls; the reward is between 0 and 1."""

    type: Literal["tool_calls"]
    input: Template = Template("{{ sample.output_tools }}")
    reference: Template
    order: Literal["any", "same"] = "any"
    extra_calls: Literal["penalise", "ignore"] = "penalise"
    arguments: Literal["match", "ignore"] = "match"
    name_weight: Annotated[Number, AfterValidator(_share)] = 0.5
    partial: Annotated[bool, Strict()] = True
    fields: Fields = {}  # noqa: RUF012  # pydantic copies it
    tolerance: Tolerance = 0.0
    relative_tolerance: Tolerance = 0.0
    ignore_case: Annotated[bool, Strict()] = False
    any_order: Annotated[bool, Strict()] = False
    extra_fields: Literal["penalise", "ignore"] = "penalise"

    @property
    def reward_range(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def threshold(self) -> float:
        """All of it, where nobody said."""
        return 1.0 if self.pass_threshold is None else self.pass_threshold

    @classmethod
    def cross_check(cls, fields: dict[str, Any]) -> Iterator[Problem]:
        """A reference that is the same for every row."""
        text = fixed_text(fields.get("reference"))
        if text is None:
            return
        try:
            _expected(text)
        except GradingFailed as failure:
            yield Problem(".reference", f"{str(failure).removeprefix('reference: ')} A template is {{{{ item.… }}}}.")

    @cached_property
    def comparison(self) -> JsonComparison:
        rules = Rules(self.tolerance, self.relative_tolerance, self.ignore_case, self.any_order, self.extra_fields)
        return JsonComparison(rules, self.fields)


class Call(NamedTuple):
    """A call as both sides write it. No arguments (None): they do not count, or they are not JSON."""

    name: str
    arguments: Mapping[str, Any] | None


def grade(spec: ToolCalls, row: Row, ctx: Context) -> Grade:
    expected = _expected(spec.reference.render(row))
    answered = _answered(spec.input.render(row), row)
    for calls in (expected, answered):
        if len(calls) > MOST_CALLS:
            raise GradingFailed(f"found {len(calls):,} calls; at most {MOST_CALLS} can be compared.")

    def score(first: int, second: int) -> float:
        return _score(spec, expected[first], answered[second], ctx.turn_s)

    if ctx.turn_s is not None and len(expected) * len(answered) > 100:
        raise TakesLonger
    if spec.order == "same":
        total = _in_order(len(expected), len(answered), score)
    else:
        total = best_pairs(len(expected), len(answered), score, lambda: None)
    longer = max(len(expected), len(answered)) if spec.extra_calls == "penalise" else len(expected)
    reward = total / longer if longer else 1.0
    return Grade(reward if spec.partial else float(reward >= 1.0))


def _score(spec: ToolCalls, expected: Call, answered: Call, turn_s: float | None) -> float:
    """0 for another tool; otherwise a share for the name and the rest for the arguments."""
    if expected.name != answered.name:
        return 0.0
    if spec.arguments == "ignore" or expected.arguments is None:
        return 1.0
    if answered.arguments is None:
        return spec.name_weight
    same, _ = spec.comparison.score(expected.arguments, answered.arguments, turn_s)
    return 1.0 if same == 1.0 else spec.name_weight + (1 - spec.name_weight) * same


def _in_order(rows: int, columns: int, score: Any) -> float:
    """The largest sum of scores of pairs that do not cross: a call that is missing does not spoil those after it."""
    best = [0.0] * (columns + 1)
    for row in range(rows):
        above = best
        best = [0.0]
        for column in range(columns):
            best.append(max(above[column + 1], best[column], above[column] + score(row, column)))
    return best[columns]


def _expected(text: str) -> list[Call]:
    try:
        value = jsontext.decode(text)
    except jsontext.NotJson as error:
        raise GradingFailed(f"reference: expected {_SHAPE}; found {jsontext.quote(text)}: {error}.") from None
    if isinstance(value, dict):  # a single one
        value = [value]
    if not isinstance(value, list):
        raise GradingFailed(f"reference: expected {_SHAPE}; found {jsontext.describe(value)}.")
    calls = []
    for index, call in enumerate(value):
        read = _call(call)
        if read is None:
            raise GradingFailed(f"reference[{index}]: expected a call with a name; found {jsontext.describe(call)}.")
        name, arguments = read
        if arguments is None:
            _refuse_other_arguments(index, call)
        if arguments is not None and not isinstance(arguments, dict):
            shown = jsontext.describe(arguments)
            raise GradingFailed(f"reference[{index}].arguments: expected an object, found {shown}.")
        calls.append(Call(name, arguments))
    return calls


def _refuse_other_arguments(index: int, call: Mapping[str, Any]) -> None:
    """Arguments under a name that nobody reads would make every call with the right name a right one."""
    function = call.get("function")
    fields = function if isinstance(function, Mapping) else call
    unknown = [key for key, value in fields.items() if isinstance(value, (dict, list)) and key not in ARGUMENTS]
    if unknown:
        raise GradingFailed(
            f'reference[{index}]: expected arguments under "arguments", found {jsontext.quote(unknown[0])}.'
        )


def _answered(text: str, row: Row) -> list[Call]:
    try:
        value = jsontext.decode(text)
    except jsontext.NotJson as error:
        raise GradingFailed(f"input: expected a list of tool calls, found {jsontext.quote(text)}: {error}.") from None
    if not isinstance(value, list):
        raise GradingFailed(f"input: expected a list of tool calls, found {jsontext.describe(value)}.")
    calls = []
    for index, call in enumerate(value):
        read = _call(call)
        if read is None:
            row.warn(f"tool call {index + 1} is none: {jsontext.describe(call)}")
            calls.append(Call("", None))
            continue
        name, arguments = read
        if not isinstance(arguments, dict) and arguments is not None:
            row.warn(f"the arguments of tool call {index + 1} are not a JSON object: {jsontext.describe(arguments)}")
        calls.append(Call(name, arguments if isinstance(arguments, dict) else {} if arguments is None else None))
    return calls


def _call(value: Any) -> tuple[str, Any] | None:
    """Name and arguments of a call, as chat completions have it, or responses, or plainly; None for what is none.

    Arguments are an object, None without any, and whatever else they are where that is no JSON object.
    """
    match value:
        case {"function": {"name": str() as name} as fields} | ({"name": str() as name} as fields):
            arguments = next((fields[key] for key in ARGUMENTS if key in fields), None)
        case _:
            return None
    if isinstance(arguments, str):
        if not arguments.strip():
            return name, {}
        try:
            return name, jsontext.decode(arguments)
        except jsontext.NotJson:
            return name, arguments
    return name, arguments
