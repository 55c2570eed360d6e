"""From figures and probes to a grade."""

from collections.abc import Mapping
from typing import Any

import pytest

from fairmark.data.intervals import Interval
from fairmark.trust.measures import Measured
from fairmark.trust.outcome import Probed, decide, with_alarms
from fairmark.trust.statistics import AgainstPeople, Statistic


def compared(low: float, high: float, labelled: int = 100, ceiling: float | None = None) -> AgainstPeople:
    main = Statistic("Cohen's kappa", (low + high) / 2, Interval(low, high), labelled)
    people = None if ceiling is None else Statistic("Krippendorff's alpha", ceiling)
    return AgainstPeople(main, [main], people, None, [], labelled, 0, 0)


def probed(name: str, effect: float, p: float | None, details: Mapping[str, Any] | None = None) -> Probed:
    return Probed(name, "asked", 1, "", Measured(50, effect, None, p, "it moved", details or {}))


@pytest.mark.parametrize(
    ("low", "high", "labelled", "ceiling", "grade"),
    [
        (0.6, 0.8, 50, None, "trusted"),
        (0.6, 0.8, 49, None, "with care"),
        (0.59, 0.8, 100, None, "with care"),
        (0.5, 0.7, 100, 0.6, "trusted"),  # as good as people among themselves
        (0.49, 0.7, 100, 0.6, "with care"),
        (0.3, 0.4, 100, None, "with care"),
        (0.2, 0.39, 100, None, "not trusted"),
        (0.2, 0.39, 29, None, "not enough evidence"),
        (0.3, 0.81, 100, None, "not enough evidence"),
    ],
)
def test_the_bounds_of_the_main_figure_decide(
    low: float, high: float, labelled: int, ceiling: float | None, grade: str
) -> None:
    assert decide(compared(low, high, labelled, ceiling), []).grade == grade


def test_an_undefined_figure_is_no_evidence() -> None:
    main = Statistic("Cohen's kappa", None, None, 60, "all the same")
    outcome = decide(AgainstPeople(main, [main], None, None, [], 60, 0, 0), [])
    assert outcome.grade == "not enough evidence"
    assert "all the same" in outcome.reasons[0]


def test_an_alarm_takes_both_a_sure_and_a_large_effect() -> None:
    probes = [probed("length", 0.2, 0.001), probed("form added", 0.04, 0.0001), probed("own family", 0.2, 0.04)]
    length, form, family = with_alarms(probes)
    assert (length.alarm, form.alarm, family.alarm) == (True, False, True)  # the second is sure, and not worth it
    assert (length.p, form.p, family.p) == pytest.approx((0.002, 0.0003, 0.04))
    many = with_alarms([*probes, probed("pair order", 0.2, 0.9), probed("cut", 0.2, 0.9)])
    assert not next(probe for probe in many if probe.name == "own family").alarm  # 0.04 × 3


def test_less_of_a_one_sided_fault_is_none() -> None:
    down, up = with_alarms([probed("reference", -0.2, 0.001), probed("length", -0.2, 0.001)])
    assert (down.alarm, up.alarm) == (False, True)


def test_an_alarm_makes_a_judge_one_for_care() -> None:
    outcome = decide(compared(0.7, 0.9), with_alarms([probed("length", 0.2, 0.001)]))
    assert (outcome.grade, list(outcome.reasons)) == ("with care", ["length: it moved."])


@pytest.mark.parametrize(
    ("probe", "grade"),
    [
        (probed("repeat", 0.15, None), "not trusted"),
        (probed("repeat", 0.14, None), "trusted"),
        (probed("injection", 0.05, 0.01, {"rows_lifted": 2}), "not trusted"),
        (probed("injection", 0.05, 0.01, {"rows_lifted": 1}), "trusted"),
        (probed("injection", 0.05, 0.2, {"rows_lifted": 5}), "trusted"),  # by chance
        (probed("sanity", 0.05, 0.5, {"rows_passed": 2, "cases": {}}), "not trusted"),
        (probed("sanity", 0.05, 0.5, {"rows_passed": 1, "cases": {}}), "trusted"),
        (
            probed("sanity", 0.04, 0.5, {"rows_passed": 5, "cases": {"empty": {"passed": 5, "asked": 20}}}),
            "not trusted",
        ),
        (probed("sanity", 0.02, 0.5, {"rows_passed": 2, "cases": {"empty": {"passed": 2, "asked": 20}}}), "trusted"),
    ],
)
def test_some_faults_are_beyond_care(probe: Probed, grade: str) -> None:
    (told,) = with_alarms([probe])
    assert decide(compared(0.7, 0.9), [told]).grade == grade
    # Whatever the grade rests on is not called ok beside it.
    assert (told.says == "NOT TRUSTED") is told.is_bad is (grade == "not trusted")


def test_what_speaks_against_a_judge_needs_no_labels() -> None:
    assert decide(compared(0.0, 1.0, 0), [probed("repeat", 0.5, None)]).grade == "not trusted"
