"""Checks in a store: what is kept of them while they are worked on, who may write to them, and whose grade counts."""

import pytest

from fairmark.store import Store, StoredCheck, UnknownCursor
from tests.store.conftest import Place


async def new(store: Store, project: str = "default", **more: str) -> StoredCheck:
    return await store.checks.create(project, "judge_check", {"seed": 0}, {"calls": 3}, b'{"item": {}}\n', **more)


async def now(store: Store, check: StoredCheck) -> StoredCheck:
    found = await store.checks.get(check.project, check.kind, check.id)
    assert found is not None
    return found


async def claimed(store: Store) -> StoredCheck:
    check = await store.checks.claim()
    assert check is not None
    assert await store.checks.start(check)
    return check


async def test_what_judges_answered_is_there_for_whoever_goes_on(place: Place) -> None:
    store = await place.open()
    made = await new(store, fingerprint="abc")
    check = await claimed(store)
    assert check.id == made.id
    assert await store.checks.claim() is None
    assert await store.checks.keep(check, {"k1": b"one"}, {"answered": 1})
    assert await store.checks.keep(check, {"k1": b"another", "k2": b"two"}, {"answered": 2})
    await store.close()
    other = await place.open()
    again = await claimed(other)
    assert again.status == "in_progress"
    assert again.progress == {"answered": 2}
    assert await other.checks.answers(again) == {"k1": b"one", "k2": b"two"}
    assert await other.checks.rows(again) == b'{"item": {}}\n'
    assert (await now(other, again)).started_at == check.started_at or check.started_at is None


async def test_an_ended_check_keeps_its_report_and_neither_rows_nor_answers(store: Store) -> None:
    await new(store, fingerprint="abc")
    check = await claimed(store)
    await store.checks.keep(check, {"k1": b"one"}, {})
    assert await store.checks.finish(check, "completed", grade="with care", report=b"{}", page=b"<p>")
    found = await now(store, check)
    assert (found.status, found.grade, found.is_active) == ("completed", "with care", False)
    assert found.ended_at is not None
    assert await store.checks.report(check) == b"{}"
    assert await store.checks.page(check) == b"<p>"
    assert await store.checks.answers(check) == {}
    assert await store.checks.rows(check) is None
    assert not await store.checks.finish(check, "failed")
    assert (await now(store, check)).status == "completed"


async def test_nothing_is_written_to_a_check_that_was_cancelled_or_deleted(store: Store) -> None:
    await new(store)
    check = await claimed(store)
    cancelled = await store.checks.cancel("default", "judge_check", check.id)
    assert cancelled is not None
    assert cancelled.status == "canceled"
    assert not await store.checks.keep(check, {"k": b"late"}, {"answered": 1})
    assert not await store.checks.finish(check, "completed", grade="trusted")
    assert (await now(store, check)).grade is None
    again = await store.checks.cancel("default", "judge_check", check.id)
    assert again == cancelled
    assert await store.checks.delete("default", "judge_check", check.id)
    assert not await store.checks.delete("default", "judge_check", check.id)
    assert await store.checks.get("default", "judge_check", check.id) is None


async def test_a_check_is_seen_by_its_project_and_as_its_kind_alone(store: Store) -> None:
    check = await new(store)
    assert await store.checks.get("other", "judge_check", check.id) is None
    assert await store.checks.get("default", "hacking_report", check.id) is None
    assert await store.checks.cancel("other", "judge_check", check.id) is None
    assert not await store.checks.delete("other", "judge_check", check.id)
    assert await store.checks.get("default", "judge_check", "'; DROP") is None
    assert await store.checks.under_way("default") == 1
    assert await store.checks.under_way("other") == 0


async def test_a_project_that_is_passed_over_does_not_hold_up_others(store: Store) -> None:
    first, second = await new(store), await new(store, "other")
    found = await store.checks.claim(but_not={"default"})
    assert found is not None
    assert found.id == second.id
    await store.checks.release(found)
    found = await store.checks.claim()
    assert found is not None
    assert found.id == first.id


async def test_lists_go_by_pages_and_over_what_is_deleted_between(store: Store) -> None:
    made = [await new(store, grader_id="grader_1" if number % 2 else "grader_2") for number in range(5)]
    await store.checks.create("default", "hacking_report", {}, {}, eval_id="eval_1")
    page = await store.checks.list("default", "judge_check", 2)
    assert [check.id for check in page.data] == [made[4].id, made[3].id]
    assert page.has_more
    await store.checks.delete("default", "judge_check", made[3].id)
    after = await store.checks.list("default", "judge_check", 20, made[3].id)
    assert [check.id for check in after.data] == [made[2].id, made[1].id, made[0].id]
    of_grader = await store.checks.list("default", "judge_check", grader_id="grader_1")
    assert [check.id for check in of_grader.data] == [made[1].id]
    assert len((await store.checks.list("default", "hacking_report", eval_id="eval_1")).data) == 1
    for nothing in ("eval_2", "\x00", "\ud800"):
        assert (await store.checks.list("default", "hacking_report", eval_id=nothing)).data == []
    with pytest.raises(UnknownCursor):
        await store.checks.list("default", "judge_check", after="jcheck_none")


async def test_the_last_check_with_a_grade_counts_for_a_fingerprint_and_for_a_grader(store: Store) -> None:
    for fingerprint, grade in (("f1", "trusted"), ("f1", "not trusted"), ("f2", "with care"), ("f2", None)):
        await new(store, fingerprint=fingerprint, grader_id="grader_1")
        check = await claimed(store)
        await store.checks.finish(check, "completed" if grade else "failed", grade=grade)
        await store.checks.release(check)
    found = await store.checks.last("default", ["f1", "f3"], ["grader_1"])
    assert sorted((last.fingerprint, last.grade) for last in found) == [("f1", "not trusted"), ("f2", "with care")]
    assert await store.checks.last("other", ["f1"], ["grader_1"]) == []
    assert await store.checks.last("default", [], []) == []
