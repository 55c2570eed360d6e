"""What json_match, tool_calls and numeric share: how much of an expected JSON value another one has.

Equal values are 1, others 0; an object is the mean of its fields, a list the mean of its elements. So a value that is
nested deeply counts less than one beside it, and everything together is between 0 and 1.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import thread_time
from typing import Annotated, Any

from pydantic import AfterValidator, PlainSerializer, PlainValidator

from fairmark import jsontext
from fairmark.errors import GradingFailed, InvalidGrader, Problem, TakesLonger
from fairmark.spec import Number

MOST_PAIRS = 40_000
"""Elements of two lists are compared each with each where their order does not count: 200 with 200."""

MOST_COMPARED = 2_000_000

Path = tuple[str, ...]
"""Where a value stands: the keys to it, and "[]" for any element of a list."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How values are compared at one place, and below it unless a place there has rules of its own."""

    tolerance: float = 0.0
    relative_tolerance: float = 0.0
    ignore_case: bool = False
    any_order: bool = False
    extra_fields: str = "penalise"
    weight: float = 1.0
    ignore: bool = False

    def below(self) -> "Rules":
        """Weight and ignore are of a place alone."""
        return self if self.weight == 1.0 and not self.ignore else replace(self, weight=1.0, ignore=False)


_BOOLS = ("ignore_case", "any_order", "ignore")
_NUMBERS = ("tolerance", "relative_tolerance", "weight")
_TAKEN = ", ".join([*_NUMBERS, *_BOOLS, "extra_fields"])


def read_path(text: str) -> Path:
    """`items[].price` as ("items", "[]", "price"). A dot in a key is written with a backslash before it."""
    steps: list[str] = []
    for part in text.replace("\\.", "\0").split("."):
        name = part.replace("\0", ".")
        lists = 0
        while name.endswith("[]"):
            name = name[:-2]
            lists += 1
        steps += [name] if name else []
        steps += ["[]"] * lists
    return tuple(steps)


def read_fields(value: Any) -> dict[str, dict[str, Any]]:
    """Rules by path as they stand in JSON, checked. Raises InvalidGrader with every problem."""
    if not isinstance(value, Mapping):
        shape = '{"total": {"weight": 2}}'
        message = f"found {jsontext.describe(value)}. It takes an object of paths: {shape}."
        raise InvalidGrader.at("", message, "invalid_type")
    problems = [problem for path, rules in value.items() for problem in _rule_problems(path, rules)]
    if problems:
        raise InvalidGrader(problems)
    return {str(path): dict(rules) for path, rules in value.items()}


def _rule_problems(path: str, rules: Any) -> Iterator[Problem]:
    place = f"[{jsontext.quote(str(path))}]"
    if not isinstance(rules, Mapping):
        yield Problem(place, f"found {jsontext.describe(rules)}. It takes an object with: {_TAKEN}.", "invalid_type")
        return
    for name, value in rules.items():
        where, shown = f"{place}.{name}", jsontext.describe(value)
        if name in _NUMBERS:
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
                yield Problem(where, f"found {shown}. It takes a number from 0.", "invalid_type")
        elif name in _BOOLS:
            if not isinstance(value, bool):
                yield Problem(where, f"found {shown}. It takes true or false.", "invalid_type")
        elif name == "extra_fields":
            if value not in ("penalise", "ignore"):
                yield Problem(where, f"found {shown}. Use one of: penalise, ignore.")
        else:
            yield Problem(where, f"unknown. It takes: {_TAKEN}.{jsontext.nearest(str(name), _TAKEN.split(', '))}")


def _not_negative(value: float) -> float:
    if value < 0:
        raise InvalidGrader.at("", f"found {value:g}. It takes a number from 0.")
    return value


Tolerance = Annotated[Number, AfterValidator(_not_negative)]
"""How far off a number may be."""
Fields = Annotated[Mapping[str, Any], PlainValidator(read_fields), PlainSerializer(dict)]
"""The rules of places, by their paths."""


@dataclass(frozen=True)
class JsonComparison:
    """How two JSON values are compared: rules for all of it, and those of places."""

    rules: Rules
    fields: Mapping[str, Mapping[str, Any]]

    @cached_property
    def _by_path(self) -> dict[Path, Mapping[str, Any]]:
        return {read_path(path): rules for path, rules in self.fields.items()}

    def score(self, expected: Any, answered: Any, turn_s: float | None = None) -> tuple[float, dict[str, float]]:
        """How much of what is expected the answer has, from 0 to 1; and of each field, where an object is expected.

        Raises TakesLonger where it takes more time than a turn, and GradingFailed where it takes far too much.
        """
        comparing = _Comparing(self._by_path, turn_s)
        if isinstance(expected, Mapping):
            scores = comparing.fields(expected, answered, (), self.rules)
            whole = _mean(list(scores.values()), empty=1.0) if isinstance(answered, Mapping) else 0.0
            return whole, {key: score for key, (score, _) in scores.items()}
        return comparing.score(expected, answered, (), self.rules), {}


class _Comparing:
    """One comparison under way."""

    def __init__(self, by_path: Mapping[Path, Mapping[str, Any]], turn_s: float | None) -> None:
        self._by_path = by_path
        self._until = None if turn_s is None else thread_time() + turn_s
        self._left = MOST_COMPARED

    def _rules(self, path: Path, above: Rules) -> Rules:
        own = self._by_path.get(path)
        return above.below() if own is None else replace(above.below(), **own)

    def score(self, expected: Any, answered: Any, path: Path, rules: Rules) -> float:
        self._left -= 1
        if self._left < 0:
            raise GradingFailed(f"comparing lists within lists in any order takes more than {MOST_COMPARED:,} steps.")
        if isinstance(expected, Mapping):
            if not isinstance(answered, Mapping):
                return 0.0
            return _mean(list(self.fields(expected, answered, path, rules).values()), empty=1.0)
        if isinstance(expected, list):
            return self._list(expected, answered, path, rules) if isinstance(answered, list) else 0.0
        return float(_equal(expected, answered, rules))

    def fields(
        self, expected: Mapping[str, Any], answered: Any, path: Path, rules: Rules
    ) -> dict[str, tuple[float, float]]:
        """Score and weight of each field. One that is too many counts as a wrong one."""
        has = answered if isinstance(answered, Mapping) else {}
        scores: dict[str, tuple[float, float]] = {}
        for key, value in expected.items():
            inside = (*path, key)
            own = self._rules(inside, rules)
            if not own.ignore:
                scores[key] = (self.score(value, has[key], inside, own) if key in has else 0.0), own.weight
        if rules.extra_fields == "penalise":
            for key in has:
                own = self._rules((*path, str(key)), rules)
                if key not in expected and not own.ignore:
                    scores[str(key)] = 0.0, own.weight
        return scores

    def _list(self, expected: list[Any], answered: list[Any], path: Path, rules: Rules) -> float:
        """The mean over the longer of both: what is missing is wrong, and so is what is too much."""
        longer = max(len(expected), len(answered))
        if longer == 0:
            return 1.0
        inside = (*path, "[]")
        own = self._rules(inside, rules)

        def pair(first: int, second: int) -> float:
            return self.score(expected[first], answered[second], inside, own)

        if not rules.any_order:
            return math.fsum(pair(index, index) for index in range(min(len(expected), len(answered)))) / longer
        return best_pairs(len(expected), len(answered), pair, self.check_time) / longer

    def check_time(self) -> None:
        if self._until is not None and thread_time() > self._until:
            raise TakesLonger


def _mean(scores: Sequence[tuple[float, float]], empty: float) -> float:
    weights = math.fsum(weight for _, weight in scores)
    return math.fsum(score * weight for score, weight in scores) / weights if weights else empty


def _equal(expected: Any, answered: Any, rules: Rules) -> bool:
    """true is not 1, and "1" neither; 1 is 1.0."""
    if isinstance(expected, str):
        if not isinstance(answered, str):
            return False
        return expected.casefold() == answered.casefold() if rules.ignore_case else expected == answered
    if expected is None or isinstance(expected, bool) or answered is None or isinstance(answered, bool):
        return expected is answered
    if not isinstance(answered, (int, float)):
        return False
    if expected == answered:
        return True
    try:
        off: float = abs(expected - answered)
        allowed: float = max(rules.tolerance, rules.relative_tolerance * abs(expected))
        return off <= allowed * _ROUNDING
    except OverflowError:  # a whole number beyond floats is near to nothing but itself
        return False


_ROUNDING = 1 + 1e-12
"""What computing with floats may be off by: 1.3 is within 0.3 of 1."""


def best_pairs(rows: int, columns: int, score: Callable[[int, int], float], check_time: Callable[[], None]) -> float:
    """The largest sum of scores where everybody has at most one partner: Kuhn and Munkres' method.

    Raises GradingFailed for lists that are too long for that.
    """
    if rows == 0 or columns == 0:
        return 0.0
    if rows * columns > MOST_PAIRS:
        raise GradingFailed(
            f"lists of {rows:,} and {columns:,} elements are too long to be compared in any order; "
            f"their lengths may make {MOST_PAIRS:,}, multiplied."
        )
    table: list[list[float]] = []
    for row in range(rows):
        check_time()
        table.append([-score(row, column) for column in range(columns)])
    if rows > columns:
        table = [list(column) for column in zip(*table, strict=True)]
    return _assign(table, check_time)


def _assign(costs: list[list[float]], check_time: Callable[[], None]) -> float:
    """What the cheapest assignment of every row to a column of its own saves; there are at least as many columns."""
    rows, columns = len(costs), len(costs[0])
    row_potential, column_potential = [0.0] * (rows + 1), [0.0] * (columns + 1)
    partner = [0] * (columns + 1)
    for row in range(1, rows + 1):
        check_time()
        partner[0] = row
        column = 0
        least = [math.inf] * (columns + 1)
        before = [0] * (columns + 1)
        used = [False] * (columns + 1)
        while partner[column]:
            used[column] = True
            current, delta, following = partner[column], math.inf, 0
            for candidate in range(1, columns + 1):
                if used[candidate]:
                    continue
                cost = costs[current - 1][candidate - 1] - row_potential[current] - column_potential[candidate]
                if cost < least[candidate]:
                    least[candidate], before[candidate] = cost, column
                if least[candidate] < delta:
                    delta, following = least[candidate], candidate
            for candidate in range(columns + 1):
                if used[candidate]:
                    row_potential[partner[candidate]] += delta
                    column_potential[candidate] -= delta
                else:
                    least[candidate] -= delta
            column = following
        while column:
            partner[column] = partner[before[column]]
            column = before[column]
    spent = math.fsum(costs[partner[column] - 1][column - 1] for column in range(1, columns + 1) if partner[column])
    return 0.0 - spent  # not -spent: nothing is 0, and not -0
