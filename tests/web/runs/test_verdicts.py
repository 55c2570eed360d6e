"""What is said of a difference: sure ones are named, and several comparisons do not make one of chance."""

from fairmark.outcomes import PairTotals
from fairmark.web.runs.verdicts import Beside, CriterionVerdict, told
from tests.web.evals.test_charting import run

CRITERION = {"id": "a-1", "name": "exact", "type": "string_check"}


def totals(both: int, lost: int, gained: int, neither: int) -> PairTotals:
    n = both + lost + gained + neither
    first, second = (both + lost) / max(n, 1), (both + gained) / max(n, 1)
    return PairTotals("row", n, both, lost, gained, neither, first, second, second - first, 0.1)


def verdicts(*others: PairTotals) -> list[CriterionVerdict]:
    beside = [Beside("BCDEF"[at], run(f"r{at}"), [CRITERION], [(0, 0)], [each]) for at, each in enumerate(others)]
    return [found[0] for found in told(run("base"), [CRITERION], beside)]


def test_a_difference_that_is_sure_alone_is_not_among_five() -> None:
    gained = totals(10, 0, 6, 20)  # 6 of 6 flipped one way: p = 2 / 64
    alone = verdicts(gained)[0]
    assert (alone.words, alone.tone) == ("B is better, p\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}0.031", "pass")
    same = totals(16, 0, 0, 20)
    among = verdicts(gained, same, same, same, same)
    assert (among[0].tone, among[0].p) == ("", "p\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}0.16")
    assert among[0].difference == alone.difference
    assert among[1].words == "The same on every row."


def test_a_worse_run_is_named_by_its_letter() -> None:
    found = verdicts(totals(10, 0, 0, 0), totals(10, 20, 0, 0))
    assert found[1].words.startswith("C is worse, p")
    assert found[1].tone == "fail"
    assert found[1].lost == 20


def test_of_a_criterion_that_nothing_was_graded_by_nothing_is_said() -> None:
    found = verdicts(totals(0, 0, 0, 0))[0]
    assert found.words == "Not graded in both runs, so that nothing can be said."
    assert found.difference is None
    assert found.bar == ""
