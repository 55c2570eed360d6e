"""Check a judge: plan, ask, measure, grade."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from fairmark import fragments
from fairmark.errors import InvalidData
from fairmark.judges.base import Budget, Judge
from fairmark.parse import Grader
from fairmark.registry.specify import aspecify, specify
from fairmark.spec import GraderSpec
from fairmark.trust.asking import Answers, ask_all, is_unpaid
from fairmark.trust.labelled import Labelled, collect, read_labelled
from fairmark.trust.measures import MEASURES
from fairmark.trust.outcome import CheckOutcome, Probed, TrustGrade, decide, with_alarms
from fairmark.trust.places import Places
from fairmark.trust.plan import CheckLimits, CheckPlan, Planned, make_plan
from fairmark.trust.probes import PROBES, NotApplicable
from fairmark.trust.sheet import PROBE_ROWS, Sheet
from fairmark.trust.statistics import AgainstPeople, compare
from fairmark.trust.subject import Opinion, Subject

SCHEMA = 1
MOST_FAILED = 0.1
"""The share of questions that may fail before nothing can be said."""
Require = Literal["trusted", "care"]
REQUIRED: Mapping[str, tuple[TrustGrade, ...]] = {"trusted": ("trusted",), "care": ("trusted", "with care")}


@dataclass(frozen=True)
class CheckOptions:
    """How a check is made. `probes`: only these, beside the rows as they are; without it, all that fit."""

    probes: Collection[str] | None = None
    limits: CheckLimits = field(default_factory=CheckLimits)
    places: Places = field(default_factory=Places)
    pair_labels: Sequence[str] | None = None
    seed: int = 0
    most_rows: int = PROBE_ROWS


@dataclass(frozen=True)
class JudgeCheck:
    """What came of a check. `grade` is the short of it, `reasons` why; `model_dump()` the report, `html()` a page."""

    subject: Subject
    labelled: Labelled
    plan: CheckPlan
    compared: AgainstPeople
    probes: Sequence[Probed]
    outcome: CheckOutcome
    asked: int
    failed: int
    failures: Sequence[str]
    tokens: int
    dollars: float | None
    cached: int
    unpaid: int
    created_at: int
    seconds: float
    seed: int

    @property
    def grade(self) -> TrustGrade:
        return self.outcome.grade

    @property
    def reasons(self) -> list[str]:
        return list(self.outcome.reasons)

    @property
    def alarms(self) -> list[str]:
        """The probes that raised one."""
        return [probe.name for probe in self.probes if probe.alarm]

    @property
    def is_answered(self) -> bool:
        """Whether enough questions were answered for the grade to mean anything."""
        return _is_answered(self.asked, self.failed)

    def meets(self, require: str = "care") -> bool:
        return self.is_answered and self.grade in REQUIRED[require]

    def model_dump(self) -> dict[str, Any]:
        from fairmark.trust.dump import dump

        return dump(self)

    def html(self) -> str:
        """One page that stands alone, with its plots."""
        from fairmark.trust.page import page

        return page(self)

    def _repr_html_(self) -> str:
        return fragments.frame(self.html(), f"Can {self.subject.spec.name} be trusted?")


def check_judge(
    grader: Grader,
    rows: str | Iterable[Mapping[str, Any]],
    *,
    probes: Collection[str] | None = None,
    max_calls: int | None = None,
    budget: Budget | None = None,
    judge: Judge | None = None,
    answers: Answers | None = None,
    **more: Any,
) -> JudgeCheck:
    """Hold a grader against rows that people have judged, and against itself. `rows`: a file, or the lines of one.

    `probes`: only these. `max_calls`, `budget`: probes that do not fit are left out, the least telling first. `judge`:
    who is asked in place of the configured models. `answers`: a mapping to keep answers in; what is in it is not asked
    again. Also `places`, `pair_labels`, `seed` and `most_rows`, as in CheckOptions.

    Raises InvalidGrader, and InvalidData for rows that are wrong, with the line.
    """
    from fairmark.work import eventloop

    labelled = read_labelled(rows) if isinstance(rows, str) else collect(enumerate(rows, 1))
    options = _options(probes, max_calls, budget, more)
    return eventloop.run(run_check(specify(grader), labelled, options, judge, budget, answers))


async def acheck_judge(
    grader: Grader, rows: Iterable[Mapping[str, Any]], *, judge: Judge | None = None, **more: Any
) -> JudgeCheck:
    """`check_judge` for callers that have an event loop."""
    budget, answers = more.pop("budget", None), more.pop("answers", None)
    options = _options(more.pop("probes", None), more.pop("max_calls", None), budget, more)
    return await run_check(await aspecify(grader), collect(enumerate(rows, 1)), options, judge, budget, answers)


def _options(
    probes: Collection[str] | None, max_calls: int | None, budget: Budget | None, more: Mapping[str, Any]
) -> CheckOptions:
    tokens, dollars = (None, None) if budget is None else (budget.tokens, budget.dollars)
    return CheckOptions(probes, CheckLimits(max_calls, tokens, dollars), **more)


def prepare(spec: GraderSpec, labelled: Labelled, options: CheckOptions, answers: Answers) -> tuple[Sheet, CheckPlan]:
    """What would be asked, whatever of it is known already: a check that goes on leaves out the same probes as before.
    Raises InvalidData where rows and grader do not fit."""
    from fairmark.graders import grades_by_itself

    if not grades_by_itself(spec):
        raise InvalidData(f"{spec.type}: its scores come from elsewhere, so that there is nobody to ask.")
    subject = Subject.of(spec, labelled, options.pair_labels)
    if subject.mode == "preference":
        _check_pairs(labelled, options.places)
    sheet = Sheet(subject, labelled, options.places, answers, options.seed, options.most_rows)
    return sheet, make_plan(replace(sheet, answers={}), options.probes, options.limits)


def _check_pairs(labelled: Labelled, places: Places) -> None:
    for row in labelled.rows:
        if row.samples is None and places.exchanged(row.item) is None:
            raise InvalidData(
                f"{labelled.name}, line {row.number}: there are no two answers to compare: neither samples, nor "
                "item.a and item.b. --pair says where in the item they stand.",
                row.number,
            )


async def run_check(
    spec: GraderSpec,
    labelled: Labelled,
    options: CheckOptions,
    judge: Judge | None = None,
    budget: Budget | None = None,
    answers: Answers | None = None,
    on_plan: Callable[[CheckPlan], None] | None = None,
    on_answer: Callable[[int], None] | None = None,
    owner: str = "",
) -> JudgeCheck:
    """The whole of it. What `answers` holds is not asked, and what is asked is put there. `owner`: whose check it is,
    on an event loop that others need too."""
    import asyncio

    known: Answers = {} if answers is None else answers
    started = time.monotonic()
    sheet, plan = await asyncio.to_thread(prepare, spec, labelled, options, known)
    if on_plan is not None:
        on_plan(plan)
    base = plan.probes[0]
    later = [probe for probe in plan.probes if probe.name == "injection" and probe.calls and not probe.asks]
    asking = partial(
        ask_all, sheet.subject, answers=known, judge=judge, budget=budget, on_answer=on_answer, owner=owner
    )
    if budget is not None:  # where it runs out before all is asked, the rows themselves are what is known
        await asking(base.asks)
    own = {ask.key for ask in base.asks}
    others = [ask for ask in plan.asks if ask.key not in own]
    asked = own | {ask.key for ask in others}

    async def ask_rows() -> tuple[CheckPlan, AgainstPeople]:
        await asking(base.asks)
        # Which rows are bad is known only now.
        whole = CheckPlan([_now(sheet, probe) if probe in later else probe for probe in plan.probes], plan.notes)
        # Drawing rows again takes a while, in which others can be asked about.
        figures, _ = await asyncio.gather(
            asyncio.to_thread(compare, sheet), asking([ask for ask in whole.asks if ask.key not in asked])
        )
        return whole, figures

    (plan, figures), _ = await asyncio.gather(ask_rows(), asking(others))
    return await asyncio.to_thread(_conclude, sheet, plan, figures, started)


def _now(sheet: Sheet, probe: Planned) -> Planned:
    asks = list(PROBES[probe.name].asks(sheet))
    rows = len({ask.row for ask in asks})
    if rows < PROBES[probe.name].least_rows:
        why = f"there are {rows} rows that were judged badly; it takes {PROBES[probe.name].least_rows}"
        return Planned(probe.name, left_out=Probed(probe.name, "not enough rows", why=why))
    return Planned(probe.name, asks, probe.calls, probe.tokens, probe.dollars)


def _conclude(sheet: Sheet, plan: CheckPlan, compared: AgainstPeople, started: float) -> JudgeCheck:
    sheet.asked.update({probe.name: list(probe.asks) for probe in plan.probes if probe.asks})
    probes = with_alarms([_probed(sheet, probe) for probe in plan.probes if probe.name != "base"])
    keys = {ask.key for ask in plan.asks}
    answers = [sheet.answers[key] for key in keys if key in sheet.answers]
    failures = [answer.error for answer in answers if answer.error is not None]
    common = sorted(set(failures), key=failures.count, reverse=True)[:3]
    costs = [answer.cost for answer in answers if answer.cost is not None]
    return JudgeCheck(
        sheet.subject,
        sheet.labelled,
        plan,
        compared,
        probes,
        _outcome(compared, probes, len(answers), len(failures), common),
        len(answers),
        len(failures),
        common,
        sum(answer.tokens for answer in answers),
        sum(costs) if costs else None,
        sum(_was_cached(answer) for answer in answers),
        len(keys) - len(answers),
        int(time.time()),
        time.monotonic() - started,
        sheet.seed,
    )


def _is_answered(asked: int, failed: int) -> bool:
    return failed <= MOST_FAILED * max(1, asked)


def _outcome(
    compared: AgainstPeople, probes: Sequence[Probed], asked: int, failed: int, failures: Sequence[str]
) -> CheckOutcome:
    """What is left of too many questions is no evidence, whatever it says: those that fail are not drawn at random."""
    if _is_answered(asked, failed):
        return decide(compared, probes)
    return CheckOutcome("not enough evidence", [f"{failed} of {asked} questions failed: {'; '.join(failures)}"])


def _was_cached(answer: Opinion) -> bool:
    return answer.ok and answer.asked == 0 and not is_unpaid(answer)


def _probed(sheet: Sheet, planned: Planned) -> Probed:
    if planned.left_out is not None:
        return planned.left_out
    probe = PROBES[planned.name]
    try:
        measured = MEASURES[planned.name](sheet)
    except NotApplicable as reason:
        return Probed(planned.name, "not applicable", why=str(reason))
    # Some of them fail, and of bad answers only those tell something that the judge takes for bad as they are.
    if 2 * measured.rows < probe.least_rows:
        why = f"{measured.rows} rows could be used; it takes {probe.least_rows}"
        return Probed(planned.name, "not enough rows", planned.calls, why)
    return Probed(planned.name, "asked", planned.calls, "", measured)
