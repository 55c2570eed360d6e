"""json_match: compare a JSON answer with the expected one, field by field. The reward is between 0 and 1."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Annotated, Any, ClassVar, Literal

from pydantic import PlainValidator, Strict

from fairmark import jsontext
from fairmark.context import Context
from fairmark.errors import GradingFailed, InvalidGrader, Problem
from fairmark.graders.answer_schema import misfit, schema_problems
from fairmark.graders.compared import Fields, JsonComparison, Rules, Tolerance
from fairmark.graders.fences import read_json
from fairmark.result import Grade
from fairmark.row import Row
from fairmark.spec import GraderSpec
from fairmark.text.template import Template, fixed_text


def _read_schema(value: Any) -> Any:
    if value is None:
        return None
    problems = list(schema_problems(value))
    if problems:
        raise InvalidGrader(problems)
    return value


MOST_NAMED = 100
"""Fields whose own scores are told."""


class JsonMatch(GraderSpec):
    """Compare a JSON answer field by field, with partial credit; the reward is between 0 and 1."""

    other_names: ClassVar[dict[str, str]] = {"schema": "json_schema"}

    type: Literal["json_match"]
    input: Template
    reference: Template | None = None
    json_schema: Annotated[Mapping[str, Any] | bool | None, PlainValidator(_read_schema)] = None
    fields: Fields = {}  # noqa: RUF012  # pydantic copies it
    tolerance: Tolerance = 0.0
    relative_tolerance: Tolerance = 0.0
    ignore_case: Annotated[bool, Strict()] = False
    any_order: Annotated[bool, Strict()] = False
    extra_fields: Literal["penalise", "ignore"] = "penalise"
    extract: Annotated[bool, Strict()] = True

    @property
    def reward_range(self) -> tuple[float, float]:
        return 0.0, 1.0

    @property
    def threshold(self) -> float:
        """All of it, where nobody said."""
        return 1.0 if self.pass_threshold is None else self.pass_threshold

    @cached_property
    def comparison(self) -> JsonComparison:
        rules = Rules(self.tolerance, self.relative_tolerance, self.ignore_case, self.any_order, self.extra_fields)
        return JsonComparison(rules, self.fields)

    @classmethod
    def cross_check(cls, fields: dict[str, Any]) -> Iterator[Problem]:
        if fields.get("reference") is None and fields.get("json_schema") is None:
            message = "missing. It takes the expected JSON; or json_schema alone, which the answer has to fit."
            yield Problem(".reference", message, "missing_required_parameter")
        text = fixed_text(fields.get("reference"))
        if text is not None:
            try:
                jsontext.decode(text)
            except jsontext.NotJson as error:
                found = f"found {jsontext.quote(text)}, which is not JSON: {error}."
                yield Problem(".reference", f"{found} It takes the expected JSON, or a template: {{{{ item.… }}}}.")


def grade(spec: JsonMatch, row: Row, ctx: Context) -> Grade:
    text = spec.input.render(row)
    expected = None if spec.reference is None else _expected(spec.reference, row)
    try:
        answered = read_json(text) if spec.extract else jsontext.decode(text)
    except jsontext.NotJson as error:
        row.warn(f"the input is not JSON: {error}")
        return Grade(0.0, _named(expected, None))
    if spec.json_schema is not None:
        why = misfit(spec.json_schema, answered)
        if why is not None:
            row.warn(f"the input does not fit json_schema: {why}")
            return Grade(0.0, _named(expected, None))
    if spec.reference is None:
        return Grade(1.0)
    score, fields = spec.comparison.score(expected, answered, ctx.turn_s)
    return Grade(score, _named(expected, fields))


def _named(expected: Any, scores: Mapping[str, float] | None) -> dict[str, float]:
    """The scores of the expected fields: what an answer brings along besides is no name to be logged. All are 0 where
    nothing could be compared (None)."""
    if not isinstance(expected, dict):
        return {}
    named = islice(expected, MOST_NAMED)
    return dict.fromkeys(named, 0.0) if scores is None else {key: scores[key] for key in named if key in scores}


def _expected(reference: Template, row: Row) -> Any:
    text = reference.render(row)
    try:
        return jsontext.decode(text)
    except jsontext.NotJson as error:
        raise GradingFailed(f"reference: expected JSON, found {jsontext.quote(text)}: {error}.") from None
