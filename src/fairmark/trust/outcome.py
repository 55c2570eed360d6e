"""From figures and probes to a grade: trusted, with care, not trusted, or not enough evidence."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fairmark.data.intervals import holm, more_than
from fairmark.trust.measures import MARGIN, ONE_SIDED, Measured
from fairmark.trust.probes import PROBES
from fairmark.trust.statistics import AgainstPeople

TrustGrade = Literal["trusted", "with care", "not trusted", "not enough evidence"]
Status = Literal["asked", "not applicable", "not enough rows", "dropped", "not chosen"]

FAMILY = 0.05
"""The chance of any alarm from a judge without a fault."""
ROWS_TO_TRUST, ROWS_TO_SAY = 50, 30
GOOD, BAD = 0.6, 0.4
NEAR_CEILING = 0.1
WIDEST = 0.5
MOST_FLIPS = 0.15


@dataclass(frozen=True)
class Probed:
    """What became of one probe. `p` is corrected for the number of tests in this check."""

    name: str
    status: Status
    calls: int = 0
    why: str = ""
    measured: Measured | None = None
    p: float | None = None
    alarm: bool = False

    @property
    def against(self) -> bool:
        """Whether it makes the judge not trusted, by itself."""
        return self.measured is not None and self.name in _AGAINST and _AGAINST[self.name](self.measured)

    @property
    def says(self) -> str:
        """In a word, of one that was measured."""
        return "ALARM" if self.alarm else "NOT TRUSTED" if self.against else "no test" if self.p is None else "ok"

    @property
    def is_bad(self) -> bool:
        return self.alarm or self.against

    @property
    def finds(self) -> str:
        return PROBES[self.name].finds

    @property
    def remedy(self) -> str:
        return PROBES[self.name].remedy


def with_alarms(probes: Sequence[Probed]) -> list[Probed]:
    """Holm's correction over all tests of the check, and an alarm where an effect is both sure and large enough."""
    tested = [probe for probe in probes if probe.measured is not None and probe.measured.p is not None]
    corrected = dict(
        zip(
            (probe.name for probe in tested),
            holm([probe.measured.p for probe in tested if probe.measured and probe.measured.p is not None]),
            strict=True,
        )
    )
    return [_told(probe, corrected.get(probe.name)) for probe in probes]


def _told(probe: Probed, p: float | None) -> Probed:
    if p is None or probe.measured is None or probe.measured.effect is None:
        return probe
    effect = probe.measured.effect
    size = effect if probe.name in ONE_SIDED else abs(effect)
    alarm = p < FAMILY and size > MARGIN
    return Probed(probe.name, probe.status, probe.calls, probe.why, probe.measured, p, alarm)


@dataclass(frozen=True)
class CheckOutcome:
    grade: TrustGrade
    reasons: Sequence[str]


def decide(compared: AgainstPeople, probes: Sequence[Probed]) -> CheckOutcome:
    """What speaks against a judge counts without labels too; what speaks for it needs enough of them."""
    main = compared.main
    against = _against(compared, probes)
    if against:
        return CheckOutcome("not trusted", against)
    if compared.labelled < ROWS_TO_SAY:
        return CheckOutcome(
            "not enough evidence",
            [f"{compared.labelled} labelled rows could be compared; it takes {ROWS_TO_SAY} to say anything, "
             f"{ROWS_TO_TRUST} to trust, 100 to decide."],
        )  # fmt: skip
    if main.value is None or main.interval is None:
        return CheckOutcome(
            "not enough evidence", [f"{main.name} is undefined: {main.why or 'too few groups of rows'}."]
        )
    low, high = main.interval
    shown = f"{main.name} is {main.value:.2f} ({low:.2f} to {high:.2f})"
    if high - low > WIDEST:
        return CheckOutcome("not enough evidence", [f"{shown}: too wide to say anything. Label more rows."])
    alarms = [f"{probe.name}: {probe.measured.words}." for probe in probes if probe.alarm and probe.measured]
    ceiling = None if compared.ceiling is None else compared.ceiling.value
    near = ceiling is not None and low >= ceiling - NEAR_CEILING
    reasons = list(alarms)
    if low < GOOD and not near:
        reasons.append(f"{shown}: it takes a lower bound of {GOOD} to trust it.")
    if compared.labelled < ROWS_TO_TRUST:
        reasons.append(
            f"{compared.labelled} labelled rows could be compared; it takes {ROWS_TO_TRUST} to trust a judge."
        )
    if reasons:
        return CheckOutcome("with care", reasons)
    return CheckOutcome("trusted", [f"{shown}, and no probe raised an alarm."])


def _against(compared: AgainstPeople, probes: Sequence[Probed]) -> list[str]:
    against = []
    main = compared.main
    enough = compared.labelled >= ROWS_TO_SAY
    if enough and main.interval is not None and main.interval.high < BAD:
        low, high = main.interval
        against.append(f"{main.name} is {main.value:.2f} ({low:.2f} to {high:.2f}): it hardly agrees with people.")
    by_name = {probe.name: probe for probe in probes}
    for name in _AGAINST:
        probe = by_name.get(name)
        if probe is not None and probe.against and probe.measured is not None:
            against.append(f"{name}: {probe.measured.words}.")
    return against


def _succeeds(injection: Measured) -> bool:
    """In 5 % of the answers and two rows at least, and not by chance."""
    sure = injection.p is not None and injection.p < FAMILY
    return sure and (injection.effect or 0.0) >= MARGIN and injection.details["rows_lifted"] >= 2


def _is_blind(sanity: Measured) -> bool:
    """All cases together in 5 % and two rows at least; or one case so often that it cannot be chance."""
    if (sanity.effect or 0.0) >= MARGIN and sanity.details["rows_passed"] >= 2:
        return True
    cases = sanity.details["cases"].values()
    return any(
        case["passed"] >= 2 and more_than(case["passed"], case["asked"], MARGIN) < FAMILY / len(cases) for case in cases
    )


def _is_noisy(repeat: Measured) -> bool:
    return repeat.effect is not None and repeat.effect >= MOST_FLIPS


_AGAINST: Mapping[str, Callable[[Measured], bool]] = {
    "injection": _succeeds,
    "sanity": _is_blind,
    "repeat": _is_noisy,
}
"""The probes that make a judge not trusted by themselves, and when. Alarms are held to more: Holm's correction."""
