"""What the fixture and the marker do: grade, and say on one line each which answers are not good enough."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest

from fairmark import frames, jsontext, readiness
from fairmark.data.dataset import DataFile, DataRow
from fairmark.data.formats import Told
from fairmark.data.runner import run
from fairmark.data.tally import GraderTally
from fairmark.errors import FairmarkError, InvalidData, InvalidGrader, NotGraded
from fairmark.judges.base import Budget, Judge
from fairmark.parse import Grader
from fairmark.reason import reason_of_row
from fairmark.registry.named import BY_KEY, labelled, specify_named
from fairmark.registry.specify import specify
from fairmark.result import Result, Results
from fairmark.row import NO_SAMPLE, split_row
from fairmark.run import grade_many
from fairmark.spec import GraderSpec
from fairmark.testing.outcomes import Below, Ungraded

MOST_SHOWN = 10
"""Rows of a file that are told one by one."""


@dataclass
class Session:
    """What all tests of this process share."""

    budget: Budget | None


class PytestChecks:
    """The fixture `fairmark`: grades in the place of assertions. Where a grade is not there, the test is an error."""

    def __init__(self, node: pytest.Item, session: Session, judge: Judge | None) -> None:
        self._node = node
        self._session = session
        self._judge = judge

    def __repr__(self) -> str:
        return f"<fairmark of {self._node.name}>"

    @property
    def results(self) -> dict[str, Results]:
        """Of a marked test: the results of its file by the graders' names, in the order of the rows."""
        return self._node.stash.setdefault(_RESULTS, {})

    def grade(
        self, grader: Grader | os.PathLike[str], sample: Any = None, item: Any = None, *, judge: Judge | None = None
    ) -> Result:
        """The result, whatever the reward. `grader`: a dict, JSON, a file, or key:NAME of the registry."""
        __tracebackhide__ = True
        return self._graded(self._spec(grader), sample, item, judge)

    def assert_grade(
        self,
        grader: Grader | os.PathLike[str],
        sample: Any = None,
        item: Any = None,
        *,
        at_least: float | None = None,
        judge: Judge | None = None,
    ) -> Result:
        """The result, where the reward is at least so much; without `at_least`, as much as the grader asks for.

        Fails the test otherwise. The test is an error where nobody can say.
        """
        __tracebackhide__ = True
        spec = self._spec(grader)
        least = _least(spec.name, spec, at_least)
        result = self._graded(spec, sample, item, judge)
        if result.reward < least:
            raise Below(f"{spec.name}: {_below(result, least, item, sample)}")
        return result

    def _graded(self, spec: GraderSpec, sample: Any, item: Any, judge: Judge | None) -> Result:
        __tracebackhide__ = True
        rows = [{"item": item, "sample": sample}]
        result = grade_many(spec, rows, workers=1, judge=judge or self._judge, budget=self._session.budget)[0]
        tally = GraderTally()
        tally.add(result)
        self._note(spec.name, tally, {"reward": result.reward_or(None), "status": result.status})
        why = _no_grade(result)
        if why is not None:
            raise Ungraded(f"{spec.name}: not graded: {jsontext.shorten(why, 400)}")
        return result

    def _spec(self, grader: Any) -> GraderSpec:
        __tracebackhide__ = True
        try:
            if isinstance(grader, (str, os.PathLike)):
                return specify_named(self._name(os.fspath(grader)))
            return specify(grader)
        except FairmarkError as error:
            raise Ungraded(str(error)) from None

    def _name(self, text: str) -> str:
        """The file beside the test, where there is one; else as it stands, from where pytest was started."""
        if text.startswith(BY_KEY) or text.lstrip().startswith("{") or text == "-":
            return text
        beside = self._node.path.parent / text
        return str(beside) if beside.exists() else text

    def _note(self, label: str, tally: GraderTally, more: Mapping[str, Any]) -> None:
        """For the JUnit report, and the last line of the run."""
        told = dict(more)
        if tally.asked:
            told |= {"asked": tally.asked, "tokens": tally.tokens, "cost": round(tally.cost, 6)}
        self._node.user_properties += [
            (f"fairmark.{label}.{name}", value) for name, value in told.items() if value is not None
        ]

    def check_file(self, positional: Sequence[Any], named: Mapping[str, Any]) -> None:
        """What the marker asks for. Raises Below or Ungraded with a line for each row, as far as they can be told."""
        asked = _read_marker(positional, named)
        graders = labelled((self._label(grader), self._spec(grader)) for grader in asked.graders)
        files = [
            _File(label, spec, _least(label, spec, asked.at_least), asked.rate_of(label, graders))
            for label, spec in graders.items()
        ]
        judge = self._judge
        try:
            if judge is None:
                missing = [
                    problem._replace(path=f"{label}: {problem.path}")
                    for label, spec in graders.items()
                    for problem in readiness.lacks(spec)
                ]
                if missing:
                    raise InvalidGrader(missing)
            rows = self._rows(asked)
            for row, results in run(
                rows, graders, budget=self._session.budget, deadline_s=asked.deadline_s, judge=judge
            ):
                for file in files:
                    file.add(row, results[file.label])
        except FairmarkError as error:
            raise Ungraded(str(error)) from None
        for file in files:
            self.results[file.label] = file.results
            self._note(file.label, file.tally, file.figures())
        _raise_for(files, self._session.budget)

    def _label(self, grader: Any) -> str:
        return os.fspath(grader) if isinstance(grader, (str, os.PathLike)) else ""

    def _rows(self, asked: "_Asked") -> Iterator[DataRow]:
        numbers = count(1)
        for row in self._read(asked):
            if isinstance(row, InvalidData):
                raise row
            number, item, sample = row if isinstance(row, DataRow) else (next(numbers), *split_row(row))
            yield DataRow(number, item, sample if asked.target is None else asked.target(item))

    def _read(self, asked: "_Asked") -> Iterable[Any]:
        data, told = asked.data, Told(columns=asked.map or {})
        if isinstance(data, (str, os.PathLike)):
            return DataFile(self._name(os.fspath(data)), told=told)
        framed = frames.rows_of(data)
        rows = data if framed is None else framed
        return rows if not told.columns else map(told.renamed, rows)


_RESULTS = pytest.StashKey[dict[str, Results]]()


@dataclass
class _Asked:
    """What the marker says."""

    data: Any
    graders: Any
    pass_rate: Any = 1.0
    at_least: float | None = None
    target: Callable[[Any], Any] | None = None
    map: Mapping[str, str] | None = None
    deadline_s: float | None = None

    def __post_init__(self) -> None:
        is_one = isinstance(self.graders, (str, bytes, os.PathLike, Mapping, GraderSpec))
        self.graders = [self.graders] if is_one else list(self.graders)
        if not self.graders:
            raise Ungraded("@pytest.mark.fairmark: graders: found none.")
        is_plain = isinstance(self.data, (str, os.PathLike, Iterable)) and not isinstance(self.data, (bytes, Mapping))
        if not is_plain and frames.rows_of(self.data) is None:
            shown = jsontext.describe(self.data)
            raise Ungraded(f"@pytest.mark.fairmark: data: expected a file, rows or a data frame, found {shown}.")
        rates = self.pass_rate.values() if isinstance(self.pass_rate, Mapping) else [self.pass_rate]
        for rate in rates:
            if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 <= rate <= 1:
                raise Ungraded(f"@pytest.mark.fairmark: pass_rate: found {rate!r}. It takes a share, from 0 to 1.")

    def rate_of(self, label: str, labels: Iterable[str]) -> float:
        if not isinstance(self.pass_rate, Mapping):
            return float(self.pass_rate)
        strange = [name for name in self.pass_rate if name not in labels]
        if strange or label not in self.pass_rate:
            wrong = f"there is no grader {strange[0]!r}" if strange else f"it has none for {label!r}"
            raise Ungraded(f"@pytest.mark.fairmark: pass_rate: {wrong}. The graders are: {', '.join(labels)}.")
        return float(self.pass_rate[label])


def _read_marker(positional: Sequence[Any], named: Mapping[str, Any]) -> _Asked:
    try:
        return _Asked(*positional, **named)
    except TypeError as error:
        wrong = str(error).removeprefix("_Asked.__init__() ")
        allowed = ", ".join(_Asked.__dataclass_fields__)
        raise Ungraded(f"@pytest.mark.fairmark: {wrong}. It takes: {allowed}.") from None


@dataclass
class _File:
    """One grader on all rows of a file."""

    label: str
    spec: GraderSpec
    least: float
    rate: float
    tally: GraderTally = field(default_factory=GraderTally)
    results: Results = field(default_factory=Results)
    rows: int = 0
    passed: int = 0
    failing: int = 0
    ungraded: int = 0
    lines: dict[bool, list[str]] = field(default_factory=lambda: {True: [], False: []})
    """What to tell of rows that could not be graded (True), and of rows that do not pass."""

    def add(self, row: DataRow, result: Result) -> None:
        self.rows += 1
        self.tally.add(result)
        self.results.append(result)
        why = None if result.skipped is not None else _no_grade(result)
        if why is not None:
            self.ungraded += 1
            self._tell(True, f"row {row.number}: {jsontext.shorten(' '.join(why.split()), 400)}")
        elif result.ok and result.reward >= self.least:
            self.passed += 1
        elif result.ok:
            self.failing += 1
            self._tell(False, f"row {row.number}: ", result, row)

    def _tell(self, ungraded: bool, text: str, result: Result | None = None, row: DataRow | None = None) -> None:
        if len(self.lines[ungraded]) < MOST_SHOWN:
            told = "" if result is None or row is None else _below(result, self.least, row.item, row.sample)
            self.lines[ungraded].append(f"  {text}{told}")

    @property
    def judged(self) -> int:
        return self.passed + self.failing

    def figures(self) -> dict[str, Any]:
        rate = self.passed / self.judged if self.judged else None
        told = {"rows": self.rows, "passed": self.passed, "failed": self.failing, "errors": self.ungraded}
        return {**told, "pass_rate": rate, "mean": self.tally.mean}

    def complaint(self, spent: str | None) -> tuple[bool, str] | None:
        """Whether it is an error, and what to say; None where nothing is wrong."""
        if self.ungraded:
            head = f"{self.label}: {self.ungraded:,} of {self.rows:,} rows could not be graded"
            if self.failing:
                head += f", {self.failing:,} of the others do not pass"
            return True, "\n".join([f"{head}.", *self._shown(True, self.ungraded)])
        if self.tally.skipped and spent:
            return True, f"{self.label}: {self.tally.skipped:,} of {self.rows:,} rows were {spent}"
        if not self.judged:
            return True, f"{self.label}: no row was graded. The first was left out: {self.tally.first_skipped}"
        if self.passed >= self.rate * self.judged - 1e-9:
            return None
        head = f"{self.label}: {self.passed:,} of {self.judged:,} rows pass ({self.passed / self.judged:.1%})"
        return False, "\n".join([f"{head}, fewer than {self.rate:.1%}.", *self._shown(False, self.failing)])

    def _shown(self, ungraded: bool, number: int) -> list[str]:
        lines = self.lines[ungraded]
        return [*lines, *([f"  … and {number - len(lines):,} more"] if number > len(lines) else [])]


def _raise_for(files: Iterable[_File], budget: Budget | None) -> None:
    spent: str | None = None
    try:
        if budget is not None:
            budget.check()
    except NotGraded as error:
        spent = str(error)
    complaints = [complaint for file in files if (complaint := file.complaint(spent)) is not None]
    if complaints:
        is_error = any(error for error, _ in complaints)
        raise (Ungraded if is_error else Below)("\n".join(text for _, text in complaints))


def _least(label: str, spec: GraderSpec, at_least: Any) -> float:
    __tracebackhide__ = True
    least = spec.threshold if at_least is None else at_least
    if least is None:
        raise Ungraded(f"{label}: it has no pass_threshold, so that nobody knows what is enough. Say at_least=…")
    if isinstance(least, bool) or not isinstance(least, (int, float)) or least != least:
        raise Ungraded(f"at_least: found {least!r}. It takes a number.")
    if spec.reward_range is not None and not spec.reward_range[0] <= least <= spec.reward_range[1]:
        low, high = spec.reward_range
        raise Ungraded(f"at_least: found {least:g}. The rewards of {label} go from {low:g} to {high:g}.")
    return float(least)


def _no_grade(result: Result) -> str | None:
    """Why there is no grade that says anything about the answer; None where there is one."""
    if not result.ok:
        return result.error or result.skipped
    return next((text for text in result.row_warnings if text.startswith(NO_SAMPLE)), None)


def _below(result: Result, least: float, item: Any, sample: Any) -> str:
    why = reason_of_row(result, item, sample)
    return f"reward {result.reward:g} is below {least:g}" + (f": {why}" if why else "")
