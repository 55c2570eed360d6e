"""How a judge stands: its last check counts for the same prompt and model, whatever the grader is called."""

from typing import Any

from bench.scripted_judges import SCORE_GRADER

from fairmark.checks.standing import Judging, Standing, of_criterion, standings
from fairmark.parse import parse
from fairmark.store import Store
from fairmark.trust.subject import fingerprint

EXACT = {"type": "string_check", "name": "x", "input": "a", "reference": "b", "operation": "eq"}


def judging(grader_id: str | None = None, **changed: Any) -> Judging:
    return Judging(parse({**SCORE_GRADER, **changed}), grader_id)


async def checked(store: Store, mark: str, grade: str, grader_id: str | None = None) -> None:
    await store.checks.create("default", "judge_check", {}, {}, fingerprint=mark, grader_id=grader_id)
    check = await store.checks.claim()
    assert check is not None
    await store.checks.start(check)
    await store.checks.finish(check, "completed", grade=grade)
    await store.checks.release(check)


async def test_a_check_counts_for_its_fingerprint_and_is_stale_for_another_of_the_same_grader(store: Store) -> None:
    same = judging("grader_1")
    await checked(store, fingerprint(same.spec), "trusted", "grader_1")
    renamed = judging("grader_1", name="another name")
    inline = judging(None)
    changed = judging("grader_1", model="another")
    elsewhere = judging("grader_2", model="another")
    found = await standings(store, "default", [same, renamed, inline, changed, elsewhere, None, Judging(parse(EXACT))])
    assert [None if one is None else one.grade for one in found] == [
        "trusted", "trusted", "trusted", "stale", "never checked", None, None,
    ]  # fmt: skip
    stale = found[3]
    assert stale is not None
    assert stale.was == "trusted"
    assert stale.wire()["was"] == "trusted"
    assert found[4] == Standing("never checked")
    assert (await standings(store, "other", [same]))[0] == Standing("never checked")


async def test_the_later_check_counts(store: Store) -> None:
    same = judging("grader_1")
    for grade in ("trusted", "not trusted"):
        await checked(store, fingerprint(same.spec), grade, "grader_1")
    (found,) = await standings(store, "default", [same])
    assert found is not None
    assert found.grade == "not trusted"


def test_a_reference_that_was_replaced_leads_to_its_grader_and_not_to_one_inside() -> None:
    note = {"id": "grader_9", "key": "k", "version": 2}
    assert of_criterion(parse({**SCORE_GRADER, "registered": note})).grader_id == "grader_9"
    multi = {"type": "multi", "name": "m", "graders": {"a": {**SCORE_GRADER, "registered": note}},
             "calculate_output": "a"}  # fmt: skip
    assert of_criterion(parse(multi)).grader_id is None
    assert fingerprint(parse({**SCORE_GRADER, "registered": note})) == fingerprint(parse(SCORE_GRADER))
