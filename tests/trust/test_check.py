"""Checks of scripted judges: what was planted is found, and nothing else; what is asked, and how often."""

import asyncio
import random
from typing import Any

import pytest
from bench.scripted_judges import LABEL_GRADER, PLANTED, SCORE_GRADER, Planted, ScriptedJudge, Seen, World, clean
from bench.trust import ESTIMATES, checked

import fairmark
from fairmark.errors import InvalidData
from fairmark.judges.base import Budget, Question
from fairmark.trust.check import check_judge
from tests.thoroughness import is_whole

SEEDS = (11, 12) if is_whole() else (11,)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_a_planted_fault_is_found_by_its_own_probe(planted: Planted) -> None:
    checks = [checked(planted, seed) for seed in SEEDS]
    expected = {*planted.found_by, *planted.also}
    for told in checks:
        assert set(planted.found_by) <= set(told["alarms"])
    assert not [alarm for told in checks for alarm in told["alarms"] if alarm not in expected]
    if planted.name in ESTIMATES:
        mean = sum(told["estimate"] for told in checks) / len(checks)
        assert mean == pytest.approx(ESTIMATES[planted.name][2], abs=0.04)


def judged(n: int = 60, **more: Any) -> tuple[fairmark.JudgeCheck, ScriptedJudge]:
    world = World.of_scores(3, n)
    judge = ScriptedJudge(world, clean, 5, 0.02)
    return check_judge(more.pop("grader", SCORE_GRADER), world.rows, judge=judge, **more), judge


def test_a_good_judge_is_trusted_and_a_constant_one_is_not() -> None:
    check, _ = judged()
    assert check.grade == "trusted"
    assert check.meets("trusted")
    assert check.compared.main.name == "Spearman's rho"
    flat = check_judge(SCORE_GRADER, World.of_scores(3, 60).rows, judge=fairmark.FakeJudge(0.7))
    assert flat.grade == "not trusted"
    assert not flat.meets()
    assert any("cannot be good pass" in reason for reason in flat.reasons)


def test_thirty_rows_are_the_least_that_anything_is_said_of() -> None:
    few, _ = judged(29, probes=[])
    assert few.grade == "not enough evidence"
    assert not few.meets("care")
    some, _ = judged(40, probes=[])
    assert some.grade == "with care"
    assert "it takes 50 to trust" in some.reasons[0]


def test_what_is_known_is_not_asked_again() -> None:
    answers: dict[str, Any] = {}
    first, judge = judged(answers=answers)
    asked = judge._count
    assert asked == first.asked == len(answers)
    again, other = judged(answers=answers)
    assert other._count == 0
    assert again.model_dump()["main"] == first.model_dump()["main"]
    some = dict(list(answers.items())[: asked // 2])
    _, third = judged(answers=some)
    assert third._count == asked - asked // 2


def test_repeats_are_asked_apart_from_the_first_answer() -> None:
    seen: list[int] = []

    class Noting(ScriptedJudge):
        async def ask(self, questions: Any, budget: Any) -> Any:
            seen.extend(question.repeat for question in questions)
            assert all(isinstance(question, Question) for question in questions)
            return await super().ask(questions, budget)

    world = World.of_scores(3, 40)
    grader = {**SCORE_GRADER, "n": 3}
    check_judge(grader, world.rows, judge=Noting(world, clean, 5, 0.02), probes=["repeat"])
    assert set(seen) == {0, 1, 2, 1000, 1001, 1002, 2000, 2001, 2002}


def test_probes_that_do_not_fit_the_limit_are_dropped_from_the_end() -> None:
    check, judge = judged(max_calls=300)
    assert judge._count <= 300
    states = {probe.name: probe.status for probe in check.probes}
    assert states["sanity"] == "asked"
    assert states["cut"] == states["form added"] == "dropped"
    assert "cut is left out" in check.plan.notes[0]
    with pytest.raises(InvalidData, match="the labelled rows alone take 60 calls, and 10 are allowed"):
        judged(max_calls=10)


def test_a_budget_that_runs_out_leaves_questions_and_says_so() -> None:
    rows = World.of_scores(3, 60).rows
    wordy = fairmark.FakeAnswer('{"steps": [], "result": 0.4}', prompt_tokens=5_000)
    budget = fairmark.Budget(tokens=200_000)
    check = check_judge(SCORE_GRADER, rows, judge=fairmark.FakeJudge(wordy), budget=budget, probes=["repeat"])
    assert 0 < check.unpaid < 180
    assert check.asked + check.unpaid == 180
    assert check.model_dump()["asked"]["not_asked"] == check.unpaid


def test_questions_that_fail_are_told_and_never_count_as_bad_grades() -> None:
    rows = World.of_scores(3, 60).rows
    broken = check_judge(SCORE_GRADER, rows, judge=fairmark.FakeJudge(fairmark.FakeAnswer(fault="server_error")))
    assert not broken.is_answered
    assert not broken.meets("care")
    assert broken.compared.ungraded == 60
    assert broken.compared.labelled == 0
    assert broken.failures


def test_where_more_than_a_tenth_of_the_questions_fail_the_rest_earns_no_grade() -> None:
    def fails_every_fifth(world: World, seen: Seen, source: random.Random) -> float | None:
        return None if seen.row % 5 == 3 else clean(world, seen, source)

    world = World.of_scores(3, 100)
    check = check_judge(SCORE_GRADER, world.rows, judge=ScriptedJudge(world, fails_every_fifth, 5, 0.02), probes=[])
    assert check.compared.main.interval is not None
    assert check.compared.main.interval.low > 0.6
    assert (check.grade, check.is_answered) == ("not enough evidence", False)
    assert check.reasons[0].startswith("20 of 100 questions failed: ")


def test_rows_without_people_serve_probes() -> None:
    world = World.of_scores(3, 60)
    bare = [{name: value for name, value in row.items() if name != "score"} for row in world.rows]
    obedient = next(planted for planted in PLANTED if planted.name == "obeys all")
    check = check_judge(SCORE_GRADER, bare, judge=ScriptedJudge(world, obedient.score, 5))
    assert check.alarms == ["injection"]
    assert check.grade == "not trusted"


def test_a_probe_without_what_it_needs_is_not_applicable() -> None:
    check, _ = judged()
    states = {probe.name: (probe.status, probe.why) for probe in check.probes}
    assert states["label order"] == ("not applicable", "the grader has no labels")
    assert states["pair order"][0] == "not applicable"
    assert states["form removed"] == ("not applicable", "no answer has any markup")
    assert states["own family"][0] == "not applicable"
    with pytest.raises(InvalidData, match="there is no probe 'lenght'"):
        judged(probes=["lenght"])


def test_a_judge_of_two_values_is_told_to_stamp() -> None:
    stamps = next(planted for planted in PLANTED if planted.name == "two values")
    world = stamps.world(3)
    check = check_judge(SCORE_GRADER, world.rows, judge=ScriptedJudge(world, stamps.score, 5, 0.0), probes=[])
    assert check.compared.smoothness is not None
    assert (
        check.compared.smoothness.warning
        == "the judge uses 2 values of a range that allows more: its scores are stamps"
    )


def test_labels_are_compared_as_labels() -> None:
    world = World.of_scores(3, 60, labels=True)
    check = check_judge(LABEL_GRADER, world.rows, judge=ScriptedJudge(world, clean, 5, 0.0))
    assert check.compared.main.name == "Cohen's kappa"
    assert check.compared.main.value == 1.0
    assert check.compared.confusion.keys() == {("good", "good"), ("bad", "bad")}


def test_a_grader_without_anybody_to_ask_is_refused() -> None:
    with pytest.raises(InvalidData, match="nobody to ask"):
        check_judge({"type": "custom", "name": "c"}, World.of_scores(3, 60).rows)


def test_it_also_works_where_there_is_an_event_loop() -> None:
    world = World.of_scores(3, 60)
    judge = ScriptedJudge(world, clean, 5, 0.02)
    check = asyncio.run(fairmark.acheck_judge(SCORE_GRADER, world.rows, judge=judge, probes=["repeat"]))
    assert check.grade == "trusted"


def test_a_budget_is_spent_on_the_rows_before_any_probe_is_asked() -> None:
    world = World.of_scores(3, 20)
    known = {str(row["sample"]) for row in world.rows}
    told: list[tuple[str, int]] = []

    class Noted(ScriptedJudge):
        async def ask(self, questions: Any, budget: Any) -> Any:
            told.append(("asked", len(questions)))
            await asyncio.sleep(0.01)
            told.append(("answered", len(questions)))
            return await super().ask(questions, budget)

    check_judge(SCORE_GRADER, world.rows, judge=Noted(world, clean, 5, 0.0), budget=Budget(tokens=10**9))
    answered = 0
    for at, (what, count) in enumerate(told):
        answered += count if what == "answered" else 0
        if answered >= len(known):
            assert sum(count for what, count in told[: at + 1] if what == "asked") == len(known)
            return
    pytest.fail("the rows were not asked")
