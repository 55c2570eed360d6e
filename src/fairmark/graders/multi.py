"""multi: several graders, and a formula that makes one reward of theirs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import PlainSerializer, PlainValidator, ValidationInfo

from fairmark import jsontext
from fairmark.context import Context
from fairmark.errors import FormulaFailed, InvalidGrader, Problem
from fairmark.graders.formula import Formula
from fairmark.result import Grade, Result, is_split
from fairmark.row import Row
from fairmark.spec import GraderSpec

_SHAPE = 'It takes an object: {"key": grader, …}; the keys are the variables of calculate_output.'


def _named(graders: Any) -> Iterator[tuple[str, str, Any]]:
    """The graders as (path below `graders`, key, JSON). Raises InvalidGrader where the shape is wrong."""
    match graders:
        case {"type": str()}:
            raise InvalidGrader.at("", f"found a single grader. {_SHAPE}", "invalid_type")
        case {}:
            if not graders:
                raise InvalidGrader.at("", f"found no grader. {_SHAPE}")
            for key, child in graders.items():
                yield (f".{key}" if str(key).isidentifier() else f"[{jsontext.quote(str(key))}]"), key, child
        case [_, *_]:
            seen: set[str] = set()
            for index, child in enumerate(graders):
                name = child.get("name") if isinstance(child, dict) else None
                if not isinstance(name, str) or not name.isidentifier() or name in seen:
                    shown = jsontext.describe(name) + (" again" if name in seen else "")
                    raise InvalidGrader.at(
                        f"[{index}].name", f"found {shown}. In a list each grader needs its own name. {_SHAPE}"
                    )
                seen.add(name)
                yield f"[{index}]", name, child
        case _:
            raise InvalidGrader.at("", f"found {jsontext.describe(graders)}. {_SHAPE}", "invalid_type")


def _parse_children(graders: Any, info: ValidationInfo) -> dict[str, GraderSpec]:
    children: dict[str, GraderSpec] = {}
    problems: list[Problem] = []
    for path, key, child in _named(graders):
        if isinstance(child, dict) and child.get("type") == "multi":
            problems.append(Problem(f"{path}.type", "a multi grader cannot stand inside a multi grader."))
            continue
        try:
            children[key] = (info.context or {})["parse"](child)
        except InvalidGrader as error:
            problems += [problem.below(path) for problem in error.problems]
    if problems:
        raise InvalidGrader(problems)
    return children


def _echo_children(children: Mapping[str, GraderSpec]) -> dict[str, Any]:
    return {key: child.echo() for key, child in children.items()}


class Multi(GraderSpec):
    """Combine several graders by a formula over their rewards."""

    type: Literal["multi"]
    graders: Annotated[Mapping[str, Any], PlainValidator(_parse_children), PlainSerializer(_echo_children)]
    calculate_output: Formula

    @property
    def children(self) -> Mapping[str, GraderSpec]:
        return self.graders

    @classmethod
    def cross_check(cls, fields: dict[str, Any]) -> Iterator[Problem]:
        """The formula's variables must be keys; this is known even where a child is wrong."""
        try:
            keys = [key for _, key, _ in _named(fields.get("graders"))]
            variables = Formula(fields.get("calculate_output") or "").variables
        except (InvalidGrader, TypeError):
            return  # already told where the field itself was read
        for name in variables:
            if name not in keys:
                yield Problem(
                    ".calculate_output",
                    f"unknown variable {jsontext.quote(name)}. The graders' keys are: {', '.join(keys)}.",
                )

    def remarks(self) -> Iterator[str]:
        for key, child in self.graders.items():
            yield from (text.replace("$", f"$.graders.{key}", 1) for text in child.remarks())

    def warnings(self) -> Iterator[str]:
        for key, child in self.graders.items():
            if key not in self.calculate_output.variables:
                yield f"$.graders.{key}: calculate_output does not use this grader."
            yield from (text.replace("$", f"$.graders.{key}", 1) for text in child.warnings())


async def grade_many(spec: Multi, rows: Sequence[Row], ctx: Context) -> list[Grade]:
    children = await ctx.grade(spec.graders, rows)
    return [_combine(spec, {key: children[key][index] for key in children}) for index in range(len(rows))]


def _combine(spec: Multi, children: Mapping[str, Result]) -> Grade:
    """The formula's value over the children's rewards. A failed child counts as 0, and its flags are kept.

    Where a child was left out on purpose, so is the whole: a reward that lacks a part is none.
    """
    rewards = {key: child.reward for key, child in children.items()}
    judgements = tuple(judgement for child in children.values() for judgement in child.judgements)
    failures = [f"{key}: {child.error}" for key, child in children.items() if child.error is not None]
    flags = {flag: value for child in children.values() for flag, value in child.grade.flags.items()}
    spread = _spread(children)
    skipped = [f"{key}: {child.skipped}" for key, child in children.items() if child.skipped is not None]
    if skipped and not failures:
        return Grade(0.0, rewards, skipped="; ".join(skipped), judgements=judgements, spread=spread)
    try:
        reward = spec.calculate_output.evaluate(rewards)
    except FormulaFailed as failure:
        reward = 0.0
        failures.append(str(failure))
        flags |= failure.flags()
    return Grade(reward, rewards, "; ".join(failures) or None, flags, judgements=judgements, spread=spread)


def _spread(children: Mapping[str, Result]) -> dict[str, Any] | None:
    """Of each panel among the children by its key, and of all whether one split; None where there is no panel."""
    parts = {key: dict(child.grade.spread) for key, child in children.items() if child.grade.spread is not None}
    if not parts:
        return None
    dissent = dict.fromkeys(model for spread in parts.values() for model in spread.get("dissent", ()))
    return {"split": any(map(is_split, parts.values())), "dissent": list(dissent), "parts": parts}
