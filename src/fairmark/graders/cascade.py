"""cascade: a cheap grader first, a dear one only for the rows where the cheap one is unsure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import PlainSerializer, PlainValidator, ValidationInfo

from fairmark import jsontext
from fairmark.context import Context
from fairmark.errors import InvalidGrader, Problem
from fairmark.result import Grade, Result
from fairmark.row import Row
from fairmark.spec import GraderSpec

_SHAPE = "It takes a list of at least two graders, the cheapest first."


def _parse_graders(graders: Any, info: ValidationInfo) -> dict[str, GraderSpec]:
    """By their names, in the order in which they are asked."""
    if not isinstance(graders, (list, tuple)) or len(graders) < 2:
        raise InvalidGrader.at("", f"found {jsontext.describe(graders)}. {_SHAPE}", "invalid_type")
    children: dict[str, GraderSpec] = {}
    problems: list[Problem] = []
    for index, child in enumerate(graders):
        if isinstance(child, Mapping) and child.get("type") in ("cascade", "multi"):
            message = f"a {child['type']} grader cannot stand inside a cascade. {_SHAPE}"
            problems.append(Problem(f"[{index}].type", message))
            continue
        try:
            spec: GraderSpec = (info.context or {})["parse"](child)
        except InvalidGrader as error:
            problems += [problem.below(f"[{index}]") for problem in error.problems]
            continue
        if spec.name in children:
            message = f"found {jsontext.quote(spec.name)} again. Each grader needs its own name."
            problems.append(Problem(f"[{index}].name", message))
        children[spec.name] = spec
    problems += [] if problems else _different_ranges(list(children.values()))
    if problems:
        raise InvalidGrader(problems)
    return children


def _different_ranges(specs: Sequence[GraderSpec]) -> Iterator[Problem]:
    """Rewards on two scales are no rewards: nobody could tell which one a row has."""
    known = [(index, spec.reward_range) for index, spec in enumerate(specs) if spec.reward_range is not None]
    for index, (low, high) in known[1:]:
        first, last = known[0][1]
        if (low, high) != (first, last):
            yield Problem(
                f"[{index}]",
                f"its rewards go from {low:g} to {high:g}, those of the grader before it from {first:g} to {last:g}. "
                "All graders of a cascade need the same range.",
            )


def _read_unsure(bounds: Any) -> tuple[float, float]:
    match bounds:
        case [int() | float() as low, int() | float() as high] if not isinstance(low, bool) and low <= high:
            return float(low), float(high)
    shown = jsontext.shorten(jsontext.write(bounds), 60)
    raise InvalidGrader.at("", f"found {shown}. It takes the lowest and the highest reward that is unsure: [0.2, 0.8].")


def _echo_graders(children: Mapping[str, GraderSpec]) -> list[dict[str, Any]]:
    return [child.echo() for child in children.values()]


class Cascade(GraderSpec):
    """Ask a cheap grader first, and a dear one only for rows where it is unsure."""

    type: Literal["cascade"]
    graders: Annotated[Mapping[str, Any], PlainValidator(_parse_graders), PlainSerializer(_echo_graders)]
    unsure: Annotated[tuple[float, float], PlainValidator(_read_unsure), PlainSerializer(list)]

    @property
    def children(self) -> Mapping[str, GraderSpec]:
        return self.graders

    @property
    def threshold(self) -> float | None:
        """That of the last grader, where nobody said: it has the last word."""
        if self.pass_threshold is not None:
            return self.pass_threshold
        *_, last = self.children.values()
        return last.threshold

    @property
    def reward_range(self) -> tuple[float, float] | None:
        ranges = {child.reward_range for child in self.graders.values()}
        return ranges.pop() if len(ranges) == 1 else None

    def warnings(self) -> Iterator[str]:
        yield from super().warnings()
        for index, child in enumerate(self.graders.values()):
            yield from (text.replace("$", f"$.graders[{index}]", 1) for text in child.warnings())
            if index < len(self.graders) - 1 and child.reward_range is not None:
                low, high = child.reward_range
                if self.unsure[1] < low or self.unsure[0] > high:
                    yield f"$.unsure: the rewards of {child.name} go from {low:g} to {high:g}, so it is never unsure."

    def remarks(self) -> Iterator[str]:
        for index, child in enumerate(self.graders.values()):
            yield from (text.replace("$", f"$.graders[{index}]", 1) for text in child.remarks())


async def grade_many(spec: Cascade, rows: Sequence[Row], ctx: Context) -> list[Grade]:
    """A grader that failed on a row, or left it out, knows nothing of it: the next one is asked."""
    low, high = spec.unsure
    asked: list[dict[str, Result]] = [{} for _ in rows]
    open_rows = list(range(len(rows)))
    for name, child in spec.graders.items():
        if not open_rows:
            break
        results = (await ctx.grade({name: child}, [rows[index] for index in open_rows]))[name]
        for index, result in zip(open_rows, results, strict=True):
            asked[index][name] = result
        open_rows = [
            index
            for index, result in zip(open_rows, results, strict=True)
            if not result.ok or low <= result.reward <= high
        ]
    return [_last_word(results, row) for results, row in zip(asked, rows, strict=True)]


def _last_word(results: Mapping[str, Result], row: Row) -> Grade:
    """The grade of the last grader that was asked, with what all of them said and cost."""
    name, last = list(results.items())[-1]
    for other, result in results.items():
        if other != name and result.error is not None:
            row.warn(f"{other} failed, so {name} was asked: {result.error}")
    rewards = {other: result.reward for other, result in results.items() if result.ok}
    judgements = tuple(judgement for result in results.values() for judgement in result.judgements)
    error = None if last.error is None else f"{name}: {last.error}"
    skipped = None if last.skipped is None else f"{name}: {last.skipped}"
    return Grade(last.reward, rewards, error, last.grade.flags, last.printed, skipped, judgements, last.grade.spread)
