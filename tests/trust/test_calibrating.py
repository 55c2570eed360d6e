"""Curves for a judge whose scores are too high."""

import pytest
from bench.scripted_judges import SCORE_GRADER, ScriptedJudge, Seen, World

from fairmark.errors import InvalidData
from fairmark.trust.calibrating import calibrate
from fairmark.trust.check import JudgeCheck, check_judge


def lenient(world: World, seen: Seen, source: object) -> float:
    return 0.4 + 0.6 * world.quality(seen.row, seen.answer)


def check(n: int) -> JudgeCheck:
    world = World.of_scores(3, n)
    return check_judge(SCORE_GRADER, world.rows, judge=ScriptedJudge(world, lenient, 5, 0.05), probes=[])


@pytest.mark.parametrize(("n", "method"), [(60, "platt"), (150, "isotonic")])
def test_a_lenient_judge_is_brought_down(n: int, method: str) -> None:
    curve = calibrate(check(n))
    told = curve.dump()
    assert told["method"] == method
    assert told["labels"] == n
    assert curve.after < 0.5 * curve.before
    assert curve.helps
    assert curve(0.5) < 0.2  # people pass such answers never
    assert curve(0.95) > 0.8


def test_fewer_than_thirty_labels_make_no_curve() -> None:
    with pytest.raises(InvalidData, match=r"29 labelled rows could be compared\. A curve takes 30"):
        calibrate(check(29))
